"""All three arms: beside each other, shares, merging, combined evidence (ruling S14)."""

import re
import threading
from datetime import timedelta
from typing import Any

import pytest

from acms_adapters.models import ContextBudget, ContextRequest, PlanContext, SearchHit
from acms_adapters.models.scores import to_evidence
from acms_adapters.protocols import BackendSet
from acms_strategies import ArceStrategy
from acms_strategies.hits import CHOICE

BUDGET = ContextBudget(max_tokens=1000)


def run(backends: BackendSet, options: Any = None, budget: int = 1000, **request: Any) -> Any:
    strategy = ArceStrategy(options)
    tokens = ContextBudget(max_tokens=budget)
    return strategy.assemble(ContextRequest(**request), backends, tokens, PlanContext())


class Fixed:
    """Text and vector backend in one that answers with given hits."""

    def __init__(self, *hits: SearchHit) -> None:
        self.hits, self.asked = hits, 0

    def search(self, query: str, *, max_results: int = 20, **filters: Any) -> Any:
        self.asked += 1
        return self.hits[:max_results]

    def search_text(self, query: str, *, top_k: int = 20, **options: Any) -> Any:
        return self.search(query, max_results=top_k)


def found_in(found: Any) -> list[str]:
    """Short names of the nodes, in order."""
    return [re.split("[/#]", fragment.uko_node)[-1] for fragment in found]


@pytest.fixture
def arms(world: Any) -> BackendSet:
    """Words bring t and both, vectors bring v and both, links bring g from both."""
    for name in ("t", "v", "both", "g", "unlinked"):
        world.add(name, name)
    world.link("both", "g")
    text = [make_hit(world, "t", 0.7), make_hit(world, "both", 0.6)]
    near = [make_hit(world, "v", 0.7), make_hit(world, "both", 0.6)]
    return world.backends("graph").with_(text=Fixed(*text), vector=Fixed(*near))


def make_hit(world: Any, name: str, score: float) -> SearchHit:
    return SearchHit(uko_node=world.node(name), content=name, score=score, token_count=10)


def test_it_brings_what_words_vectors_and_links_bring(arms: BackendSet) -> None:
    """S14, D4-47."""
    found = run(arms, query="question")
    assert set(found_in(found)) == {"t", "v", "both", "g"}
    assert found.stats["text_hits"] == found.stats["vector_hits"] == 2


def test_what_both_arms_found_is_one_fragment_with_the_evidence_of_both(arms: BackendSet) -> None:
    """D4-47, D6-18, D6-21."""
    found = run(arms, {"graph_budget_fraction": 0.0}, query="question")
    assert sorted(found_in(found)) == ["both", "t", "v"]
    assert found_in(found)[0] == "both"
    evidence = {name: to_evidence(f.relevance_score) for f in found for name in found_in([f])}
    assert evidence["t"] == pytest.approx(0.35 * to_evidence(0.7))
    assert evidence["v"] == pytest.approx(0.65 * to_evidence(0.7))
    assert evidence["both"] == pytest.approx(to_evidence(0.6))


def test_s14_text_is_searched_beside_vectors(arms: BackendSet) -> None:
    """D6-22."""
    barrier = threading.Barrier(2, timeout=10)

    class Meeting(Fixed):
        def search(self, query: str, *, max_results: int = 20, **filters: Any) -> Any:
            barrier.wait()
            return super().search(query, max_results=max_results)

    meeting = arms.with_(text=Meeting(*arms.text.hits), vector=Meeting(*arms.vector.hits))
    assert found_in(run(meeting, query="question")) == found_in(run(arms, query="question"))


def test_with_one_worker_the_arms_are_asked_one_after_the_other(arms: BackendSet) -> None:
    """D3-33."""
    threads: list[int] = []

    class Noting(Fixed):
        def search(self, query: str, *, max_results: int = 20, **filters: Any) -> Any:
            threads.append(threading.get_ident())
            return super().search(query, max_results=max_results)

    noting = arms.with_(text=Noting(), vector=Noting())
    run(noting, {"max_workers": 1}, query="question")
    assert threads == [threads[0]] * 2


def wide(world: Any, *, text: int, near: int, linked: int) -> BackendSet:
    """As many hits of each arm as asked for, ten tokens each, and one of both with the links."""

    words = [("start", 0.9), *((f"t{n:03}", 0.8 - n / 1000) for n in range(text))]
    vectors = [("start", 0.9), *((f"v{n:03}", 0.8 - n / 1000) for n in range(near))]
    for name, _ in (*words, *vectors):
        world.add(name, name)
    for n in range(linked):
        world.add(f"g{n:03}", "ten" * 9)
        world.link("start", f"g{n:03}")
    return world.backends("graph").with_(
        counter=TenForAll(),
        text=Fixed(*(make_hit(world, name, score) for name, score in words)),
        vector=Fixed(*(make_hit(world, name, score) for name, score in vectors)),
    )


class TenForAll:
    name, exact = "ten", True

    def count(self, text: str) -> int:
        return 10


def tokens(budget: int, fraction: float) -> int:
    return int(budget * CHOICE * fraction)


def test_each_phase_gathers_its_share_of_what_is_gathered(world: Any) -> None:
    """D6-16."""
    backends = wide(world, text=60, near=60, linked=40)
    gathered = run(backends, budget=100, query="question").stats["gathered"]
    assert gathered == {
        "text": tokens(100, 0.4),
        "vector": tokens(100, 0.4),
        "graph": tokens(100, 0.2),
    }


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ({"text": 60, "near": 0, "linked": 0}, {"text": 400, "vector": 0, "graph": 0}),
        ({"text": 60, "near": 4, "linked": 0}, {"text": 360, "vector": 40, "graph": 0}),
        ({"text": 2, "near": 60, "linked": 2}, {"text": 30, "vector": 350, "graph": 20}),
    ],
)
def test_s14_what_a_phase_leaves_unused_goes_to_the_others(
    world: Any, there: dict[str, int], expected: dict[str, int]
) -> None:
    """S14.rollover."""
    gathered = run(wide(world, **there), budget=50, query="question").stats["gathered"]
    assert gathered == expected


def test_the_fractions_are_options_and_a_phase_without_one_is_not_asked(world: Any) -> None:
    """D6-17."""
    backends = wide(world, text=60, near=60, linked=40)
    options = {
        "text_budget_fraction": 0.0,
        "vector_budget_fraction": 0.5,
        "graph_budget_fraction": 0.0,
    }
    found = run(backends, options, budget=100, query="question")
    assert found.stats["gathered"] == {"text": 0, "vector": tokens(100, 0.5), "graph": 0}
    assert backends.text.asked == 0


@pytest.mark.parametrize("fractions", [(0.5, 0.4, 0.2), (0.0, 0.0, 0.0)])
def test_fractions_that_add_up_to_more_than_all_or_to_nothing_are_refused(
    fractions: tuple[float, float, float],
) -> None:
    names = ("text_budget_fraction", "vector_budget_fraction", "graph_budget_fraction")
    with pytest.raises(ValueError, match="must add up to more than 0 and at most 1"):
        ArceStrategy(dict(zip(names, fractions, strict=True)))


@pytest.mark.parametrize(
    ("dedup", "text", "expected"),
    [
        ("highest_relevance", {"score": 0.9}, "of text"),
        ("highest_relevance", {"score": 0.5}, "of vectors"),
        ("first_seen", {"score": 0.5}, "of text"),
        ("most_recent", {"score": 0.9, "days": 5}, "of vectors"),
        ("most_recent", {"score": 0.5, "days": 0}, "of text"),
    ],
)
def test_the_hit_that_stands_for_a_node_is_chosen_by_the_dedup_strategy(
    world: Any, dedup: str, text: dict[str, Any], expected: str
) -> None:
    """D6-20."""
    uri = world.add("both", "both")
    by_words = SearchHit(
        uko_node=uri,
        content="of text",
        score=text["score"],
        created_at=world.now - timedelta(days=text.get("days", 0)),
    )
    by_vectors = SearchHit(
        uko_node=uri,
        content="of vectors",
        score=0.7,
        created_at=world.now - timedelta(days=1),
    )
    backends = world.backends("graph").with_(text=Fixed(by_words), vector=Fixed(by_vectors))
    (found,) = run(backends, {"dedup_strategy": dedup}, query="question")
    assert found.content == expected


def test_it_walks_from_the_focus_when_there_is_one(arms: BackendSet, world: Any) -> None:
    found = run(arms, query="question", focus_nodes=[world.node("unlinked"), "n://absent"])
    assert found_in(found)[0] == "unlinked"
    assert "g" not in found_in(found)
    assert found.stats["ignored"] == ["n://absent"]


def test_hops_of_the_request_hold(arms: BackendSet) -> None:
    assert "g" not in found_in(run(arms, query="question", breadth=0))


def test_an_arm_that_fails_is_told_and_not_hidden(arms: BackendSet) -> None:
    class Broken(Fixed):
        def search(self, query: str, **options: Any) -> Any:
            raise OSError("disk gone")

    for arm in ("text", "vector"):
        with pytest.raises(OSError, match="disk gone"):
            run(arms.with_(**{arm: Broken()}), query="question")
