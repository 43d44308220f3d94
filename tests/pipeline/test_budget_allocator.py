"""Tokens are shared out in whole numbers, never more than there are (rulings S5 and S6)."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import ContextBudget, ContextRequest
from acms_adapters.pipeline.budget_allocator import BudgetAllocator, tier_quotas


class Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def allocate(
    confidences: dict[str, float], total: Any, *, min_budget: int = 0, **options: Any
) -> dict[str, int]:
    call = {name: options.pop(name) for name in ("request",) if name in options}
    allocator = BudgetAllocator(min_budget=min_budget, **options)
    candidates = [(Named(name), value) for name, value in confidences.items()]
    shares = allocator.allocate(candidates, total, **call)
    return {strategy.name: share for strategy, share in shares.items()}


@pytest.mark.parametrize(
    ("confidences", "total", "expected"),
    [
        ({"a": 0.8, "b": 0.2}, 1000, {"a": 800, "b": 200}),
        ({"a": 0.8, "b": 0.2}, 4096, {"a": 3277, "b": 819}),
        ({"semantic": 0.95, "navigator": 0.85}, 3584, {"semantic": 1892, "navigator": 1692}),
        (
            {"semantic": 0.95, "navigator": 0.85, "keyword": 0.3},
            3584,
            {"semantic": 1621, "navigator": 1451, "keyword": 512},
        ),
    ],
)
def test_s5_the_documented_examples_come_out_to_the_token(
    confidences: dict[str, float], total: int, expected: dict[str, int]
) -> None:
    """S5.shares, D1-4, D4-25, D4-60, D5-6, D5-10."""
    assert allocate(confidences, total, min_budget=100) == expected


def test_the_documented_call_gives_tokens_by_strategy() -> None:
    """D5-5."""
    semantic, navigator = Named("semantic-embedding"), Named("breadth-depth-navigator")
    shares = BudgetAllocator().allocate(
        candidates=[(semantic, 0.95), (navigator, 0.85)],
        total_budget=3584,
        request=ContextRequest(query="io"),
    )
    assert shares == {semantic: 1892, navigator: 1692}


def test_s5_equal_remainders_go_by_name_whatever_the_order_of_the_candidates() -> None:
    """S5.shares."""
    assert allocate({"c": 0.5, "a": 0.5, "b": 0.5}, 100) == {"a": 34, "b": 33, "c": 33}
    assert list(allocate({"c": 0.5, "a": 0.5, "b": 0.9}, 100)) == ["b", "a", "c"]


def test_s5_huge_budgets_lose_no_token() -> None:
    """S5.shares, D1-5."""
    total = 10**30 + 7
    shares = allocate({"a": 0.1, "b": 0.2, "c": 0.7}, total)
    assert sum(shares.values()) == total
    assert shares["a"] == math.floor(total / 10) or abs(shares["a"] * 10 - total) <= 10


def test_s6_too_small_shares_go_one_at_a_time_with_new_shares_after_each() -> None:
    """S6.smallest, D1-6."""
    # both b and c are below 100 at first; without c, b has enough
    assert allocate({"a": 0.8, "b": 0.1, "c": 0.1}, 900, min_budget=100) == {"a": 800, "b": 100}


def test_s6_the_last_one_keeps_its_share_however_small() -> None:
    """S6.smallest."""
    assert allocate({"a": 0.5, "b": 0.5}, 40, min_budget=100) == {"a": 40}


def test_s6_a_share_that_just_reaches_the_minimum_stays() -> None:
    assert allocate({"a": 0.5, "b": 0.5}, 200, min_budget=100) == {"a": 100, "b": 100}


def test_a_capped_share_hands_its_excess_to_the_others_in_proportion() -> None:
    """D1-7, D1-8."""
    shares = allocate({"a": 0.6, "b": 0.2, "c": 0.2}, 1000, max_cap=500)
    assert shares == {"a": 500, "b": 250, "c": 250}


def test_what_is_handed_on_is_capped_too() -> None:
    """D1-9."""
    shares = allocate({"a": 0.7, "b": 0.2, "c": 0.1}, 1000, max_cap=400)
    assert shares == {"a": 400, "b": 400, "c": 200}


def test_when_all_are_capped_the_rest_stays_unallocated() -> None:
    assert allocate({"a": 0.9, "b": 0.1}, 1000, max_cap=300) == {"a": 300, "b": 300}


@pytest.mark.parametrize(("cap", "minimum"), [(99, 100), (0, 0), (-1, 0)])
def test_s6_a_cap_below_the_minimum_is_refused(cap: int, minimum: int) -> None:
    """S6.cap."""
    with pytest.raises(ValueError, match=f"max_cap must be at least .* not {cap}"):
        BudgetAllocator(min_budget=minimum, max_cap=cap)


def test_equal_allocation_ignores_the_confidences() -> None:
    """D4-25, D5-7."""
    shares = allocate({"a": 0.9, "b": 0.2, "c": 0.1}, 100, strategy="equal")
    assert shares == {"a": 34, "b": 33, "c": 33}


def test_equal_allocation_drops_the_least_confident_when_shares_are_too_small() -> None:
    shares = allocate({"a": 0.9, "b": 0.2, "c": 0.1}, 250, strategy="equal", min_budget=100)
    assert shares == {"a": 125, "b": 125}


def test_s6_priority_allocation_gives_half_of_the_rest_to_each() -> None:
    """S6.priority, D4-25, D4-61, D5-8."""
    shares = allocate({"a": 0.9, "b": 0.5, "c": 0.3}, 3584, strategy="priority")
    assert shares == {"a": 1792, "b": 896, "c": 448}


def test_s6_priority_allocation_leaves_out_shares_below_the_minimum() -> None:
    shares = allocate({"a": 0.9, "b": 0.5, "c": 0.3}, 500, strategy="priority", min_budget=100)
    assert shares == {"a": 250, "b": 125}
    assert allocate({"a": 0.9}, 50, strategy="priority", min_budget=100) == {"a": 25}


def test_priority_allocation_respects_the_cap() -> None:
    shares = allocate({"a": 0.9, "b": 0.5}, 1000, strategy="priority", max_cap=300)
    assert shares == {"a": 300, "b": 300}


def test_one_call_may_distribute_another_way() -> None:
    """D5-11."""
    allocator = BudgetAllocator(min_budget=0)
    a, b = Named("a"), Named("b")
    shares = allocator.allocate([(a, 0.9), (b, 0.1)], 100, strategy="equal")
    assert shares == {a: 50, b: 50}


def test_tier_allocation_shares_among_strategies_as_proportional_does() -> None:
    assert allocate({"a": 0.8, "b": 0.2}, 1000, strategy="tier") == {"a": 800, "b": 200}


def test_s3_a_context_budget_counts_by_its_available_tokens() -> None:
    budget = ContextBudget(max_tokens=4096, reserved_tokens=512)
    assert allocate({"a": 0.5}, budget) == {"a": 3584}


def test_a_budget_in_the_request_is_an_upper_bound() -> None:
    """D5-12."""
    assert allocate({"a": 1.0}, 3584, request=ContextRequest(budget=1000)) == {"a": 1000}
    assert allocate({"a": 1.0}, 500, request={"budget": 1000}) == {"a": 500}


def test_a_budget_of_zero_is_honoured_and_not_taken_for_unset() -> None:
    assert allocate({"a": 0.8, "b": 0.2}, 0) == {"a": 0, "b": 0}
    assert allocate({"a": 0.8, "b": 0.2}, 0, min_budget=100) == {"a": 0}


def test_no_candidates_get_nothing() -> None:
    assert allocate({}, 1000) == {}


def test_confidences_that_are_all_zero_count_as_equal() -> None:
    assert allocate({"a": 0.0, "b": 0.0}, 10) == {"a": 5, "b": 5}


@pytest.mark.parametrize("total", [-1, 1.5, True, None, "100"])
def test_a_total_that_is_no_number_of_tokens_is_refused(total: Any) -> None:
    with pytest.raises(ValueError, match="whole number >= 0, not"):
        allocate({"a": 1.0}, total)


@pytest.mark.parametrize("confidence", [-0.1, math.nan, math.inf])
def test_a_confidence_that_is_no_finite_number_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="a confidence must be a finite number >= 0"):
        allocate({"a": confidence}, 100)


def test_an_unknown_way_to_distribute_names_the_near_one() -> None:
    with pytest.raises(ValueError, match="did you mean 'proportional'"):
        BudgetAllocator(strategy="proportionate")  # type: ignore[arg-type]


def test_a_negative_minimum_is_refused() -> None:
    with pytest.raises(ValueError, match="min_budget must be a whole number >= 0, not -1"):
        BudgetAllocator(min_budget=-1)


CONFIDENCES = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=3), st.floats(0.001, 1.0), min_size=1, max_size=8
)


@given(
    confidences=CONFIDENCES,
    total=st.integers(0, 10**20),
    minimum=st.integers(0, 500),
    above=st.none() | st.integers(1, 2000),
    way=st.sampled_from(["proportional", "equal", "priority", "tier"]),
)
def test_s6_shares_never_exceed_the_total_the_cap_or_fall_below_the_minimum(
    confidences: dict[str, float], total: int, minimum: int, above: int | None, way: Any
) -> None:
    """D1-5."""
    cap = None if above is None else minimum + above
    shares = allocate(confidences, total, min_budget=minimum, max_cap=cap, strategy=way)
    assert 1 <= len(shares) <= len(confidences)
    assert all(isinstance(share, int) and share >= 0 for share in shares.values())
    assert sum(shares.values()) <= total
    if cap is not None:
        assert max(shares.values()) <= cap
    if len(shares) > 1:
        assert min(shares.values()) >= minimum
    if way != "priority":
        assert sum(shares.values()) == min(total, total if cap is None else cap * len(shares))


@given(confidences=CONFIDENCES, total=st.integers(0, 10**9))
def test_s5_the_order_of_candidates_does_not_matter(
    confidences: dict[str, float], total: int
) -> None:
    backwards = dict(reversed(confidences.items()))
    assert allocate(confidences, total) == allocate(backwards, total)


@given(confidences=CONFIDENCES, total=st.integers(0, 10**9))
def test_s5_more_confidence_never_means_a_smaller_share(
    confidences: dict[str, float], total: int
) -> None:
    shares = allocate(confidences, total)
    values = list(shares.values())
    assert values == sorted(values, reverse=True)


def test_s6_the_documented_tier_quotas_come_out_to_the_token() -> None:
    """D4-62."""
    assert tier_quotas(3584) == {"hot": 1000, "warm": 2000, "cold": 584}
    assert tier_quotas(100) == {"hot": 28, "warm": 56, "cold": 16}


@given(total=st.integers(0, 10**20))
def test_s6_tier_quotas_add_up(total: int) -> None:
    assert sum(tier_quotas(total).values()) == total


def test_tier_quotas_can_have_other_shares() -> None:
    assert tier_quotas(100, {"hot": 3, "cold": 1}) == {"hot": 75, "warm": 0, "cold": 25}


@pytest.mark.parametrize(
    ("total", "shares", "told"),
    [
        (-1, {"hot": 1}, "whole number >= 0"),
        (10, {"hot": -1}, "share of the hot tier"),
        (10, {"tepid": 1}, "unknown tier 'tepid'"),
        (10, {"hot": 0}, "must not all be 0"),
    ],
)
def test_tier_quotas_refuse_what_cannot_be(total: int, shares: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        tier_quotas(total, shares)


def test_s6_what_a_cap_hands_on_counts_before_anybody_is_dropped() -> None:
    """S6: without what the first must give away, the others would get 50 each, and go."""
    shares = allocate({"a": 0.9, "b": 0.05, "c": 0.05}, 1000, min_budget=100, max_cap=300)
    assert shares == {"a": 300, "b": 300, "c": 300}
