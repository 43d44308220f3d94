"""From settings to the configurations of the facades."""

from __future__ import annotations

from acms_adapters.config import Settings, facades
from acms_adapters.errors import ConfigError
from acms_adapters.models import StrategyOptions
from acms_adapters.pipeline.coordinator_config import CoordinatorConfig
from acms_adapters.pipeline.fragment_orderer import OrderKey
from acms_adapters.pipeline.fragment_scorer import ScorerWeights
from acms_adapters.pipeline.fusion_config import FusionConfig
from acms_adapters.pipeline.preamble_generator import PreambleGenerator
from acms_adapters.pipeline.skeleton_compressor import SkeletonCompressor
from acms_adapters.registry import StrategyRegistry


def coordinator_config(settings: Settings, registry: StrategyRegistry) -> CoordinatorConfig:
    """How the pipeline chooses, pays and runs strategies."""
    limits: dict[str, StrategyOptions] = {name: registry.policy(name) for name in registry}
    return CoordinatorConfig(**settings.values(facades.COORDINATOR), limits=limits)


def fusion_config(settings: Settings, order_key: OrderKey | None = None) -> FusionConfig:
    """How the pipeline fuses fragments.

    Raises:
        ConfigError: The configured order is `custom` and there is no key to sort by.
    """
    if settings.orderer_strategy == "custom" and order_key is None:
        source = settings.source("context", "strategies", "orderer_strategy") or "settings"
        raise ConfigError(
            f"{source}: context.strategies.orderer_strategy: 'custom' sorts by a function that "
            "only code can give: ACMSPipeline(order_key=...)"
        )
    weights = ScorerWeights(**settings.values(facades.SCORER))
    values = settings.values(facades.FUSION)
    return FusionConfig(**values, scorer_weights=weights, order_key=order_key)


def preamble_generator(settings: Settings) -> PreambleGenerator:
    """How the pipeline summarises what it chose."""
    return PreambleGenerator(**settings.values(facades.PREAMBLE))


def skeleton_compressor(settings: Settings) -> SkeletonCompressor:
    """How the pipeline compresses what a child inherits."""
    return SkeletonCompressor(**settings.values(facades.COMPRESSOR))
