"""From hits to fragments: order, texts, and when there is enough to choose from (ruling S3)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters import ACMSPipeline
from acms_adapters.models import ContextBudget, FragmentProvenance, SearchHit
from acms_adapters.protocols import BackendSet
from acms_strategies.hits import CHOICE, to_ranking, tokens_of


def rank(sizes: list[int], *, budget: int, limit: int = 1_000, **options: Any) -> Any:
    hits = [
        (SearchHit(uko_node=f"n://{n:04}", content="text", token_count=size), 0.5)
        for n, size in enumerate(sizes)
    ]
    return to_ranking(
        hits,
        strategy="some",
        backends=BackendSet(),
        budget=ContextBudget(max_tokens=budget),
        limit=limit,
        **options,
    )


def test_it_ends_when_there_are_several_budgets_to_choose_from() -> None:
    assert len(rank([10] * 500, budget=100)) == 100 * CHOICE // 10
    assert len(rank([10] * 5, budget=100)) == 5
    assert len(rank([10] * 500, budget=100, limit=7)) == 7
    assert rank([10] * 500, budget=100).total == 500
    assert rank([10] * 500, budget=100, total=900).total == 900


def test_what_is_larger_than_the_budget_does_not_stand_in_the_way() -> None:
    found = rank([10_000] * 50 + [10] * 3, budget=100)
    assert len(found) == 53


@given(st.lists(st.integers(1, 400), max_size=60), st.integers(1, 300))
def test_what_fits_is_never_short_of_several_budgets(sizes: list[int], budget: int) -> None:
    found = rank(sizes, budget=budget)
    fitting = sum(f.token_count for f in found if f.token_count <= budget)
    assert len(found) == len(sizes) or fitting >= CHOICE * budget


def test_equal_relevance_goes_by_node_and_provenance_is_kept() -> None:
    origin = FragmentProvenance(resource_uri="r://1", location="lines 1-2", resource_type="test")
    hits = [(SearchHit(uko_node=name, content="x", provenance=origin), 0.5) for name in ("b", "a")]
    found = to_ranking(
        hits,
        strategy="some",
        backends=BackendSet(),
        budget=ContextBudget(max_tokens=9),
        limit=9,
        stats={"seen": 2},
    )
    assert [fragment.uko_node for fragment in found] == ["a", "b"]
    assert found[0].provenance == origin.model_copy(update={"strategy": "some", "score": 0.5})
    assert found.stats == {"seen": 2}
    assert origin.strategy is None


@pytest.mark.parametrize("content", [None, ""])
def test_a_hit_without_a_text_is_told_of_and_takes_nobodys_place_f7(content: str | None) -> None:
    hits = [
        (SearchHit(uko_node="n://1", content=content), 0.9),
        (SearchHit(uko_node="n://2", content="text"), 0.5),
    ]
    budget = ContextBudget(max_tokens=9)
    found = to_ranking(hits, strategy="some", backends=BackendSet(), budget=budget, limit=1)
    assert [(f.uko_node, f.content) for f in found] == [("n://1", ""), ("n://2", "text")]
    assert tokens_of(hits[0][0], BackendSet()) == 0


class Textless:
    """Finds what nobody has a text for."""

    def search(self, query: str, **_: Any) -> list[SearchHit]:
        return [SearchHit(uko_node="n://1", score=0.5)]


def test_what_was_found_without_a_text_does_not_look_as_if_nothing_was_found_f7_s9() -> None:
    payload = ACMSPipeline(backends={"text": Textless()}).assemble("anything", budget=100)
    assert payload.fragments == ()
    assert [(e.uko_node, e.reason) for e in payload.ledger.entries] == [("n://1", "empty")]
