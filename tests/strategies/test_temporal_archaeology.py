"""The cold tier inside a window, and what it led to (rulings T1, T2)."""

import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import ContextBudget, ContextRequest, PlanContext
from acms_strategies import TemporalArchaeologyStrategy

BUDGET = ContextBudget(max_tokens=1000)


def run(world: Any, options: Any = None, **request: Any) -> Any:
    strategy = TemporalArchaeologyStrategy(options)
    backends = world.backends("graph", "temporal")
    return strategy.assemble(ContextRequest(**request), backends, BUDGET, PlanContext())


def found_in(found: Any) -> list[str]:
    """Short names of the nodes, in order."""
    return [re.split("[/#]", fragment.uko_node)[-1] for fragment in found]


@pytest.fixture
def history(world: Any) -> Any:
    """Decisions of 2, 6, 20 and 400 days ago, each about one file; one file links to another."""
    for name in ("cache", "pool", "queue", "login", "sockets"):
        world.add(name, f"code of {name}")
    world.link("pool", "sockets", "imports")
    for name, days in (("cache", 2), ("pool", 6), ("queue", 20), ("login", 400)):
        why = f"Why the {name} is as it is"
        world.decide(f"{name}-plan", f"{name}-decision", why, days=days, done=True, about=[name])
    world.decide("living-plan", "alive", "Still warm", days=1)
    return world


DECISIONS = {"resource_types": ["decision"]}
ALONE = {"include_current_context": False}


def test_it_takes_cold_records_of_the_last_seven_days_unless_told_otherwise(history: Any) -> None:
    """D4-48, D6-23, D6-27, D4-54."""
    assert found_in(run(history, ALONE, **DECISIONS)) == ["cache-decision", "pool-decision"]
    everything = run(history, ALONE)
    assert set(found_in(everything)) == {
        "cache-decision",
        "cache-plan",
        "pool-decision",
        "pool-plan",
    }
    assert everything.stats == {
        "window": "7d",
        "historical": 4,
        "current": 0,
        "of_period": 0,
        "failed_searches": [],
    }


@pytest.mark.parametrize(
    ("window", "count"), [("1d", 0), ("7d", 2), ("30d", 3), ("90d", 3), ("1y", 3), ("all", 4)]
)
def test_t1_the_window_of_the_request_goes_before_the_option(
    history: Any, window: str, count: int
) -> None:
    """D6-29, D4-54."""
    found = run(history, ALONE, temporal_window=window, **DECISIONS)
    assert len(found) == count
    by_option = run(history, {**ALONE, "default_temporal_window": window}, **DECISIONS)
    assert found_in(by_option) == found_in(found)


def test_t1_the_window_ends_at_the_moment_of_the_request(history: Any) -> None:
    strategy = TemporalArchaeologyStrategy(ALONE)
    earlier = history.backends("graph", "temporal").with_(now=history.now - timedelta(days=10))
    found = strategy.assemble(
        ContextRequest(temporal_window="30d", **DECISIONS), earlier, BUDGET, PlanContext()
    )
    assert found_in(found) == ["queue-decision"]


def test_t2_as_of_shows_the_past_as_it_stood(history: Any) -> None:
    then = history.now - timedelta(days=15)
    assert found_in(run(history, ALONE, as_of=then, **DECISIONS)) == ["queue-decision"]
    before = history.now - timedelta(days=30)
    assert run(history, ALONE, as_of=before, **DECISIONS) == []


def test_it_walks_from_the_records_to_what_is_linked_to_them_now(history: Any) -> None:
    """D4-48, D6-23, D6-28."""
    code = {"resource_types": ["source_file"]}
    found = run(history, **code)
    assert set(found_in(found)) == {"cache", "pool", "sockets"}
    assert found.stats["current"] == 3
    assert set(found_in(run(history, breadth=0, **code))) == {"cache", "pool"}
    assert run(history, ALONE, **code) == []


def test_it_ranks_by_recency(history: Any) -> None:
    """D6-24."""
    found = run(history, ALONE, temporal_window="all", **DECISIONS)
    assert found_in(found) == [
        "cache-decision",
        "pool-decision",
        "queue-decision",
        "login-decision",
    ]
    week = run(history, ALONE, temporal_window="7d", **DECISIONS)
    assert [f.relevance_score for f in week] == pytest.approx([0.5 ** (4 / 7), 0.5 ** (12 / 7)])


def test_it_ranks_by_relevance_too(history: Any) -> None:
    """D6-24."""
    asked = {"query": "Why is the login so slow?", "temporal_window": "all", **DECISIONS}
    assert found_in(run(history, ALONE, **asked))[0] == "login-decision"
    focus = {"focus_nodes": [history.node("sockets")], "temporal_window": "30d", **DECISIONS}
    assert found_in(run(history, ALONE, **focus))[0] == "pool-decision"


def test_a_record_comes_before_what_it_led_to(history: Any) -> None:
    order = found_in(run(history))
    assert order.index("cache-decision") < order.index("cache")
    assert order.index("pool-decision") < order.index("pool") < order.index("sockets")


def test_kinds_metadata_and_scope_of_the_request_hold(history: Any) -> None:
    wanted = {"metadata_filter": {"plan_id": "pool-plan"}}
    assert set(found_in(run(history, **wanted))) == {"pool-decision", "pool-plan"}
    inside = run(history, scope=[history.node("pool")])
    assert set(found_in(inside)) == {"pool-decision", "pool"}
    assert run(history, scope=["project://elsewhere"]) == []


def test_a_cycle_in_the_graph_ends(history: Any) -> None:
    history.link("sockets", "pool", "calls")
    found = run(history, breadth=10**6)
    assert len(found_in(found)) == len(set(found_in(found)))


def test_it_is_addressed_by_a_window_or_a_moment(history: Any) -> None:
    """D4-54."""
    strategy, backends = TemporalArchaeologyStrategy(), history.backends("graph", "temporal")
    assert strategy.can_handle(ContextRequest(query="pool"), backends) == 0.0
    assert strategy.can_handle(ContextRequest(temporal_window="1y"), backends) == 0.5
    assert strategy.can_handle(ContextRequest(as_of=history.now), backends) == 0.5


def test_it_is_left_out_by_default_but_not_switched_off() -> None:
    """D6-25."""
    assert TemporalArchaeologyStrategy().options.enabled is False
    assert "enabled" not in TemporalArchaeologyStrategy().options.model_fields_set


@given(number=st.integers(1, 400), unit=st.sampled_from("dwmyDWMY"), age=st.floats(0.01, 1000.0))
def test_t1_any_number_of_days_weeks_months_or_years_is_a_window(
    new_world: Any, number: int, unit: str, age: float
) -> None:
    world = new_world()
    with world.store:
        world.decide("plan", "old", days=age, done=True)
        days = number * {"d": 1, "w": 7, "m": 30, "y": 365}[unit.lower()]
        found = run(world, {"default_temporal_window": f"{number}{unit}"}, **DECISIONS)
    assert len(found) == (1 if age <= days else 0)


@pytest.mark.parametrize("window", ["", "7", "d", "-7d", "0d", "7 d", "1h", "forever"])
def test_t1_what_is_no_window_is_refused(window: str) -> None:
    with pytest.raises(ValueError, match="a time window is 'all' or a number"):
        TemporalArchaeologyStrategy({"default_temporal_window": window})


def test_t1_t2_a_decision_outside_the_window_does_not_come_in_through_the_graph(
    history: Any,
) -> None:
    history.decide(
        "old-plan", "cache-once", "How the cache was", days=300, done=True, about=["cache"]
    )
    history.decide("new-plan", "cache-now", "How the cache will be", days=1, about=["cache"])
    found = found_in(run(history, breadth=3))
    assert {"cache", "cache-decision"} <= set(found)
    assert {"cache-once", "cache-now", "old-plan", "new-plan"}.isdisjoint(found)
