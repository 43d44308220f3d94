"""Tokens for context (rulings M6, M10 and S3)."""

from typing import Any

import pytest

from acms_adapters.errors import BudgetError
from acms_adapters.models import ContextBudget


def test_available_is_what_is_not_reserved() -> None:
    """D4-14, D4-67."""
    assert ContextBudget(max_tokens=4096, reserved_tokens=512).available_tokens == 3584


def test_s3_a_budget_of_max_tokens_reserves_nothing() -> None:
    """S3.int."""
    budget = ContextBudget(max_tokens=4096)
    assert (budget.reserved_tokens, budget.available_tokens) == (0, 4096)


def test_an_explicit_zero_reserve_is_honoured() -> None:
    assert ContextBudget(max_tokens=10, reserved_tokens=0).available_tokens == 10


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 0},
        {"max_tokens": -1},
        {"max_tokens": 1.5},
        {"max_tokens": "many"},
        {"max_tokens": None},
        {},
        {"max_tokens": 10, "reserved_tokens": -1},
        {"max_tokens": 10, "reserved_tokens": 10},
        {"max_tokens": 10, "reserved_tokens": 11},
        {"max_tokens": 10, "other": 1},
    ],
)
def test_m6_a_budget_that_cannot_be_is_refused(fields: dict[str, Any]) -> None:
    """D4-15."""
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic words each of them its own way
        ContextBudget(**fields)


def test_a_reserve_that_leaves_nothing_is_named_with_its_bound() -> None:
    """D4-15."""
    with pytest.raises(
        ValueError, match=r"reserved_tokens must be below max_tokens \(10\), not 10"
    ):
        ContextBudget(max_tokens=10, reserved_tokens=10)


def test_m10_available_tokens_are_serialised_and_load_again() -> None:
    """M10.available."""
    budget = ContextBudget(max_tokens=4096, reserved_tokens=512)
    assert budget.model_dump() == {
        "max_tokens": 4096,
        "reserved_tokens": 512,
        "available_tokens": 3584,
    }
    assert ContextBudget(**budget.model_dump()) == budget
    assert ContextBudget.model_validate_json(budget.model_dump_json()) == budget


def test_m10_available_tokens_that_contradict_are_refused() -> None:
    """M10.contradiction."""
    with pytest.raises(ValueError, match="available_tokens is 3584 by the other fields, not 4096"):
        ContextBudget(max_tokens=4096, reserved_tokens=512, available_tokens=4096)  # type: ignore[call-arg]


def test_a_budget_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        ContextBudget(max_tokens=1).max_tokens = 2  # type: ignore[misc]


def test_s3_a_whole_number_is_a_budget() -> None:
    """S3.int."""
    assert ContextBudget.of(500) == ContextBudget(max_tokens=500)
    budget = ContextBudget(max_tokens=5, reserved_tokens=1)
    assert ContextBudget.of(budget) is budget


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "500", None, float("nan")])
def test_what_is_no_budget_is_refused_by_name(value: Any) -> None:
    with pytest.raises(BudgetError, match="budget") as caught:
        ContextBudget.of(value)
    assert repr(value) in str(caught.value)
