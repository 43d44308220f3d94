"""Words: where they come from, exact matches, filters."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import (
    ContextBudget,
    ContextRequest,
    PlanContext,
    Rendering,
    SearchHit,
)
from acms_adapters.models.scores import SCALE, to_evidence
from acms_adapters.protocols import BackendSet
from acms_strategies import SimpleKeywordStrategy
from acms_strategies.words import matches

BUDGET = ContextBudget(max_tokens=1000)


def run(world: Any, options: Any = None, **request: Any) -> Any:
    strategy = SimpleKeywordStrategy(options)
    asked = ContextRequest(**request)
    return strategy.assemble(asked, world.backends("text"), BUDGET, PlanContext())


@pytest.fixture
def shelf(world: Any) -> Any:
    world.add("a", "the pool keeps connections alive")
    world.add("b", "sockets of connections")
    world.add("c", "pool pool pool", resource_type="document", metadata={"lang": "en"})
    for number in range(6):
        world.add(f"other{number}", "nothing of interest")
    return world


def test_it_searches_the_query_and_the_keywords_it_lacks(shelf: Any, noting: Any) -> None:
    """D4-44, D6-1."""
    text = noting(shelf.backends("text").text)
    request = ContextRequest(query="Which pool is it?", keywords=["pool", "alive"])
    SimpleKeywordStrategy().assemble(request, BackendSet(text=text), BUDGET, PlanContext())
    ((called, arguments, options),) = text.calls
    assert (called, arguments) == ("search", ("Which pool is it? alive",))
    assert options["max_results"] == 50


def test_m2_keywords_left_out_are_the_words_of_the_query_that_carry_meaning(shelf: Any) -> None:
    """M2.keywords, D6-1."""
    found = run(shelf, query="Why does the pool keep connections of the user.name?")
    assert found.stats["keywords"] == ["pool", "keep", "connections", "user.name"]
    assert run(shelf, query="who are they").stats["keywords"] == ["who", "are", "they"]


def test_it_ranks_by_how_often_the_words_stand_in_a_text(shelf: Any) -> None:
    """D4-44, D6-2."""
    assert [f.content for f in run(shelf, query="pool")] == [
        "pool pool pool",
        "the pool keeps connections alive",
    ]


def test_an_exact_keyword_raises_the_odds_by_the_factor(shelf: Any) -> None:
    """D6-5."""
    (plain,) = run(shelf, {"keyword_boost_factor": 1.0}, query="sockets")
    (raised,) = run(shelf, {"keyword_boost_factor": 3.0}, query="sockets")
    gained = to_evidence(raised.relevance_score) - to_evidence(plain.relevance_score)
    assert gained == pytest.approx(SCALE * math.log(3.0))


def test_of_two_equal_hits_the_one_with_more_exact_keywords_comes_first(world: Any) -> None:
    """D6-5."""
    world.add("a", "pools closing")
    world.add("b", "pool.close")
    found = run(world, keywords=["pool", "pool.close"])
    assert [f.content for f in found] == ["pool.close", "pools closing"]
    assert found[0].relevance_score > found[1].relevance_score
    assert found.stats["exact_matches"] == 1


@pytest.mark.parametrize(
    ("keyword", "text", "stands"),
    [
        ("pool", "a POOL here", True),
        ("pool", "pools", False),
        ("pool", "whirlpool", False),
        ("connection pool", "the connection pool", True),
        ("故乡", "低头思故乡", True),
        ("café", "un cafe\u0301 noir", True),
        ("C++", "in C++ code", True),
        ("__init__", "def __init__(self)", True),
        ("a.b(", "a.b()", True),
    ],
)
def test_b2_a_keyword_matches_as_a_whole_in_any_case_form_or_script(
    world: Any, keyword: str, text: str, stands: bool
) -> None:
    assert matches(text, [keyword]) == float(stands)


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_b2_no_text_is_syntax(text: str, words: list[str]) -> None:
    assert 0.0 <= matches(text, words) <= 1.0


def test_filters_of_the_request_reach_the_backend(shelf: Any) -> None:
    assert [f.content for f in run(shelf, query="pool", resource_types=["document"])] == [
        "pool pool pool"
    ]
    assert len(run(shelf, query="pool", resource_types=[])) == 2
    assert len(run(shelf, query="pool", metadata_filter={"lang": "en"})) == 1
    assert run(shelf, query="pool", scope=["project://elsewhere"]) == []
    assert len(run(shelf, query="pool", scope=[shelf.node("a")])) == 1


def test_a_text_that_the_hit_lacks_comes_from_the_renderings_and_is_counted(world: Any) -> None:
    class Bare:
        def search(self, query: str, **options: Any) -> Any:
            return [
                SearchHit(uko_node="n://1", score=0.5, detail_depth=4),
                SearchHit(uko_node="n://2", score=0.4),
            ]

    class Renderings:
        def at(self, node: str, depth: int) -> Rendering | None:
            known = Rendering(uko_node=node, detail_depth=2, content="def pool()")
            return known if node == "n://1" else None

        def depths(self, node: str) -> list[int]:
            return [2]

    class Counter:
        name, exact = "letters", True

        def count(self, text: str) -> int:
            return len(text)

    backends = BackendSet(text=Bare(), renderings=Renderings(), counter=Counter(), now=world.now)
    request = ContextRequest(query="pool")
    found, lost = SimpleKeywordStrategy().assemble(request, backends, BUDGET, PlanContext())
    assert (found.content, found.detail_depth, found.token_count) == ("def pool()", 2, 10)
    assert found.created_at == world.now
    assert found.provenance.resource_uri == "n://1"
    assert (lost.uko_node, lost.content, lost.token_count) == ("n://2", "", 0)


def test_m7_raw_scores_of_a_foreign_backend_keep_their_order(world: Any) -> None:
    class Raw:
        def search(self, query: str, **options: Any) -> Any:
            return [
                SearchHit(uko_node=f"n://{score}", content="x", score=score)
                for score in (17.5, 3.0, -2.0, math.nan)
            ]

    backends = BackendSet(text=Raw())
    found = SimpleKeywordStrategy().assemble(
        ContextRequest(query="pool"), backends, BUDGET, PlanContext()
    )
    assert [f.uko_node for f in found] == ["n://17.5", "n://3.0", "n://-2.0", "n://nan"]
    assert found[-1].relevance_score == 0.0
