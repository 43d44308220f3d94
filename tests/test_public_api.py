"""The names that the documents use are the public names."""

import inspect

import pytest

import acms_adapters
import acms_adapters.pipeline

DOCUMENTED = (
    "ACMSPipeline",
    "BackendSet",
    "ContextBudget",
    "ContextFragment",
    "ContextPayload",
    "ContextRequest",
    "ContextStrategy",
    "ContextStrategyResult",
    "CoordinationResult",
    "CoordinatorConfig",
    "DEFAULT_SKELETON_RATIO",
    "FragmentProvenance",
    "FusionConfig",
    "FusionEngine",
    "FusionResult",
    "GraphBackend",
    "Plan",
    "PlanContext",
    "ScorerWeights",
    "SkeletonCompressorService",
    "SkeletonMetadata",
    "SpecStrategyAdapter",
    "StrategyCapabilities",
    "StrategyCoordinator",
    "StrategyResult",
    "TemporalBackend",
    "TextBackend",
    "VectorBackend",
)

COMPONENTS = {
    "StrategySelector": ("select", ["strategies", "request", "backends"]),
    "BudgetAllocator": ("allocate", ["candidates", "total_budget", "request"]),
    "StrategyExecutor": ("execute", ["allocations", "request", "backends", "plan_context"]),
    "FragmentDeduplicator": ("deduplicate", ["fragments", "strategy"]),
    "DetailDepthResolver": ("resolve", ["fragments", "budget", "request"]),
    "FragmentScorer": ("score", ["fragments", "plan_context", "request"]),
    "BudgetPacker": ("pack", ["scored_fragments", "budget"]),
    "FragmentOrderer": ("order", ["fragments", "strategy"]),
    "PreambleGenerator": ("generate", ["payload", "strategies_used", "budget_used"]),
    "SkeletonCompressor": ("compress", ["parent_context", "child_focus", "skeleton_budget"]),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_m1_a_documented_name_is_public(name: str) -> None:
    assert name in acms_adapters.__all__
    assert getattr(acms_adapters, name) is not None


def test_public_names_are_sorted_and_all_of_them_load() -> None:
    assert len(set(acms_adapters.__all__)) == len(acms_adapters.__all__)
    assert set(acms_adapters.__all__) <= set(dir(acms_adapters))
    for name in acms_adapters.__all__:
        assert getattr(acms_adapters, name) is not None


@pytest.mark.parametrize("name", COMPONENTS)
def test_m1_a_component_takes_the_documented_arguments_in_their_order(name: str) -> None:
    method, expected = COMPONENTS[name]
    signature = inspect.signature(getattr(getattr(acms_adapters.pipeline, name), method))
    positional = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ][1:]
    assert positional[: len(expected)] == expected


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Pipelines"):
        acms_adapters.Pipelines  # type: ignore[attr-defined] # noqa: B018
