"""What is no fragment, plan or request is refused by name wherever it is given."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from acms_adapters import (
    ACMSPipeline,
    ContextFragment,
    ContextRequest,
    FusionEngine,
    StrategyCoordinator,
)
from acms_adapters.pipeline import (
    BudgetAllocator,
    BudgetPacker,
    CircuitBreaker,
    DetailDepthResolver,
    FragmentDeduplicator,
    FragmentOrderer,
    FragmentScorer,
    PreambleGenerator,
    StrategyExecutor,
    StrategySelector,
)

CALLS: dict[str, Callable[[Any], Any]] = {
    "assemble": lambda given: ACMSPipeline().assemble("plan", given, 100),
    "coordinate": lambda given: StrategyCoordinator().coordinate({}, [], 100, given),
    "fuse": lambda given: FusionEngine().fuse(given, 100),
    "reserve": lambda given: FusionEngine().fuse([], 100, reserve=given),
    "deduplicate": lambda given: FragmentDeduplicator().deduplicate(given),
    "resolve": lambda given: DetailDepthResolver().resolve(given, 100, ContextRequest()),
    "score": lambda given: FragmentScorer().score(given),
    "order": lambda given: FragmentOrderer().order(given),
}


@pytest.mark.parametrize("given", [7, "text", ["text"], [None], [{"uko_node": "a"}]], ids=repr)
@pytest.mark.parametrize("call", CALLS)
def test_m6_what_is_no_fragment_is_refused_by_name(call: str, given: Any) -> None:
    """M6.given."""
    with pytest.raises(ValueError, match="must be ContextFragment objects, not"):
        CALLS[call](given)


@pytest.mark.parametrize("plan", [7, "plan", ["plan"]], ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        lambda plan: StrategyCoordinator().coordinate({}, [], 100, plan_context=plan),
        lambda plan: FusionEngine().fuse([], 100, plan_context=plan),
        lambda plan: FragmentScorer().score([], plan),
    ],
)
def test_m6_what_is_no_plan_context_is_refused_by_name(
    call: Callable[[Any], Any], plan: Any
) -> None:
    """M6.given."""
    with pytest.raises(ValueError, match="a plan context is a PlanContext or a mapping, not"):
        call(plan)


def test_m8_a_naive_time_on_a_copy_is_in_utc_whoever_brings_it(stub: Any) -> None:
    """M8: copies of fragments are not validated."""
    naive = ContextFragment(uko_node="old", content="text").model_copy(
        update={"created_at": datetime(2024, 1, 1)}
    )
    new = ContextFragment(uko_node="new", content="more text")
    strategy = stub("a", assemble=lambda *_: [naive, new], uses_text=True)
    pipeline = ACMSPipeline(backends={"text": True}, strategies=[strategy])
    for payload in (
        pipeline.assemble("text", strategy="a"),
        ACMSPipeline().assemble("plan", [naive, new], 500),
    ):
        times = {fragment.uko_node: fragment.created_at for fragment in payload.fragments}
        assert times == {"old": datetime(2024, 1, 1, tzinfo=UTC), "new": new.created_at}


@pytest.mark.parametrize("order", [["relevance"], {}], ids=repr)
def test_a_choice_of_another_type_is_an_unknown_one(order: Any) -> None:
    with pytest.raises(ValueError, match="unknown"):
        FragmentDeduplicator(strategy=order)
    with pytest.raises(ValueError, match="unknown"):
        FragmentOrderer(order)


def test_m6_what_was_read_before_is_made_of_fragments_too() -> None:
    """M6.given."""
    with pytest.raises(ValueError, match="previous must be ContextFragment objects, not 3"):
        FragmentOrderer("cache-stable", previous=[3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="previous must be ContextFragment objects, not 3"):
        FusionEngine().fuse([], 10, previous=[3])  # type: ignore[list-item]


def test_a_score_that_is_no_finite_number_is_refused() -> None:
    fragment = ContextFragment(uko_node="a", content="text")
    with pytest.raises(ValueError, match="a score must be a finite number, not nan"):
        BudgetPacker().pack([(fragment, float("nan"))], 10)


@pytest.mark.parametrize("counter", ["estimate", len], ids=repr)
def test_s4_whatever_counts_can_count_for_an_engine_and_a_packer(counter: Any) -> None:
    """S4: a text has a method `count`, which finds nothing and would cost nothing."""
    fragment = ContextFragment(uko_node="a", content="text " * 100, token_count=1)
    fused = FusionEngine().fuse([fragment], 20, counter=counter)
    assert not fused.fragments
    assert not BudgetPacker(counter=counter).pack([(fragment, 0.5)], 20)


@pytest.mark.parametrize("number", [1.5, True, "2", None, float("nan")], ids=repr)
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("max_workers", lambda n: StrategyExecutor(max_workers=n)),
        ("threshold", lambda n: CircuitBreaker(n)),
        ("max_candidates", lambda n: StrategySelector(max_candidates=n)),
        ("min_budget", lambda n: BudgetAllocator(min_budget=n)),
        ("max_length", lambda n: PreambleGenerator(max_length=n)),
    ],
)
def test_what_is_no_whole_number_is_refused_where_it_is_given(
    name: str, make: Callable[[Any], Any], number: Any
) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number >= .*, not"):
        make(number)
