"""Scoring by relevance, tier, recency and plan (ruling F2); figures are worked out by hand."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from acms_adapters.models import ContextFragment, ContextRequest, FragmentProvenance, PlanContext
from acms_adapters.pipeline import FragmentScorer, ScorerWeights

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


def fragment(node: str = "n", content: str = "text", **fields: Any) -> ContextFragment:
    return ContextFragment(uko_node=node, content=content, **{"created_at": NOON, **fields})


def scores(scored: list[tuple[ContextFragment, float]]) -> dict[str, float]:
    return {fragment.uko_node: score for fragment, score in scored}


def only(**weights: float) -> FragmentScorer:
    return FragmentScorer(
        ScorerWeights(**{"relevance": 0, "tier": 0, "recency": 0, "plan": 0, **weights})
    )


def test_the_documented_weights_are_the_defaults() -> None:
    """D5-29, D5-30, D5-31, D5-32."""
    assert ScorerWeights() == ScorerWeights(relevance=0.4, tier=0.3, recency=0.2, plan=0.1)
    assert ScorerWeights().resource == 0.0


def test_a_score_is_the_weighted_sum_over_the_best_one_f2() -> None:
    """D4-32, D5-28."""
    plan = PlanContext(plan_id="child", ancestors=("parent", "root"))
    found = [
        # .4 x .9 + .3 x 1 + .2 x 1 + .1 x .5 = .91
        fragment("a", relevance_score=0.9, tier="hot", metadata={"plan_id": "parent"}),
        # .4 x .5 + .3 x .5 + .2 x .5 + .1 x 0 = .45
        fragment("b", relevance_score=0.5, created_at=NOON - timedelta(days=30)),
        # .4 x 1 + .3 x 0 + .2 x .25 + .1 x .25 = .475
        fragment(
            "c",
            relevance_score=1.0,
            tier="cold",
            created_at=NOON - timedelta(days=60),
            metadata={"plan_id": "root"},
        ),
    ]
    scored = FragmentScorer().score(fragments=found, plan_context=plan, request=None)
    assert scored == [(found[0], 1.0), (found[2], 0.521978), (found[1], 0.494505)]


@pytest.mark.parametrize(("tier", "score"), [("hot", 1.0), ("warm", 0.5), ("cold", 0.0)])
def test_tiers_count_one_a_half_and_nothing_f2(tier: Any, score: float) -> None:
    """F2.tier."""
    scored = only(tier=1).score([fragment("a", tier="hot"), fragment("b", tier=tier)])
    assert scores(scored)["b"] == score


def test_recency_halves_every_thirty_days_against_the_newest_fragment_f2() -> None:
    """F2.recency."""
    found = [fragment(str(d), created_at=NOON - timedelta(days=d)) for d in (0, 15, 30, 90)]
    assert scores(only(recency=1).score(found)) == {
        "0": 1.0,
        "15": round(math.sqrt(0.5), 6),
        "30": 0.5,
        "90": 0.125,
    }


def test_recency_is_measured_from_as_of_and_nothing_is_newer_f2() -> None:
    """F2.recency."""
    request = ContextRequest(as_of=NOON - timedelta(days=30))
    found = [fragment(str(d), created_at=NOON - timedelta(days=d)) for d in (0, 30, 60)]
    assert scores(only(recency=1).score(found, request=request)) == {"0": 1, "30": 1, "60": 0.5}


def test_a_naive_time_counts_as_utc_m8() -> None:
    naive = fragment("naive", created_at=datetime(2025, 6, 1, 12))
    assert scores(only(recency=1).score([naive, fragment("aware")])) == {"naive": 1, "aware": 1}


def test_a_focus_node_counts_one_whichever_way_it_is_named_f2() -> None:
    """F2.plan."""
    found = [fragment("plan"), fragment("request"), fragment("neither")]
    scored = only(plan=1).score(
        found, PlanContext(focus_nodes=("plan",)), ContextRequest(focus_nodes=("request",))
    )
    assert scores(scored) == {"plan": 1.0, "request": 1.0, "neither": 0.0}


def test_each_step_up_the_plans_halves_and_strangers_count_nothing_f2() -> None:
    """F2.plan."""
    plan = {"plan_id": "me", "ancestors": ("up", "top")}
    found = [fragment(name, metadata={"plan_id": name}) for name in ("me", "up", "top", "other")]
    scored = only(plan=1).score([*found, fragment("odd", metadata={"plan_id": 7})], plan)
    assert scores(scored) == {"me": 1, "up": 0.5, "top": 0.25, "other": 0, "odd": 0}


def test_the_plan_of_the_request_is_used_when_none_is_given() -> None:
    request = ContextRequest(plan_context=PlanContext(focus_nodes=("a",)))
    assert scores(only(plan=1).score([fragment("a"), fragment("b")], None, request))["b"] == 0


def test_resource_affinity_exists_and_weighs_nothing_by_default_f2() -> None:
    """F2.resource, D4-32."""
    test = FragmentProvenance(resource_uri="t", resource_type="test")
    found = [fragment("a", provenance=test), fragment("b", metadata={"resource_type": "test"})]
    found.append(fragment("c"))
    request = {"resource_types": ["test"]}
    assert scores(only(resource=1).score(found, request=request)) == {"a": 1, "b": 1, "c": 0}
    assert set(scores(FragmentScorer().score(found, request=request)).values()) == {1.0}


def test_only_the_ratios_of_the_weights_matter_f2() -> None:
    """F2.weights."""
    found = [fragment(str(i), relevance_score=i / 10, tier="hot") for i in range(10)]
    tenfold = ScorerWeights(relevance=4, tier=3, recency=2, plan=1)
    assert FragmentScorer(tenfold).score(found) == FragmentScorer().score(found)


def test_small_scores_keep_their_order_because_they_are_scaled_before_rounding_f2() -> None:
    """F2.round."""
    found = [fragment(str(i), relevance_score=i * 1e-9) for i in (1, 3, 2)]
    scored = only(relevance=1).score(found)
    assert [(f.uko_node, score) for f, score in scored] == [
        ("3", 1.0),
        ("2", 0.666667),
        ("1", 0.333333),
    ]


def test_nothing_and_worthless_fragments_are_scored_without_a_division_by_zero() -> None:
    assert FragmentScorer().score([]) == []
    assert only(relevance=1).score([fragment(relevance_score=0)])[0][1] == 0.0


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
def test_a_weight_that_cannot_be_is_refused(weight: float) -> None:
    with pytest.raises(ValidationError, match="relevance"):
        ScorerWeights(relevance=weight)


def test_weights_that_weigh_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        only()


def test_equal_scores_are_ordered_as_the_packer_orders_them_f3() -> None:
    deep = fragment("z", token_count=9)
    shallow = fragment("b", detail_depth=2, token_count=9)
    small = fragment("c", detail_depth=2, token_count=5)
    first = fragment("a", detail_depth=2, token_count=9)
    scored = only(tier=1).score([first, shallow, small, deep])
    assert [f.uko_node for f, _ in scored] == ["z", "c", "a", "b"]


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(-400, 400)), max_size=8))
def test_scores_lie_in_0_to_1_and_descend_whatever_the_times(parts: list[Any]) -> None:
    found = [
        fragment(str(i), relevance_score=r, created_at=NOON + timedelta(days=d))
        for i, (r, d) in enumerate(parts)
    ]
    values = [score for _, score in FragmentScorer().score(found)]
    assert values == sorted(values, reverse=True)
    assert all(0.0 <= value <= 1.0 for value in values)
    assert not values or values[0] == 1.0
