"""What backends answer is checked and cut to what was asked for."""

import itertools
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from acms_adapters.errors import StrategyError
from acms_adapters.models import Edge, SearchHit
from acms_strategies.answers import edges, hits

HIT = SearchHit(uko_node="a", content="text", score=0.5)
EDGE = Edge(source="a", target="b", relation="calls")


def test_right_answers_come_back_as_they_are_whatever_kind_of_list_they_are() -> None:
    assert hits((HIT, HIT), most=9, source="text") == [HIT, HIT]
    assert hits(iter([HIT]), most=9, source="text") == [HIT]
    assert edges([EDGE], most=9) == [EDGE]
    assert hits([], most=9, source="text") == []


def test_an_endless_answer_is_read_as_far_as_was_asked_for() -> None:
    assert len(hits(itertools.repeat(HIT), most=3, source="text")) == 3
    assert len(edges(itertools.repeat(EDGE), most=3)) == 3


def test_scores_beyond_all_bounds_are_for_others_to_repair_m7() -> None:
    odd = [replace(HIT, score=score) for score in (float("nan"), float("inf"), -5, 1e9)]
    assert hits(odd, most=9, source="text") == odd


@pytest.mark.parametrize("answer", [None, 7, "text", b"text", object()])
def test_an_answer_that_is_no_list_is_told_with_its_source(answer: Any) -> None:
    with pytest.raises(StrategyError, match="the vector backend answered .* no list"):
        hits(answer, most=9, source="vector")


@pytest.mark.parametrize(
    "item",
    [
        None,
        "text",
        {"uko_node": "a"},
        EDGE,
        replace(HIT, uko_node=None),
        replace(HIT, uko_node=""),
        replace(HIT, content=7),
        replace(HIT, score=None),
        replace(HIT, score="0.5"),
        replace(HIT, detail_depth=10),
        replace(HIT, token_count=-1),
        replace(HIT, metadata=None),
        replace(HIT, provenance="a"),
        replace(HIT, tier="tepid"),
        replace(HIT, created_at="today"),
    ],
)
def test_an_item_that_is_no_hit_is_told_with_its_source(item: Any) -> None:
    assert hits([replace(HIT, created_at=datetime(2025, 1, 1))], most=1, source="text")
    with pytest.raises(StrategyError, match="the text backend answered .* no valid SearchHit"):
        hits([HIT, item], most=9, source="text")


@pytest.mark.parametrize("item", [None, HIT, ("a", "b", "calls"), replace(EDGE, target=None)])
def test_an_item_that_is_no_edge_is_told(item: Any) -> None:
    with pytest.raises(StrategyError, match="the graph backend answered .* no valid Edge"):
        edges([EDGE, item], most=9)


def test_something_that_cannot_even_be_shown_is_told() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise LookupError

    with pytest.raises(StrategyError, match="Shy something without a repr"):
        hits([Shy()], most=9, source="text")
