"""From settings to the configurations of the facades."""

from __future__ import annotations

from acms_adapters.config import Settings, facades
from acms_adapters.models import StrategyOptions
from acms_adapters.pipeline.coordinator_config import CoordinatorConfig
from acms_adapters.pipeline.fragment_scorer import ScorerWeights
from acms_adapters.pipeline.fusion_config import FusionConfig
from acms_adapters.pipeline.preamble_generator import PreambleGenerator
from acms_adapters.pipeline.skeleton_compressor import SkeletonCompressor
from acms_adapters.registry import StrategyRegistry


def coordinator_config(settings: Settings, registry: StrategyRegistry) -> CoordinatorConfig:
    """How the pipeline chooses, pays and runs strategies."""
    limits: dict[str, StrategyOptions] = {name: registry.policy(name) for name in registry}
    return CoordinatorConfig(**settings.values(facades.COORDINATOR), limits=limits)


def fusion_config(settings: Settings) -> FusionConfig:
    """How the pipeline fuses fragments."""
    weights = ScorerWeights(**settings.values(facades.SCORER))
    return FusionConfig(**settings.values(facades.FUSION), scorer_weights=weights)


def preamble_generator(settings: Settings) -> PreambleGenerator:
    """How the pipeline summarises what it chose."""
    return PreambleGenerator(**settings.values(facades.PREAMBLE))


def skeleton_compressor(settings: Settings) -> SkeletonCompressor:
    """How the pipeline compresses what a child inherits."""
    return SkeletonCompressor(**settings.values(facades.COMPRESSOR))
