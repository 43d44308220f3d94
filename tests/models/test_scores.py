"""Relevance and evidence are two views of one number (rulings M7, F11)."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models.scores import OFFSET, SCALE, calibrate, rescale, to_evidence, to_relevance

ANY = st.floats(allow_nan=True, allow_infinity=True)
SCORES = st.lists(ANY, max_size=12)


def test_an_average_document_is_hardly_relevant_and_the_offset_is_half() -> None:
    assert to_relevance(OFFSET) == 0.5
    assert to_relevance(0.0) == pytest.approx(1 / (1 + math.exp(OFFSET / SCALE)))
    assert to_evidence(0.5) == OFFSET


@given(ANY)
def test_m7_relevance_lies_in_0_and_1_and_nan_is_0(evidence: float) -> None:
    relevance = to_relevance(evidence)
    assert 0.0 <= relevance <= 1.0
    if math.isnan(evidence):
        assert relevance == 0.0


@given(st.floats(-20, 60))
def test_evidence_survives_the_way_there_and_back(evidence: float) -> None:
    assert to_evidence(to_relevance(evidence)) == pytest.approx(evidence, rel=1e-3, abs=1e-6)


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_relevance_is_never_less_evidence(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert to_evidence(low) <= to_evidence(high)


def test_the_ends_have_the_least_and_the_most_evidence() -> None:
    assert to_evidence(0.0) <= to_evidence(5e-324) < to_evidence(1e-9)
    assert to_evidence(1.0) >= to_evidence(math.nextafter(1.0, 0.0)) > to_evidence(1 - 1e-9)
    assert math.isfinite(to_evidence(0.0))
    assert math.isfinite(to_evidence(1.0))
    assert to_relevance(math.inf) == to_relevance(1e300) == 1.0
    assert to_relevance(-math.inf) == to_relevance(-1e300) < 1e-20


def test_m7_raw_scores_are_measured_against_their_index() -> None:
    """M7.index."""
    assert calibrate([2.0, 8.0], mean=2.0, deviation=2.0) == [to_relevance(0.0), to_relevance(3.0)]
    # an index whose scores are all the same says nothing about its spread
    for deviation in (0.0, math.nan, math.inf, -1.0):
        assert calibrate([3.0], mean=2.0, deviation=deviation) == [to_relevance(1.0)]


def test_m7_scores_between_0_and_1_stay_as_they_are() -> None:
    assert rescale([0.0, 0.25, 1.0]) == [0.0, 0.25, 1.0]
    assert rescale([]) == []
    assert rescale([1, 0]) == [1.0, 0.0]


def test_m7_nan_becomes_0() -> None:
    """M7.nan."""
    assert rescale([math.nan]) == [0.0]
    assert rescale([0.5, math.nan]) == [0.5, 0.0]
    assert rescale([5.0, math.nan])[1] == 0.0


def test_m7_scores_are_not_clamped_one_by_one() -> None:
    assert rescale([3.0, 2.0, -1.0]) == [0.875, pytest.approx(5 / 6), 0.25]


@pytest.mark.parametrize(
    "raw",
    [
        [1e17, 2e17, 3e17],
        [-1e9, -1e9 - 1, -1e9 - 2],
        [1e300, 1.0, -1e300],
        [math.inf, 1e308, 0.0, -math.inf],
        [1.0, 1.0 + 2**-52],
    ],
)
def test_m7_scores_too_large_or_too_close_keep_their_order(raw: list[float]) -> None:
    mapped = rescale(raw)
    order = sorted(range(len(raw)), key=raw.__getitem__)
    assert all(mapped[a] < mapped[b] for a, b in itertools.pairwise(order))


@given(SCORES)
def test_m7_order_and_equality_are_kept(raw: list[float]) -> None:
    mapped = rescale(raw)
    assert all(0.0 <= score <= 1.0 for score in mapped)
    pairs = [(r, m) for r, m in zip(raw, mapped, strict=True) if not math.isnan(r)]
    for one, low in pairs:
        for other, high in pairs:
            assert (one < other) == (low < high)
            assert (one == other) == (low == high)
