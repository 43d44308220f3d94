"""Questions about a period are answered by texts that speak of it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters import ContextRequest, ContextStore
from acms_adapters.models import ContextBudget, PlanContext
from acms_strategies import TemporalArchaeologyStrategy
from acms_strategies.periods import Period, overlap, period_in

PAGES = {
    "first": "The house belonged to Ann Hart from 1811 to 1827.",
    "second": "The house belonged to Newton Baker from 1916 to 1920.",
    "third": "The house belonged to Jacqueline Kennedy in 1964.",
    "never": "The house is a house of brick.",
}


@pytest.mark.parametrize(
    ("question", "period"),
    [
        ("Who owned it from 1811 to 1827?", Period(1811, 1827)),
        ("Who owned it in 1916?", Period(1916, 1916)),
        ("Who owned it in the 1960s?", Period(1960, 1969)),
        ("Who owned it after 1964?", Period(1964, 1979)),
        ("Who owned it before 1820?", Period(1805, 1820)),
        ("Who owned it?", None),
        ("Why does error 20499 or v1.2020 come?", None),
        ("", None),
    ],
)
def test_a_period_is_read_from_the_years_of_a_question(
    question: str, period: Period | None
) -> None:
    assert period_in(question) == period


@given(st.integers(1000, 2049), st.integers(0, 60), st.integers(1000, 2049))
def test_a_text_speaks_of_a_period_by_its_nearest_year(first: int, length: int, year: int) -> None:
    period = Period(first, first + length)
    share = overlap(f"It was in {year}.", period)
    assert 0.0 <= share <= 1.0
    assert (share == 1.0) == (period.first <= year <= period.last)
    assert overlap(f"It was in {year}, not in {first}.", period) == 1.0
    assert overlap("It never was.", period) == 0.0


@pytest.fixture
def store() -> Iterator[ContextStore]:
    with ContextStore.in_memory(embedder=None) as made:
        made.add_documents(
            [
                SimpleNamespace(id=name, page_content=text, metadata={})
                for name, text in PAGES.items()
            ]
        )
        yield made


@pytest.mark.parametrize(
    ("when", "first"), [("from 1812 to 1820", "first"), ("in 1918", "second"), ("in 1965", "third")]
)
def test_of_texts_alike_the_one_of_the_period_comes_first(
    store: ContextStore, when: str, first: str
) -> None:
    strategy, backends = TemporalArchaeologyStrategy(), store.backends()
    request = ContextRequest(query=f"To whom did the house belong {when}?")
    assert strategy.can_handle(request, backends) > 0.0
    ranking = strategy.assemble(request, backends, ContextBudget(max_tokens=500), PlanContext())
    assert ranking[0].uko_node == first
    assert "never" not in [fragment.uko_node for fragment in ranking]
    assert ranking.stats["of_period"] >= 1


def test_a_question_without_a_year_is_none_for_it(store: ContextStore) -> None:
    request = ContextRequest(query="To whom did the house belong?")
    assert TemporalArchaeologyStrategy().can_handle(request, store.backends()) == 0.0
