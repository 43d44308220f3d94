"""What holds for all six: declarations, options, when they are sure (rulings S5, S12)."""

from typing import Any

import pytest

import acms_strategies
from acms_adapters.errors import StrategyError
from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    PlanContext,
    StrategyOptions,
)
from acms_adapters.protocols import BackendSet, ContextStrategy

BUDGET = ContextBudget(max_tokens=1000)

CLASSES = [
    acms_strategies.SimpleKeywordStrategy,
    acms_strategies.SemanticEmbeddingStrategy,
    acms_strategies.BreadthDepthNavigatorStrategy,
    acms_strategies.ArceStrategy,
    acms_strategies.TemporalArchaeologyStrategy,
    acms_strategies.PlanDecisionContextStrategy,
]
QUALITY = {
    "simple-keyword": 0.3,
    "semantic-embedding": 0.6,
    "breadth-depth-navigator": 0.85,
    "arce": 0.95,
    "temporal-archaeology": 0.5,
    "plan-decision-context": 0.7,
}
NEEDS = {
    "simple-keyword": ("text",),
    "semantic-embedding": ("vector",),
    "breadth-depth-navigator": ("graph",),
    "arce": ("text", "vector", "graph"),
    "temporal-archaeology": ("graph", "temporal"),
    "plan-decision-context": ("graph", "temporal"),
}
ADDRESSED = {
    "simple-keyword": ContextRequest(query="pools"),
    "semantic-embedding": ContextRequest(keywords=["pools"]),
    "breadth-depth-navigator": ContextRequest(focus_nodes=["project://app/a"]),
    "arce": ContextRequest(query="pools"),
    "temporal-archaeology": ContextRequest(temporal_window="30d"),
    "plan-decision-context": ContextRequest(plan_id="plan-1"),
}
each = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.name)


@pytest.fixture
def full(world: Any) -> BackendSet:
    world.add("a", "connection pools are kept")
    world.link("a", "a")
    world.decide("plan-1", "d1", "pools are kept", done=True)
    return world.backends()


def test_every_built_in_strategy_is_here_once() -> None:
    """D3-10."""
    assert [kind.name for kind in CLASSES] == list(QUALITY)


@each
def test_a_strategy_fulfils_the_protocol_and_says_what_it_does(kind: Any) -> None:
    """S14.plans, D3-1, D3-5, D3-11, D3-12, D3-13, D3-14, D3-15, D3-16."""
    strategy = kind()
    assert isinstance(strategy, ContextStrategy)
    assert strategy.capabilities.quality_score == QUALITY[kind.name]
    assert strategy.capabilities.needs == NEEDS[kind.name]
    assert strategy.capabilities.resource_types == ()
    assert len(strategy.explain()) > 80


@each
def test_s5_it_is_sure_in_the_measure_of_its_quality_when_it_can_answer(
    kind: Any, full: BackendSet
) -> None:
    """D3-2."""
    assert kind().can_handle(ADDRESSED[kind.name], full) == QUALITY[kind.name]


@each
def test_s5_a_request_that_has_nothing_for_it_is_none_of_its_business_unless_it_is_hinted(
    kind: Any, full: BackendSet
) -> None:
    """S5.hinted."""
    assert kind().can_handle(ContextRequest(), full) == 0.0
    hinted = ContextRequest(strategy_hints=[kind.name])
    assert kind().can_handle(hinted, full) == QUALITY[kind.name]


@each
def test_s5_without_one_of_its_backends_it_cannot_answer(kind: Any, full: BackendSet) -> None:
    hinted = ContextRequest(strategy_hints=[kind.name], query="pools", plan_id="plan-1")
    for name in NEEDS[kind.name]:
        lacking = full.with_(**{name: None})
        assert kind().can_handle(hinted, lacking) == 0.0
        with pytest.raises(StrategyError, match=f"needs a {name} backend"):
            kind().assemble(hinted, lacking, BUDGET, PlanContext())


@each
def test_s12_a_flag_is_no_backend_for_a_strategy_that_brings_no_data(kind: Any) -> None:
    """S12.flags."""
    flags = BackendSet.of(dict.fromkeys(("text", "vector", "graph", "temporal"), True))
    assert kind().can_handle(ADDRESSED[kind.name], flags) == 0.0


@each
def test_options_are_a_model_a_mapping_or_the_defaults(kind: Any) -> None:
    assert kind().options == kind.options_model() == kind({}).options
    assert kind({"max_fragments": 7}).options.max_fragments == 7
    options = kind.options_model(max_fragments=8)
    assert kind(options).options is options
    assert kind(StrategyOptions(max_fragments=9)).options == kind.options_model(max_fragments=9)


@each
@pytest.mark.parametrize(
    "options", [{"max_fragments": 0}, {"timeout_seconds": -1}, {"nonsense": 1}, {"enabled": "no"}]
)
def test_an_option_outside_its_range_is_refused_by_name(kind: Any, options: Any) -> None:
    """D6-46."""
    with pytest.raises(ValueError, match=next(iter(options))):
        kind(options)


def test_the_documented_options_are_the_defaults() -> None:
    """D6-4, D6-8, D6-9, D6-13, D6-14, D6-16, D6-20, D6-27, D6-28, D6-34, D6-35."""
    own = {
        kind.name: {
            name: value
            for name, value in kind().options.model_dump().items()
            if name not in StrategyOptions.model_fields
        }
        for kind in CLASSES
    }
    assert own == {
        "simple-keyword": {"keyword_boost_factor": 1.5},
        "semantic-embedding": {
            "similarity_threshold": 0.5,
            "embedding_model": "character-frequency-v1",
        },
        "breadth-depth-navigator": {
            "default_breadth": 2,
            "default_depth": 3,
            "distance_decay": 0.8,
        },
        "arce": {
            "text_budget_fraction": 0.4,
            "vector_budget_fraction": 0.4,
            "graph_budget_fraction": 0.2,
            "dedup_strategy": "highest_relevance",
        },
        "temporal-archaeology": {
            "default_temporal_window": "7d",
            "include_current_context": True,
        },
        "plan-decision-context": {"include_ancestor_decisions": True, "max_ancestor_depth": 5},
    }


@each
def test_fragments_carry_the_strategy_and_its_score_and_are_ranked(
    kind: Any, full: BackendSet
) -> None:
    """D3-25, D4-3."""
    request = ContextRequest(
        query="pools",
        focus_nodes=["project://app/a"],
        plan_id="plan-1",
        temporal_window="all",
    )
    found = list(kind().assemble(request, full, BUDGET, PlanContext(plan_id="plan-1")))
    assert found
    assert all(isinstance(fragment, ContextFragment) for fragment in found)
    for fragment in found:
        assert fragment.provenance.strategy == kind.name
        assert fragment.provenance.score == fragment.relevance_score
    order = [(-fragment.relevance_score, fragment.uko_node) for fragment in found]
    assert order == sorted(order)


@each
def test_it_makes_no_more_fragments_than_its_limit(kind: Any, world: Any) -> None:
    """D5-63."""
    for number in range(9):
        world.add(f"pool{number}", f"pools of kind {number}")
        world.link("pool0", f"pool{number}")
        world.decide("plan-1", f"d{number}", "pools", done=number == 8)
    request = ContextRequest(
        query="pools", plan_id="plan-1", temporal_window="all", focus_nodes=[world.node("pool0")]
    )
    strategy = kind({"max_fragments": 4})
    found = strategy.assemble(request, world.backends(), BUDGET, PlanContext())
    assert len(found) == 4
    assert found.total > 4 or kind.name in ("simple-keyword", "semantic-embedding")


@each
def test_nothing_is_found_where_there_is_nothing(kind: Any, world: Any) -> None:
    request = ContextRequest(query="???", plan_id="plan-1", focus_nodes=["project://app/absent"])
    assert list(kind().assemble(request, world.backends(), BUDGET, PlanContext())) == []
