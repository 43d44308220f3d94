"""The ten components, the facades over them, and the pipeline; loaded at their first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acms_adapters.lazy import lazy_names

if TYPE_CHECKING:
    from acms_adapters.pipeline.assembly import ACMSPipeline
    from acms_adapters.pipeline.assembly_round import AROUND_STRATEGY
    from acms_adapters.pipeline.budget_allocator import BudgetAllocator, tier_quotas
    from acms_adapters.pipeline.budget_packer import BudgetPacker
    from acms_adapters.pipeline.circuit_breaker import CircuitBreaker
    from acms_adapters.pipeline.composition import Composition
    from acms_adapters.pipeline.coordinator import StrategyCoordinator
    from acms_adapters.pipeline.coordinator_config import CoordinationResult, CoordinatorConfig
    from acms_adapters.pipeline.detail_depth_resolver import DetailDepthResolver
    from acms_adapters.pipeline.fragment_deduplicator import FragmentDeduplicator
    from acms_adapters.pipeline.fragment_orderer import FragmentOrderer
    from acms_adapters.pipeline.fragment_scorer import FragmentScorer, ScorerWeights
    from acms_adapters.pipeline.fusion import FusionConfig, FusionEngine, FusionResult
    from acms_adapters.pipeline.handing_down import hand_down
    from acms_adapters.pipeline.inheritance import Inheritance, inherit, skeleton_allowance
    from acms_adapters.pipeline.lifecycle import PlanLifecycle
    from acms_adapters.pipeline.preamble_generator import PreambleGenerator
    from acms_adapters.pipeline.skeleton_compressor import SkeletonCompressor
    from acms_adapters.pipeline.skeleton_service import (
        DEFAULT_SKELETON_RATIO,
        SkeletonCompressorService,
        SkeletonResult,
    )
    from acms_adapters.pipeline.spec_adapter import SpecStrategyAdapter
    from acms_adapters.pipeline.strategy_executor import StrategyExecutor
    from acms_adapters.pipeline.strategy_selector import StrategySelector

_HOMES = {
    "assembly": ("ACMSPipeline",),
    "assembly_round": ("AROUND_STRATEGY",),
    "budget_allocator": (
        "BudgetAllocator",
        "tier_quotas",
    ),
    "budget_packer": ("BudgetPacker",),
    "circuit_breaker": ("CircuitBreaker",),
    "composition": ("Composition",),
    "coordinator": ("StrategyCoordinator",),
    "coordinator_config": (
        "CoordinationResult",
        "CoordinatorConfig",
    ),
    "detail_depth_resolver": ("DetailDepthResolver",),
    "fragment_deduplicator": ("FragmentDeduplicator",),
    "fragment_orderer": ("FragmentOrderer",),
    "fragment_scorer": (
        "FragmentScorer",
        "ScorerWeights",
    ),
    "fusion": (
        "FusionConfig",
        "FusionEngine",
        "FusionResult",
    ),
    "handing_down": ("hand_down",),
    "inheritance": (
        "Inheritance",
        "inherit",
        "skeleton_allowance",
    ),
    "lifecycle": ("PlanLifecycle",),
    "preamble_generator": ("PreambleGenerator",),
    "skeleton_compressor": ("SkeletonCompressor",),
    "skeleton_service": (
        "DEFAULT_SKELETON_RATIO",
        "SkeletonCompressorService",
        "SkeletonResult",
    ),
    "spec_adapter": ("SpecStrategyAdapter",),
    "strategy_executor": ("StrategyExecutor",),
    "strategy_selector": ("StrategySelector",),
}

__all__ = [
    "AROUND_STRATEGY",
    "DEFAULT_SKELETON_RATIO",
    "ACMSPipeline",
    "BudgetAllocator",
    "BudgetPacker",
    "CircuitBreaker",
    "Composition",
    "CoordinationResult",
    "CoordinatorConfig",
    "DetailDepthResolver",
    "FragmentDeduplicator",
    "FragmentOrderer",
    "FragmentScorer",
    "FusionConfig",
    "FusionEngine",
    "FusionResult",
    "Inheritance",
    "PlanLifecycle",
    "PreambleGenerator",
    "ScorerWeights",
    "SkeletonCompressor",
    "SkeletonCompressorService",
    "SkeletonResult",
    "SpecStrategyAdapter",
    "StrategyCoordinator",
    "StrategyExecutor",
    "StrategySelector",
    "hand_down",
    "inherit",
    "skeleton_allowance",
    "tier_quotas",
]


__getattr__ = lazy_names(__name__, {f"{__name__}.{home}": names for home, names in _HOMES.items()})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
