"""Strategies are chosen, paid and run behind one call (rulings S3 and S5 to S14)."""

import asyncio
import itertools
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import pytest

from acms_adapters.errors import BudgetError, UnknownNameError
from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    LeftOut,
    StrategyCapabilities,
    StrategyOptions,
)
from acms_adapters.pipeline.coordinator import StrategyCoordinator
from acms_adapters.pipeline.coordinator_config import CoordinatorConfig
from acms_adapters.protocols import BackendSet

GUARD_SECONDS = 60
CHAIN = {
    "arce": (0.95, ("text", "vector", "graph")),
    "breadth-depth-navigator": (0.85, ("graph",)),
    "semantic-embedding": (0.6, ("vector",)),
    "simple-keyword": (0.3, ("text",)),
}
ALL = {"text": True, "vector": True, "graph": True, "temporal": True}


def fragment(node: str, tokens: int = 10, **fields: Any) -> ContextFragment:
    return ContextFragment(uko_node=node, content=node, token_count=tokens, **fields)


def raising(*_: Any) -> Any:
    raise RuntimeError("broken")


def nodes(result: Any) -> list[str]:
    return [f.uko_node.removeprefix("mem://") for f in result.fragments]


def kinds(result: Any) -> dict[str, str]:
    return {failure.strategy: failure.kind for failure in result.failures}


def chain(stub: Any, **behaviour: Callable[..., Any]) -> dict[str, Any]:
    """Stubs with the names, qualities and needs of the fallback chain."""
    return {
        name: stub(
            name,
            quality,
            quality=quality,
            assemble=behaviour.get(name.replace("-", "_")),
            **{f"uses_{need}": True for need in needs},
        )
        for name, (quality, needs) in CHAIN.items()
    }


# --- the documented call


def test_the_documented_call_works_as_printed(coordinate: Any, stub: Any) -> None:
    """M2.dict, D1-1, D1-2, D1-3."""
    given: list[Any] = []
    strategy_a = stub(
        "relevance", 0.5, uses_vector=True, assemble=lambda *asked: given.extend(asked) or []
    )
    strategy_b = stub("other", 0.25)
    input_fragments = [fragment("mine")]
    coordinator = StrategyCoordinator(
        config=CoordinatorConfig(per_strategy_max_cap=500, min_useful_budget=64)
    )
    result = coordinate(
        coordinator,
        request={"preferred_strategies": ["relevance"]},
        strategies=[strategy_a, strategy_b],
        budget=ContextBudget(max_tokens=4096),
        fragments=input_fragments,
        backends={"vector": True},
        plan_context={"plan_id": "plan-1"},
    )
    assert nodes(result) == ["other"]
    assert result.strategies_used == ["relevance", "other"]
    assert result.allocations == [("relevance", 0.75, 500), ("other", 0.25, 500)]
    assert result.circuit_broken == []
    request, backends, budget, plan_context = given
    assert request.strategy_hints == ("relevance",)
    assert backends.has("vector")
    assert backends.candidates == tuple(input_fragments)
    assert budget.available_tokens == 500
    assert plan_context.plan_id == "plan-1"


def test_the_documented_defaults_are_the_defaults() -> None:
    """D1-24, D1-25, D1-26, D1-27, D1-28, D1-29, D6-38."""
    config = CoordinatorConfig()
    assert (config.min_useful_budget, config.executor_timeout) == (64, 30.0)
    assert (config.executor_max_workers, config.circuit_breaker_threshold) == (4, 3)
    assert (config.preference_boost, config.per_strategy_max_cap) == (1.5, None)
    assert config.circuit_breaker_reset_timeout == 60.0
    assert config.fallback_chain == tuple(CHAIN)
    assert config.default_strategy == "arce"


def test_s5_the_budget_is_shared_by_confidence(coordinate: Any, stub: Any) -> None:
    """D1-3, D1-4."""
    a, b = stub("a", 0.8), stub("b", 0.2)
    result = coordinate(StrategyCoordinator(), {}, [b, a], 1000)
    assert result.allocations == [("a", 0.8, 800), ("b", 0.2, 200)]
    assert (a.budgets, b.budgets) == ([800], [200])


def test_s6_a_strategy_whose_share_is_too_small_is_not_run(coordinate: Any, stub: Any) -> None:
    """D1-6."""
    small = stub("small", 0.05)
    result = coordinate(StrategyCoordinator(), {}, [stub("big", 0.95), small], 1000)
    assert result.allocations == [("big", 0.95, 1000)]
    assert small.runs == 0


def test_s3_reserved_tokens_are_not_shared_out(coordinate: Any, stub: Any) -> None:
    budget = ContextBudget(max_tokens=4096, reserved_tokens=512)
    result = coordinate(StrategyCoordinator(), {}, [stub("a", 0.5)], budget)
    assert result.allocations == [("a", 0.5, 3584)]


def test_s3_what_lies_beyond_a_share_is_the_reserve(coordinate: Any, stub: Any) -> None:
    pool = [fragment("fits", 80, relevance_score=0.9), fragment("beyond", 80)]
    strategy = stub("a", assemble=lambda *_: pool)
    result = coordinate(StrategyCoordinator(), {}, [strategy], 100)
    assert nodes(result) == ["fits"]
    assert [f.uko_node for f in result.reserve] == ["beyond"]
    assert result.left_out == ()


def test_s3_f7_without_reserve_it_is_accounted_for_as_beyond_the_share(
    coordinate: Any, stub: Any
) -> None:
    """S3.spec."""
    pool = [fragment("fits", 80, relevance_score=0.9), fragment("beyond", 80)]
    coordinator = StrategyCoordinator(CoordinatorConfig(reserve=False))
    result = coordinate(coordinator, {}, [stub("a", assemble=lambda *_: pool)], 100)
    (entry,) = result.left_out
    assert (entry.uko_node, entry.reason) == ("beyond", LeftOut.BEYOND_SHARE)
    assert (entry.needed, entry.had, entry.strategy) == (80, 20, "a")
    assert result.reserve == ()


@pytest.mark.parametrize("reserve", [True, False])
def test_f7_every_delivered_fragment_is_found_in_exactly_one_place(
    coordinate: Any, stub: Any, reserve: bool
) -> None:
    pool = [fragment(str(i), 30, relevance_score=i / 20) for i in range(20)]
    coordinator = StrategyCoordinator(CoordinatorConfig(reserve=reserve, max_fragments=7))
    result = coordinate(coordinator, {}, [stub("a", assemble=lambda *_: pool)], 100)
    ids = [
        *(f.fragment_id for f in (*result.fragments, *result.reserve)),
        *(entry.fragment_id for entry in result.left_out),
    ]
    assert sorted(ids) == sorted(f.fragment_id for f in pool)
    limit = [e for e in result.left_out if e.reason is LeftOut.BEYOND_LIMIT]
    assert len(limit) == 13


# --- S9: failing parts


def deaf(clock: Any, never: threading.Event) -> Callable[..., Any]:
    """Lets its own time of 4 s pass and hangs."""

    def hang(*_: Any) -> Any:
        clock.advance(5)
        never.wait(GUARD_SECONDS)

    return hang


@pytest.mark.parametrize(
    "bad", [c for n in range(1, 5) for c in itertools.combinations(range(4), n)], ids=str
)
@pytest.mark.parametrize("first", range(3))
def test_s9_whatever_parts_fail_the_others_answer_and_the_failures_are_named(
    coordinate: Any,
    stub: Any,
    fake_clock: Any,
    never: threading.Event,
    bad: tuple[int, ...],
    first: int,
) -> None:
    """S9.coordinate, D1-12."""
    ways = [("error", raising), ("timeout", deaf(fake_clock, never)), ("invalid", lambda *_: 42)]
    names = ["a", "b", "c", "d"]
    expected, strategies = {}, []
    for number, name in enumerate(names):
        act = None
        if number in bad:
            expected[name], act = ways[(first + number) % 3]
        strategies.append(stub(name, 0.5, assemble=act))
    hung = [name for name, kind in expected.items() if kind == "timeout"]
    config = CoordinatorConfig(limits={n: StrategyOptions(timeout_seconds=4) for n in hung})
    coordinator = StrategyCoordinator(config, clock=fake_clock)
    started = fake_clock.now

    result = coordinate(coordinator, {}, strategies, 1000)

    good = [name for name in names if name not in expected]
    assert kinds(result) == expected
    assert result.strategies_used == good
    assert nodes(result) == good
    assert [r.strategy_name for r in result.results] == names
    assert fake_clock.now - started < 30


@pytest.mark.parametrize("bad", ["raises", "hangs", "is garbage"])
def test_s9_a_strategy_that_fails_while_polled_does_not_stop_the_others(
    coordinate: Any, stub: Any, fake_clock: Any, never: threading.Event, bad: str
) -> None:
    def hang(*_: Any) -> Any:
        fake_clock.advance(2)  # more than a quarter of its own 4 s
        never.wait(GUARD_SECONDS)

    confidence, kind = {
        "raises": (raising, "error"),
        "hangs": (hang, "timeout"),
        "is garbage": (float("nan"), "invalid"),
    }[bad]
    config = CoordinatorConfig(limits={"bad": StrategyOptions(timeout_seconds=4)})
    coordinator = StrategyCoordinator(config, clock=fake_clock)
    result = coordinate(coordinator, {}, [stub("bad", confidence), stub("good", 0.5)], 100)
    assert kinds(result) == {"bad": kind}
    assert result.allocations == [("good", 0.5, 100)]
    assert nodes(result) == ["good"]


def test_s9_a_strategy_that_fails_when_looked_at_is_a_failure_too(
    coordinate: Any, stub: Any
) -> None:
    class Broken(stub):  # type: ignore[misc, valid-type]
        @property
        def capabilities(self) -> StrategyCapabilities:
            raise RuntimeError("no configuration")

        @capabilities.setter
        def capabilities(self, value: Any) -> None:
            pass

    result = coordinate(StrategyCoordinator(), {}, [Broken("bad"), stub("good")], 100)
    assert kinds(result) == {"Broken": "error"}
    assert nodes(result) == ["good"]


def test_s9_nothing_found_is_an_answer(coordinate: Any, stub: Any) -> None:
    """S9.nothing."""
    result = coordinate(StrategyCoordinator(), {}, [stub("a", assemble=lambda *_: [])], 100)
    assert result.fragments == []
    assert result.strategies_used == ["a"]
    assert result.failures == ()


def test_s9_no_strategies_at_all_give_an_empty_result(coordinate: Any) -> None:
    result = coordinate(StrategyCoordinator(), {}, [], 100)
    assert (result.fragments, result.results, result.failures) == ([], (), ())


def test_s7_a_late_delivery_is_dropped_and_accounted_for(
    coordinate: Any, stub: Any, fake_clock: Any
) -> None:
    """S7.late."""

    def slow(*_: Any) -> Any:
        fake_clock.now += 11  # and nobody is woken: the delivery comes before anybody looks
        return [fragment("too late"), fragment("beyond", 5000)]

    config = CoordinatorConfig(deadline_seconds=100, executor_timeout=10)
    coordinator = StrategyCoordinator(config, clock=fake_clock)
    result = coordinate(coordinator, {}, [stub("slow", assemble=slow)], 1000)
    assert kinds(result) == {"slow": "timeout"}
    assert nodes(result) == []
    assert [(e.uko_node, e.reason, e.strategy) for e in result.left_out] == [
        ("too late", LeftOut.LATE, "slow"),
        ("beyond", LeftOut.LATE, "slow"),
    ]


def test_s7_a_delivery_that_arrives_while_others_still_run_is_accounted_for_as_late(
    coordinate: Any, stub: Any, fake_clock: Any
) -> None:
    """S7.late."""
    given_up, delivered = threading.Event(), threading.Event()

    def slow(*_: Any) -> Any:
        fake_clock.advance(11)
        assert given_up.wait(GUARD_SECONDS)
        return [fragment("too late")]

    class Breaking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            message = record.getMessage()
            if "slow: timeout" in message:
                given_up.set()
            if "slow answered too late" in message:
                delivered.set()

    def patient(*_: Any) -> Any:
        assert delivered.wait(GUARD_SECONDS)
        return [fragment("good")]

    logger = logging.getLogger("acms_adapters.pipeline.assembly_round")
    handler, level = Breaking(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        config = CoordinatorConfig(limits={"slow": StrategyOptions(timeout_seconds=10)})
        coordinator = StrategyCoordinator(config, clock=fake_clock)
        strategies = [stub("slow", assemble=slow), stub("patient", assemble=patient)]
        result = coordinate(coordinator, {}, strategies, 1000)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert nodes(result) == ["good"]
    assert [(e.uko_node, e.reason) for e in result.left_out] == [("too late", LeftOut.LATE)]


def test_s7_the_deadline_is_the_largest_timeout_of_the_selected_strategies(
    coordinate: Any, stub: Any, fake_clock: Any, never: threading.Event
) -> None:
    """S7.deadline."""

    def hang(*_: Any) -> Any:
        fake_clock.advance(21)
        never.wait(GUARD_SECONDS)

    limits = {
        "stuck": StrategyOptions(timeout_seconds=20),
        "waiting": StrategyOptions(timeout_seconds=15),
        "unselected": StrategyOptions(timeout_seconds=1000),
    }
    coordinator = StrategyCoordinator(
        CoordinatorConfig(executor_max_workers=1, limits=limits), clock=fake_clock
    )
    waiting = stub("waiting", 0.1)
    strategies = [stub("stuck", 0.9, assemble=hang), waiting, stub("unselected", 0.0)]
    result = coordinate(coordinator, {}, strategies, 1000)
    assert kinds(result) == {"stuck": "timeout", "waiting": "timeout"}
    assert waiting.runs == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()], ids=repr)
def test_an_interrupt_reaches_the_caller(stub: Any, error: BaseException) -> None:
    def interrupted(*_: Any) -> Any:
        raise error

    with pytest.raises(type(error)):
        StrategyCoordinator().coordinate({}, [stub("a", assemble=interrupted)], 100)


# --- S8: circuits


def test_s8_a_strategy_that_fails_three_times_is_left_alone_and_listed(
    coordinate: Any, stub: Any, fake_clock: Any
) -> None:
    """D1-10."""
    bad, good = stub("bad", 0.5, assemble=raising), stub("good", 0.5)
    coordinator = StrategyCoordinator(clock=fake_clock)

    def call() -> Any:
        return coordinate(coordinator, {}, [bad, good], 1000)

    assert [call().circuit_broken for _ in range(3)] == [[], [], ["bad"]]
    fourth = call()
    assert fourth.circuit_broken == ["bad"]
    assert kinds(fourth) == {"bad": "circuit_open"}
    assert fourth.allocations == [("good", 0.5, 1000)]
    assert bad.runs == 3
    fake_clock.advance(60)
    probe = call()
    assert kinds(probe) == {"bad": "error"}
    assert probe.circuit_broken == ["bad"]


def test_s8_an_answer_closes_the_circuit(coordinate: Any, stub: Any, fake_clock: Any) -> None:
    answers = [True, False]

    def first_fails(*_: Any) -> Any:
        return raising() if answers.pop(0) else []

    coordinator = StrategyCoordinator(
        CoordinatorConfig(circuit_breaker_threshold=1), clock=fake_clock
    )
    strategy = stub("a", assemble=first_fails)
    assert coordinate(coordinator, {}, [strategy], 100).circuit_broken == ["a"]
    fake_clock.advance(60)
    healed = coordinate(coordinator, {}, [strategy], 100)
    assert (healed.circuit_broken, healed.failures) == ([], ())


def test_s8_failing_while_polled_opens_the_circuit_too(coordinate: Any, stub: Any) -> None:
    coordinator = StrategyCoordinator(CoordinatorConfig(circuit_breaker_threshold=2))
    bad = stub("bad", raising)
    results = [coordinate(coordinator, {}, [bad], 100) for _ in range(3)]
    assert [kinds(result)["bad"] for result in results] == ["error", "error", "circuit_open"]


def test_s8_each_coordinator_has_its_own_circuits(coordinate: Any, stub: Any) -> None:
    config = CoordinatorConfig(circuit_breaker_threshold=1)
    bad = stub("bad", assemble=raising)
    coordinate(StrategyCoordinator(config), {}, [bad], 100)
    assert kinds(coordinate(StrategyCoordinator(config), {}, [bad], 100)) == {"bad": "error"}


# --- S10: fallback


def test_s10_what_fails_falls_to_the_next_of_the_chain(coordinate: Any, stub: Any) -> None:
    """D4-73, D6-38."""
    registered = chain(stub, arce=raising, breadth_depth_navigator=raising)
    result = coordinate(
        StrategyCoordinator(), {}, [registered["arce"]], 1000, backends=ALL, registered=registered
    )
    assert kinds(result) == {"arce": "error", "breadth-depth-navigator": "error"}
    assert nodes(result) == ["semantic-embedding"]
    assert registered["semantic-embedding"].budgets == [1000]
    assert registered["simple-keyword"].runs == 0
    assert result.strategies_used == ["semantic-embedding"]


def test_s10_members_without_their_backends_are_passed_over(coordinate: Any, stub: Any) -> None:
    """D3-29."""
    registered = chain(stub)
    result = coordinate(
        StrategyCoordinator(),
        {},
        [registered["simple-keyword"]],
        1000,
        backends={"text": True, "vector": True},
        registered=registered,
        named="arce",
    )
    assert kinds(result) == {"arce": "unavailable"}
    assert nodes(result) == ["semantic-embedding"]
    assert result.allocations == [("semantic-embedding", 0.6, 1000)]


def test_s10_an_open_circuit_falls_to_the_next_of_the_chain(coordinate: Any, stub: Any) -> None:
    registered = chain(stub, semantic_embedding=raising)
    coordinator = StrategyCoordinator(CoordinatorConfig(circuit_breaker_threshold=1))
    for _ in range(2):
        result = coordinate(
            coordinator,
            {},
            [registered["semantic-embedding"]],
            100,
            backends=ALL,
            registered=registered,
        )
    assert kinds(result) == {"semantic-embedding": "circuit_open"}
    assert result.circuit_broken == ["semantic-embedding"]
    assert nodes(result) == ["simple-keyword"]


def test_s10_a_strategy_outside_the_chain_falls_to_the_best_below_its_quality(
    coordinate: Any, stub: Any
) -> None:
    """S10.outside."""
    registered = chain(stub)
    custom = stub("custom", 0.9, quality=0.75, assemble=raising)
    result = coordinate(
        StrategyCoordinator(), {}, [custom], 1000, backends=ALL, registered=registered
    )
    assert kinds(result) == {"custom": "error"}
    assert nodes(result) == ["semantic-embedding"]


def test_s10_below_the_lowest_quality_nobody_stands_in(coordinate: Any, stub: Any) -> None:
    """S10.outside."""
    registered = chain(stub)
    custom = stub("custom", 0.9, quality=0.3, assemble=raising)
    result = coordinate(
        StrategyCoordinator(), {}, [custom], 1000, backends=ALL, registered=registered
    )
    assert result.fragments == []
    assert [r.strategy_name for r in result.results] == ["custom"]


def test_s10_nobody_stands_in_twice_or_for_one_that_runs_anyway(coordinate: Any, stub: Any) -> None:
    registered = chain(stub, breadth_depth_navigator=raising)
    strategies = [registered["breadth-depth-navigator"], registered["semantic-embedding"]]
    result = coordinate(
        StrategyCoordinator(), {}, strategies, 1000, backends=ALL, registered=registered
    )
    assert nodes(result) == ["semantic-embedding"]
    assert registered["semantic-embedding"].runs == 1
    assert registered["simple-keyword"].runs == 0


def test_s10_one_whose_share_was_too_small_may_stand_in(coordinate: Any, stub: Any) -> None:
    custom = stub("custom", 0.98, quality=0.9, assemble=raising)
    keyword = stub("simple-keyword", 0.02, quality=0.3)
    result = coordinate(StrategyCoordinator(), {}, [custom, keyword], 1000)
    assert result.allocations == [("custom", 0.98, 1000)]
    assert nodes(result) == ["simple-keyword"]
    assert keyword.budgets == [1000]


def test_s10_a_member_that_has_nothing_for_the_request_is_passed_over(
    coordinate: Any, stub: Any
) -> None:
    registered = chain(stub, arce=raising)
    registered["breadth-depth-navigator"] = stub(
        "breadth-depth-navigator", 0.0, quality=0.85, uses_graph=True
    )
    result = coordinate(
        StrategyCoordinator(), {}, [registered["arce"]], 1000, backends=ALL, registered=registered
    )
    assert kinds(result) == {"arce": "error"}
    assert nodes(result) == ["semantic-embedding"]


def test_s10_who_fails_while_polled_is_replaced_before_shares_are_computed(
    coordinate: Any, stub: Any
) -> None:
    registered = chain(stub)
    registered["semantic-embedding"] = stub(
        "semantic-embedding", raising, quality=0.6, uses_vector=True
    )
    strategies = [registered["semantic-embedding"], stub("other", 0.3)]
    result = coordinate(
        StrategyCoordinator(), {}, strategies, 1000, backends=ALL, registered=registered
    )
    assert result.allocations == [("other", 0.3, 500), ("simple-keyword", 0.3, 500)]


def test_s10_who_failed_while_polled_stands_in_for_nobody(coordinate: Any, stub: Any) -> None:
    registered = chain(stub)
    for name, (quality, _) in list(CHAIN.items())[:2]:
        registered[name] = stub(name, raising, quality=quality)
    strategies = [registered["arce"], registered["breadth-depth-navigator"]]
    result = coordinate(
        StrategyCoordinator(), {}, strategies, 1000, backends=ALL, registered=registered
    )
    assert nodes(result) == ["semantic-embedding"]
    assert registered["breadth-depth-navigator"].runs == 0


def test_s8_a_missing_backend_is_no_failure_for_the_circuit(coordinate: Any, stub: Any) -> None:
    coordinator = StrategyCoordinator(CoordinatorConfig(circuit_breaker_threshold=1))
    strategy, request = stub("a", uses_text=True), {"strategy_hints": ["a"]}
    missing = coordinate(coordinator, request, [strategy], 100, backends={})
    assert kinds(missing) == {"a": "unavailable"}
    assert missing.circuit_broken == []
    assert nodes(coordinate(coordinator, request, [strategy], 100, backends=ALL)) == ["a"]


def test_s10_the_chain_is_tried_within_the_deadline_only(
    coordinate: Any, stub: Any, fake_clock: Any, never: threading.Event
) -> None:
    """S10.deadline."""

    def hang(*_: Any) -> Any:
        fake_clock.advance(31)
        never.wait(GUARD_SECONDS)

    for deadline, expected in ((None, []), (45.0, ["simple-keyword"])):
        registered = chain(stub, semantic_embedding=hang)
        coordinator = StrategyCoordinator(
            CoordinatorConfig(deadline_seconds=deadline), clock=fake_clock
        )
        result = coordinate(
            coordinator,
            {},
            [registered["semantic-embedding"]],
            100,
            backends=ALL,
            registered=registered,
        )
        assert kinds(result) == {"semantic-embedding": "timeout"}
        assert nodes(result) == expected


def test_s10_the_chain_can_be_another_one(coordinate: Any, stub: Any) -> None:
    """D6-39."""
    coordinator = StrategyCoordinator(CoordinatorConfig(fallback_chain=("first", "second")))
    strategies = [stub("first", assemble=raising), stub("second", 0.0)]
    registered = [stub("second", 0.1)]
    result = coordinate(coordinator, {}, strategies[:1], 100, registered=registered)
    assert nodes(result) == ["second"]


def test_s10_the_whole_chain_may_fail(coordinate: Any, stub: Any) -> None:
    """S9.coordinate."""
    registered = chain(
        stub,
        arce=raising,
        breadth_depth_navigator=raising,
        semantic_embedding=raising,
        simple_keyword=raising,
    )
    result = coordinate(
        StrategyCoordinator(), {}, [registered["arce"]], 100, backends=ALL, registered=registered
    )
    assert kinds(result) == dict.fromkeys(CHAIN, "error")
    assert result.fragments == []


def test_s10_the_default_strategy_runs_when_no_candidate_qualifies(
    coordinate: Any, stub: Any
) -> None:
    """S10.default."""
    registered = chain(stub)
    result = coordinate(
        StrategyCoordinator(),
        {},
        [stub("a", 0.0)],
        1000,
        backends=ALL,
        registered=registered,
    )
    assert nodes(result) == ["arce"]
    assert result.failures == ()


def test_s10_a_default_that_is_not_available_falls_down_the_chain_without_a_failure(
    coordinate: Any, stub: Any
) -> None:
    """S10.default, D3-29, D3-30."""
    result = coordinate(
        StrategyCoordinator(),
        {},
        [stub("a", 0.0)],
        1000,
        backends={"text": True},
        registered=chain(stub),
    )
    assert nodes(result) == ["simple-keyword"]
    assert result.failures == ()


def test_s10_when_nothing_can_run_at_all_the_result_says_why(coordinate: Any, stub: Any) -> None:
    result = coordinate(StrategyCoordinator(), {}, [], 1000, backends={}, registered=chain(stub))
    assert result.results == ()
    assert kinds(result) == {"arce": "unavailable"}
    assert "text, vector, graph" in result.failures[0].message


def test_s10_without_a_default_nothing_runs_when_no_candidate_qualifies(
    coordinate: Any, stub: Any
) -> None:
    coordinator = StrategyCoordinator(CoordinatorConfig(default_strategy=None))
    result = coordinate(
        coordinator, {}, [stub("a", 0.0)], 1000, backends=ALL, registered=chain(stub)
    )
    assert result.results == ()


def test_s5_a_hinted_strategy_without_its_backend_is_a_failure_and_is_replaced(
    coordinate: Any, stub: Any
) -> None:
    """D3-30."""
    registered = chain(stub)
    result = coordinate(
        StrategyCoordinator(),
        {"strategy_hints": ["arce"]},
        [registered["arce"]],
        1000,
        backends={"text": True},
        registered=registered,
    )
    assert kinds(result) == {"arce": "unavailable"}
    assert nodes(result) == ["simple-keyword"]


def test_s5_an_unhinted_strategy_without_its_backend_is_no_failure(
    coordinate: Any, stub: Any
) -> None:
    registered = chain(stub)
    result = coordinate(
        StrategyCoordinator(), {}, registered, 1000, backends={"text": True, "vector": True}
    )
    assert result.strategies_used == ["semantic-embedding", "simple-keyword"]
    assert result.failures == ()


# --- S2 and S13: named and switched off


def test_s2_a_named_strategy_runs_whatever_its_confidence(coordinate: Any, stub: Any) -> None:
    """S2.named."""
    named = stub("named", raising, quality=0.4)
    result = coordinate(
        StrategyCoordinator(), {}, [stub("other")], 1000, registered=[named], named="named"
    )
    assert nodes(result) == ["named"]
    assert result.allocations == [("named", 0.4, 1000)]


def test_s2_a_named_strategy_that_fails_falls_down_the_chain(coordinate: Any, stub: Any) -> None:
    registered = chain(stub, arce=raising)
    result = coordinate(
        StrategyCoordinator(), {}, [], 1000, backends=ALL, registered=registered, named="arce"
    )
    assert nodes(result) == ["breadth-depth-navigator"]


def test_s2_a_name_nobody_knows_is_an_error_that_names_the_near_one(stub: Any) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'simple-keyword'"):
        StrategyCoordinator().coordinate(
            {}, [], 100, registered=chain(stub), named="simple-keywords"
        )


def test_s13_a_strategy_that_is_switched_off_is_not_asked(coordinate: Any, stub: Any) -> None:
    """S2.named, D6-44."""
    coordinator = StrategyCoordinator(
        CoordinatorConfig(limits={"off": StrategyOptions(enabled=False)})
    )
    off = stub("off", 0.9)
    assert coordinate(coordinator, {}, [off, stub("on")], 100).strategies_used == ["on"]
    hinted = coordinate(coordinator, {"strategy_hints": ["off"]}, [off, stub("on")], 100)
    assert kinds(hinted) == {"off": "unavailable"}
    named = coordinate(coordinator, {}, [off], 100, named="off")
    assert kinds(named) == {"off": "unavailable"}
    assert "switched off" in named.failures[0].message
    assert off.runs == 0


def test_s13_a_strategy_that_is_switched_off_stands_in_for_nobody(
    coordinate: Any, stub: Any
) -> None:
    registered = chain(stub, arce=raising)
    limits = {"breadth-depth-navigator": StrategyOptions(enabled=False)}
    result = coordinate(
        StrategyCoordinator(CoordinatorConfig(limits=limits)),
        {},
        [],
        1000,
        backends=ALL,
        registered=registered,
        named="arce",
    )
    assert nodes(result) == ["semantic-embedding"]


# --- forms of arguments


def test_s1_strategies_of_the_short_form_rank_the_callers_fragments(coordinate: Any) -> None:
    class Short:
        name = "short"
        capabilities = StrategyCapabilities(uses_text=True, uses_graph=True)

        def can_handle(self, request: Any) -> float:
            return 0.6 if "focus_nodes" in request else 0.0

        def assemble(self, fragments: Any, budget: Any) -> Any:
            return [f for f in fragments if f.token_count <= budget.available_tokens]

    for backends in (None, {}, BackendSet()):
        result = coordinate(
            StrategyCoordinator(),
            {"focus_nodes": ["x"]},
            [Short()],
            100,
            [fragment("x"), fragment("big", 500)],
            backends,
        )
        assert nodes(result) == ["x"]


def test_candidates_of_a_backend_set_stay_when_no_fragments_are_given(
    coordinate: Any, stub: Any
) -> None:
    seen: list[Any] = []
    strategy = stub("a", assemble=lambda request, backends, *_: seen.append(backends) or [])
    pool = (fragment("x"),)
    coordinate(StrategyCoordinator(), None, [strategy], 100, backends=BackendSet(candidates=pool))
    assert seen[0].candidates == pool


def test_strategies_may_be_given_as_a_mapping(coordinate: Any, stub: Any) -> None:
    result = coordinate(StrategyCoordinator(), {}, {"a": stub("a"), "b": stub("b")}, 1000)
    assert result.strategies_used == ["a", "b"]


def test_an_unhashable_strategy_can_be_used(coordinate: Any, stub: Any) -> None:
    class Unhashable(stub):  # type: ignore[misc, valid-type]
        __hash__ = None

        def __eq__(self, other: object) -> bool:
            return True

    strategies = [Unhashable("a"), Unhashable("b")]
    assert coordinate(StrategyCoordinator(), {}, strategies, 1000).strategies_used == ["a", "b"]


def test_a_question_alone_is_a_request_too(coordinate: Any, stub: Any) -> None:
    seen: list[Any] = []
    strategy = stub("a", assemble=lambda request, *_: seen.append(request) or [])
    coordinate(StrategyCoordinator(), "how?", [strategy], 100)
    assert seen == [ContextRequest(query="how?")]


def test_an_unknown_hint_is_logged_and_does_no_harm(
    coordinate: Any, stub: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """S5.unknown."""
    with caplog.at_level(logging.WARNING, logger="acms_adapters"):
        result = coordinate(
            StrategyCoordinator(), {"preferred_strategies": ["nobody"]}, [stub("a")], 100
        )
    assert result.strategies_used == ["a"]
    assert "'nobody'" in caplog.text


def test_s13_a_hint_at_a_strategy_that_is_not_enabled_is_logged_with_what_to_do(
    coordinate: Any, stub: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """S13."""
    stands_by = stub("b")
    with caplog.at_level(logging.WARNING, logger="acms_adapters"):
        result = coordinate(
            StrategyCoordinator(),
            {"strategy_hints": ["b"]},
            [stub("a")],
            100,
            registered=[stands_by],
        )
    assert result.strategies_used == ["a"]
    assert stands_by.runs == 0
    assert "prefers 'b', which is not enabled: add it to `enabled`" in caplog.text


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"budget": 0}, BudgetError, "not 0"),
        ({"budget": -5}, BudgetError, "not -5"),
        ({"strategies": [object()]}, TypeError, "expected name"),
        ({"backends": {"vectors": True}}, ValueError, "unknown backend 'vectors'"),
        ({"request": {"keyword": ["x"]}}, ValueError, "keyword"),
        ({"plan_context": {"plan": "p"}}, ValueError, "plan"),
    ],
)
def test_arguments_that_cannot_be_are_refused(
    coordinate: Any, stub: Any, change: dict[str, Any], error: type[Exception], told: str
) -> None:
    arguments = {"request": {}, "strategies": [stub("a")], "budget": 100, **change}
    with pytest.raises(error, match=told):
        coordinate(StrategyCoordinator(), **arguments)


def test_two_strategies_of_one_name_are_refused(stub: Any) -> None:
    with pytest.raises(ValueError, match="two strategies are called 'a'"):
        StrategyCoordinator().coordinate({}, [stub("a"), stub("a")], 100)


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_useful_budget": -1},
        {"executor_timeout": 0},
        {"executor_timeout": float("nan")},
        {"executor_max_workers": 0},
        {"circuit_breaker_threshold": 0},
        {"circuit_breaker_reset_timeout": -1.0},
        {"preference_boost": 0.5},
        {"per_strategy_max_cap": 0},
        {"selector_threshold": 1.5},
        {"max_candidates": 0},
        {"allocator_strategy": "greedy"},
        {"deadline_seconds": 0},
        {"max_fragments": 0},
        {"unknown": 1},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_configuration_out_of_range_names_the_field(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CoordinatorConfig(**wrong)


def test_s6_a_cap_below_the_smallest_useful_share_is_refused() -> None:
    """S6.cap."""
    with pytest.raises(ValueError, match=r"at least min_useful_budget \(64\), not 63"):
        CoordinatorConfig(per_strategy_max_cap=63)
    assert CoordinatorConfig(per_strategy_max_cap=64).per_strategy_max_cap == 64


# --- sharing


def test_a_hundred_calls_at_the_same_time_do_not_mix(stub: Any) -> None:
    started = threading.Barrier(10)

    def echo(request: Any, backends: Any, budget: Any, plan: Any) -> Any:
        return [
            fragment(f"{request.query}/{budget.available_tokens}/{plan.plan_id}/{n}", 10)
            for n in range(3)
        ]

    strategies = [stub("a", 0.5, assemble=echo), stub("b", 0.5, assemble=echo)]
    coordinator = StrategyCoordinator()

    def call(number: int) -> None:
        if number < 10:
            started.wait(GUARD_SECONDS)
        query, budget = (("x", 200), ("y", 400))[number % 2]
        result = coordinator.coordinate(
            query, strategies, budget, plan_context={"plan_id": str(number)}
        )
        expected = [f"{query}/{budget // 2}/{number}/{n}" for n in range(3)]
        assert nodes(result) == [*expected, *expected]
        assert [f.provenance.strategy for f in result.fragments] == ["a"] * 3 + ["b"] * 3

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(call, range(100)))


async def test_a_hundred_coroutines_at_the_same_time_do_not_mix(stub: Any) -> None:
    def echo(request: Any, *_: Any) -> Any:
        return [fragment(request.query)]

    strategies = [stub("a", assemble=echo), stub("b", assemble=echo)]
    coordinator = StrategyCoordinator()
    results = await asyncio.gather(
        *(coordinator.acoordinate(str(n), strategies, 200 + n) for n in range(100))
    )
    assert [nodes(result) for result in results] == [[str(n), str(n)] for n in range(100)]


def test_changing_an_answer_changes_neither_the_next_one_nor_the_callers_fragments(
    coordinate: Any, stub: Any
) -> None:
    pool = [fragment("x", metadata={"tags": ["own"]})]
    strategy = stub("a", assemble=lambda request, backends, *_: backends.candidates)
    coordinator = StrategyCoordinator()
    first = coordinate(coordinator, {}, [strategy], 100, pool)
    first.fragments[0].metadata["tags"].append("changed")
    first.fragments.clear()
    second = coordinate(coordinator, {}, [strategy], 100, pool)
    assert second.fragments[0].metadata == {"tags": ["own"]}
    assert pool[0].metadata == {"tags": ["own"]}


def test_s11_context_variables_of_the_caller_are_seen_while_polled(
    coordinate: Any, stub: Any
) -> None:
    caller: ContextVar[str] = ContextVar("caller", default="nobody")
    seen: list[str] = []

    def confidence(*_: Any) -> float:
        seen.append(caller.get())
        caller.set("strategy")
        return 0.5

    token = caller.set("mine")
    try:
        coordinate(StrategyCoordinator(), {}, [stub("a", confidence), stub("b", confidence)], 100)
        assert caller.get() == "mine"
    finally:
        caller.reset(token)
    assert seen == ["mine", "mine"]


async def test_polling_never_blocks_the_event_loop(stub: Any) -> None:
    """B1.async."""
    set_by_the_loop = threading.Event()
    loop = asyncio.get_running_loop()

    def confidence(*_: Any) -> float:
        loop.call_soon_threadsafe(set_by_the_loop.set)
        assert set_by_the_loop.wait(GUARD_SECONDS)
        return 0.5

    result = await StrategyCoordinator().acoordinate({}, [stub("a", confidence)], 100)
    assert result.strategies_used == ["a"]


def test_s7_all_strategies_are_polled_and_run_at_the_same_time(coordinate: Any, stub: Any) -> None:
    """D4-24."""
    polled, run = threading.Barrier(4), threading.Barrier(4)

    def confidence(*_: Any) -> float:
        polled.wait(GUARD_SECONDS)
        return 0.5

    def assemble(*_: Any) -> Any:
        run.wait(GUARD_SECONDS)
        return []

    strategies = [stub(n, confidence, assemble=assemble) for n in "abcd"]
    result = coordinate(StrategyCoordinator(), {}, strategies, 1000)
    assert result.strategies_used == ["a", "b", "c", "d"]


def test_s8_that_a_breaker_is_open_is_no_warning_at_every_call(
    coordinate: Any, stub: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any) -> Any:
        raise OSError("gone")

    coordinator = StrategyCoordinator(config=CoordinatorConfig(circuit_breaker_threshold=1))
    strategies = [stub("broken", assemble=fails), stub("sound")]
    coordinate(coordinator, {"query": "x"}, strategies, 1_000)
    assert "broken" in caplog.text
    caplog.clear()
    result = coordinate(coordinator, {"query": "x"}, strategies, 1_000)
    assert result.circuit_broken == ["broken"]
    assert caplog.text == ""
