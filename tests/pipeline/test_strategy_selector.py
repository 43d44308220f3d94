"""Strategies that can serve a request are ranked (ruling S5)."""

import asyncio
import logging
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import ContextRequest
from acms_adapters.pipeline.strategy_selector import StrategySelector
from acms_adapters.protocols import BackendSet


def raises(error: BaseException) -> Any:
    def can_handle(request: Any, backends: Any) -> float:
        raise error

    return can_handle


def select(
    strategies: list[Any], request: Any = None, backends: Any = None, **options: Any
) -> list[tuple[str, float]]:
    chosen = StrategySelector(**options).select(strategies, request, backends)
    return [(strategy.name, confidence) for strategy, confidence in chosen]


def test_s5_the_most_confident_comes_first_and_equal_ones_by_name(stub: Any) -> None:
    """D4-24, D5-1."""
    strategies = [stub("c", 0.5), stub("a", 0.5), stub("b", 0.9)]
    assert select(strategies) == [("b", 0.9), ("a", 0.5), ("c", 0.5)]


def test_the_documented_call_gives_strategies_with_their_confidence(stub: Any) -> None:
    """D5-1."""
    low, high = stub("low", 0.3, uses_text=True), stub("high", 0.95, uses_vector=True)
    chosen = StrategySelector().select(
        strategies=[low, high],
        request=ContextRequest(query="io"),
        backends={"text": True, "vector": True},
    )
    assert chosen == [(high, 0.95), (low, 0.3)]


def test_s5_zero_is_never_selected_even_with_a_threshold_of_zero(stub: Any) -> None:
    """S5.zero."""
    assert select([stub("a", 0.0), stub("b", 0.0001)]) == [("b", 0.0001)]


def test_s5_a_confidence_that_reaches_the_threshold_is_selected(stub: Any) -> None:
    """D4-24, D5-2, D5-61."""
    strategies = [stub("a", 0.5), stub("b", 0.49)]
    assert select(strategies, threshold=0.5) == [("a", 0.5)]


def test_s5_a_preferred_strategy_is_boosted_up_to_one(stub: Any) -> None:
    """S5.boost, D1-28."""
    strategies = [stub("a", 0.4), stub("b", 0.5), stub("c", 0.9)]
    request = {"preferred_strategies": ["a", "c"]}
    assert select(strategies, request) == [("c", 1.0), ("a", 0.4 * 1.5), ("b", 0.5)]


def test_s5_the_boost_comes_before_threshold_and_cut(stub: Any) -> None:
    """S5.boost, D5-4, D5-62."""
    strategies = [stub("a", 0.4), stub("b", 0.5)]
    request = ContextRequest(strategy_hints=["a"])
    assert select(strategies, request, threshold=0.6) == [("a", pytest.approx(0.6))]
    assert select(strategies, request, max_candidates=1) == [("a", pytest.approx(0.6))]


def test_s5_a_boost_does_not_lift_zero(stub: Any) -> None:
    """S5.zero."""
    assert select([stub("a", 0.0)], {"strategy_hints": ["a"]}) == []


def test_s5_an_unknown_hint_is_logged(stub: Any, caplog: pytest.LogCaptureFixture) -> None:
    """S5.unknown."""
    with caplog.at_level(logging.WARNING, logger="acms_adapters"):
        assert select([stub("a", 0.5)], {"strategy_hints": ["relevance"]}) == [("a", 0.5)]
    assert "'relevance'" in caplog.text
    assert "known: a" in caplog.text


def test_s5_a_missing_backend_means_zero(stub: Any) -> None:
    """D6-45."""
    strategies = [stub("a", 0.9, uses_vector=True), stub("b", 0.5, uses_text=True)]
    assert select(strategies, backends={"text": True}) == [("b", 0.5)]
    assert select(strategies, backends=BackendSet()) == []


def test_s5_a_hint_does_not_make_up_for_a_missing_backend(
    stub: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """D6-45."""
    strategies = [stub("a", 0.9, uses_vector=True, uses_graph=True)]
    with caplog.at_level(logging.WARNING, logger="acms_adapters"):
        assert select(strategies, {"strategy_hints": ["a"]}, {"graph": True}) == []
    assert "a: unavailable (no backend for vector)" in caplog.text


def test_s12_flags_mean_that_a_backend_is_available(stub: Any) -> None:
    """S12.flags."""
    assert select([stub("a", 0.9, uses_vector=True)], backends={"vector": True}) == [("a", 0.9)]


def test_when_nothing_is_said_of_backends_a_strategys_own_word_counts(stub: Any) -> None:
    assert select([stub("a", 0.9, uses_vector=True)], backends=None) == [("a", 0.9)]


@pytest.mark.parametrize(
    ("answer", "confidence"),
    [(1.7, 1.0), (1, 1.0), (True, 1.0), (7, 1.0)],
)
def test_s5_a_confidence_above_the_range_is_cut_to_it(
    stub: Any, answer: Any, confidence: float
) -> None:
    assert select([stub("a", answer)]) == [("a", confidence)]


@pytest.mark.parametrize(
    "answer",
    [
        math.nan,
        math.inf,
        -0.5,
        False,
        None,
        "0.9",
        "high",
        b"1",
        [],
        10**400,
        raises(RuntimeError("broken")),
        raises(RuntimeError("half a character \ud83d")),
        raises(BaseException("a panic of native code")),
    ],
)
def test_s5_a_strategy_with_a_bad_answer_does_not_disturb_the_others(
    stub: Any, answer: Any
) -> None:
    assert select([stub("bad", answer), stub("good", 0.3)]) == [("good", 0.3)]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_an_interrupt_while_polling_is_not_swallowed(stub: Any, error: BaseException) -> None:
    with pytest.raises(type(error)):
        select([stub("bad", raises(error))])


def test_s1_strategies_of_the_short_form_are_bridged(stub: Any) -> None:
    class Short:
        name = "short"
        capabilities = stub("x").capabilities

        def can_handle(self, request: Any) -> float:
            return 0.8 if "keywords" in request else 0.0

        def assemble(self, fragments: Any, budget: Any) -> Any:
            return fragments

    assert select([Short()], {"keywords": ["io"]}) == [("short", 0.8)]


def test_no_strategies_give_no_candidates() -> None:
    assert select([]) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"threshold": 1.1}, r"threshold must lie in \[0, 1\], not 1.1"),
        ({"threshold": math.nan}, "threshold must lie in"),
        ({"max_candidates": 0}, "max_candidates must be a whole number >= 1, not 0"),
        ({"preference_boost": 0.5}, "preference_boost must be a finite number >= 1, not 0.5"),
        ({"preference_boost": math.inf}, "preference_boost must be"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        StrategySelector(**options)


@given(
    confidences=st.dictionaries(st.text("abc", min_size=1), st.floats(), max_size=6),
    hints=st.lists(st.text("abc", min_size=1), max_size=3),
    threshold=st.floats(0, 1),
    most=st.integers(1, 4),
)
def test_s5_whatever_strategies_answer_the_selection_is_ordered_and_in_range(
    confidences: dict[str, float], hints: list[str], threshold: float, most: int
) -> None:
    """D3-2."""
    from acms_adapters.models import StrategyCapabilities

    class Told:
        capabilities = StrategyCapabilities()

        def __init__(self, name: str, confidence: float) -> None:
            self.name, self.confidence = name, confidence

        def can_handle(self, request: Any, backends: Any) -> float:
            return self.confidence

        def assemble(self, request: Any, backends: Any, budget: Any, plan_context: Any) -> Any:
            return []

    strategies = [Told(name, value) for name, value in confidences.items()]
    chosen = select(strategies, {"strategy_hints": hints}, threshold=threshold, max_candidates=most)
    assert len(chosen) <= most
    assert chosen == sorted(chosen, key=lambda pair: (-pair[1], pair[0]))
    assert all(0.0 < value <= 1.0 and value >= threshold for _, value in chosen)
