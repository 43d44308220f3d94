"""Every set of broken backends, end to end: named failures, and what the others found (S9)."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, combinations
from typing import Any

import pytest

from acms_adapters import ACMSPipeline, BackendSet, NothingAnsweredError
from acms_adapters.config import Settings
from acms_adapters.models import Edge, SearchHit
from acms_adapters.testing import sample_backends, sample_request
from acms_strategies import (
    ArceStrategy,
    BreadthDepthNavigatorStrategy,
    PlanDecisionContextStrategy,
    SemanticEmbeddingStrategy,
    SimpleKeywordStrategy,
    TemporalArchaeologyStrategy,
)

PARTS = ("text", "vector", "graph", "temporal")
SUBSETS = list(chain.from_iterable(combinations(PARTS, size) for size in range(1, 5)))
NEEDS = {
    strategy.name: set(strategy.capabilities.needs)
    for strategy in (
        ArceStrategy,
        BreadthDepthNavigatorStrategy,
        PlanDecisionContextStrategy,
        SemanticEmbeddingStrategy,
        SimpleKeywordStrategy,
        TemporalArchaeologyStrategy,
    )
}
DEFAULTS = Settings().enabled
Behaviour = Callable[[], Any]


class BrokenText:
    """Has the methods of a text backend; all of them do the same."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    def search(self, query: str, **options: Any) -> Any:
        return self._behaviour()


class BrokenVector:
    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    def similarity_search(self, embedding: Any, **options: Any) -> Any:
        return self._behaviour()


class BrokenGraph:
    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    def neighbors(self, nodes: Any, **options: Any) -> Any:
        return self._behaviour()

    def get(self, nodes: Any, **options: Any) -> Any:
        return self._behaviour()


class BrokenTemporal:
    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    def query_by_tier(self, tier: str, **options: Any) -> Any:
        return self._behaviour()

    def record(self, item: Any) -> Any:
        return self._behaviour()

    def archive(self, plan_id: str) -> Any:
        return self._behaviour()

    def plan(self, plan_id: str, **options: Any) -> Any:
        return self._behaviour()

    def ancestors(self, plan_id: str) -> Any:
        return self._behaviour()


BROKEN = {
    "text": BrokenText,
    "vector": BrokenVector,
    "graph": BrokenGraph,
    "temporal": BrokenTemporal,
}


def with_broken(behaviours: Mapping[str, Behaviour]) -> BackendSet:
    """A small project that every strategy finds something in, with some of its parts broken."""
    broken = {part: BROKEN[part](behaviour) for part, behaviour in behaviours.items()}
    return replace(sample_backends(), **broken)


def failing(parts: Any) -> set[str]:
    """Strategies that cannot answer when some parts are broken."""
    return {name for name, needs in NEEDS.items() if needs & set(parts)}


def settings(
    names: Any, *, timeouts: dict[str, float] | None = None, **more: Any
) -> dict[str, Any]:
    """A configuration that asks these strategies."""
    tables = {name: {"timeout_seconds": seconds} for name, seconds in (timeouts or {}).items()}
    return {"context": {"strategies": {"enabled": sorted(names), **tables, **more}}}


BUDGET = 20_000
SOON, LONG = 0.2, 60.0

HIT = SearchHit(uko_node="mem://odd", content="odd", score=0.5)
EDGE = Edge(source="mem://odd", target="mem://even", relation="calls")

NO_ANSWERS = {
    "none": None,
    "a number": 7,
    "a text": "found nothing, sorry",
    "a mapping": {"hits": []},
    "a list of nothing": [None],
    "a list of texts": ["mem://odd"],
    "a hit without a node": [replace(HIT, uko_node=None)],
    "a hit whose text is none": [replace(HIT, content=7)],
    "a hit whose score is none": [replace(HIT, score="best")],
    "an edge to nowhere": [replace(EDGE, target=None)],
    "an error for an answer": [ValueError("no")],
}


def nodes(payload: Any) -> set[str]:
    return {fragment.uko_node for fragment in payload.fragments}


def raising() -> Any:
    raise OSError("the disk is on fire")


@lru_cache
def found_by(strategies: frozenset[str]) -> set[str]:
    """What these strategies find where nothing is broken."""
    whole = ACMSPipeline(settings(strategies), backends=sample_backends())
    return nodes(whole.assemble(sample_request(), budget=BUDGET))


def check(
    assemble: Callable[..., Any],
    backends: BackendSet,
    parts: tuple[str, ...],
    timeouts: dict[str, float] | None = None,
) -> list[Any]:
    """Check the result of ruling S9, and give the failures."""
    lost = failing(parts)
    answering = NEEDS.keys() - lost
    pipeline = ACMSPipeline(settings(NEEDS, timeouts=timeouts), backends=backends)
    if not answering:
        with pytest.raises(NothingAnsweredError) as told:
            assemble(pipeline, sample_request(), budget=BUDGET)
        assert {failure.strategy for failure in told.value.failures} == lost
        empty = assemble(
            ACMSPipeline(settings(NEEDS, timeouts=timeouts), backends=backends),
            sample_request(),
            budget=BUDGET,
            on_failure="degrade",
        )
        assert empty.degraded
        assert not empty.fragments
        assert {failure.strategy for failure in empty.failures} == lost
        return list(told.value.failures)
    payload = assemble(pipeline, sample_request(), budget=BUDGET)
    assert {failure.strategy for failure in payload.failures} == lost
    assert set(payload.strategies_used) == answering
    assert nodes(payload) == found_by(frozenset(answering))
    assert not payload.degraded
    assert payload.is_within_budget
    return list(payload.failures)


@pytest.mark.parametrize("parts", SUBSETS, ids="+".join)
def test_s9_parts_that_raise_are_named_and_the_others_found_what_they_find(
    assemble, parts: tuple[str, ...]
) -> None:
    failures = check(assemble, with_broken(dict.fromkeys(parts, raising)), parts)
    assert len(failures) == len(failing(parts))
    assert {failure.kind for failure in failures} == {"error"}
    assert all("the disk is on fire" in failure.message for failure in failures)


@pytest.mark.parametrize("part", ["text", "vector", "graph"])
@pytest.mark.parametrize("budget", [40, 100, 200])
def test_s9_a_budget_too_small_for_useful_shares_is_not_empty_for_one_part(
    assemble, part: str, budget: int
) -> None:
    """S6: in the tuned profile every strategy is asked, however small its share."""
    pipeline = ACMSPipeline(backends=with_broken({part: raising}))
    payload = assemble(pipeline, sample_request(), budget=budget)
    assert {failure.strategy for failure in payload.failures} == failing([part]) & set(DEFAULTS)
    assert payload.fragments
    assert payload.is_within_budget


@pytest.mark.parametrize("parts", SUBSETS, ids="+".join)
def test_s9_s7_parts_that_hang_are_named_and_the_others_found_what_they_find(
    assemble,
    parts: tuple[str, ...],
    never: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer comes while they still hang. Those that must answer have all the time there is."""
    timeouts = {name: SOON if name in failing(parts) else LONG for name in NEEDS}
    if {"text", "vector"} & set(parts):
        monkeypatch.setattr("acms_strategies.evidence.PATIENCE", SOON / LONG)
    failures = check(assemble, with_broken(dict.fromkeys(parts, never.wait)), parts, timeouts)
    assert not never.is_set()
    late = {failure.strategy for failure in failures if failure.kind == "timeout"}
    assert late >= failing(parts) - {"arce"}  # which says itself whom it waited for


def nonsense() -> Iterator[Any]:
    """Each answer of each part alone, then every larger set of parts with one answer each."""
    for part in PARTS:
        for name, answer in NO_ANSWERS.items():
            yield pytest.param({part: answer}, id=f"{part}-{name}")
    answers = itertools.cycle(NO_ANSWERS.values())
    for parts in SUBSETS[len(PARTS) :]:
        yield pytest.param({part: next(answers) for part in parts}, id="+".join(parts))


@pytest.mark.parametrize("answers", list(nonsense()))
def test_s9_parts_that_answer_nonsense_are_named_and_the_others_found_what_they_find(
    assemble, answers: dict[str, Any]
) -> None:
    backends = with_broken({part: partial(answers.get, part) for part in answers})
    failures = check(assemble, backends, tuple(answers))
    assert {failure.kind for failure in failures} == {"error"}


@pytest.mark.parametrize(
    "how", list(itertools.product(("raise", "hang", "nonsense"), repeat=2)), ids="-".join
)
def test_s9_parts_may_be_broken_each_in_its_own_way(
    assemble, never: threading.Event, how: tuple[str, str], monkeypatch
) -> None:
    behaviour = {"raise": raising, "hang": never.wait, "nonsense": lambda: [None]}
    backends = with_broken({"text": behaviour[how[0]], "vector": behaviour[how[1]]})
    monkeypatch.setattr("acms_strategies.evidence.PATIENCE", SOON / LONG)
    parts = ("text", "vector")
    timeouts = {name: SOON if name in failing(parts) else LONG for name in NEEDS}
    if "hang" not in how:
        timeouts = dict.fromkeys(NEEDS, LONG)
    check(assemble, backends, parts, timeouts)


def test_s10_arce_waits_so_long_for_a_part_that_hangs_that_others_can_stand_in(
    assemble, never: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acms_strategies.evidence.PATIENCE", SOON / LONG)
    backends = with_broken({"text": never.wait})
    only_arce = settings(["arce"], timeouts={"arce": LONG})
    payload = assemble(ACMSPipeline(only_arce, backends=backends), sample_request(), budget=BUDGET)
    assert [failure.strategy for failure in payload.failures] == ["arce"]
    assert "the text backend: no answer within 0." in payload.failures[0].message
    assert payload.strategies_used == ("breadth-depth-navigator",)


# --- answers that can be used, however odd they are

MANY = 100_000


def endless(item: Any) -> Any:
    return itertools.repeat(item)


ODD_SCORES = [
    replace(HIT, uko_node=f"mem://{i}", content=f"odd {i}", score=score)
    for i, score in enumerate((float("nan"), float("inf"), float("-inf"), -3.0, 1e300))
]
STRANGERS = [replace(HIT, uko_node=f"mem://{i}", content=None) for i in range(5)]
ODD = {
    "scores beyond all bounds": {"hits": lambda: ODD_SCORES, "edges": list},
    "nodes that nobody knows": {"hits": lambda: STRANGERS, "edges": lambda: [EDGE]},
    "very many": {"hits": lambda: [HIT] * MANY, "edges": lambda: [EDGE] * MANY},
    "answers without end": {"hits": lambda: endless(HIT), "edges": lambda: endless(EDGE)},
    "the same thing again and again": {"hits": lambda: [HIT] * 50, "edges": lambda: [EDGE] * 50},
    "nothing": {"hits": list, "edges": list},
}


def odd_backend(part: str, way: dict[str, Any]) -> Any:
    backend = BROKEN[part](way["hits"])
    if part == "graph":
        backend.neighbors = lambda nodes, **options: way["edges"]()
    if part == "temporal":
        backend.ancestors = lambda plan_id: []
    return backend


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("way", ODD.values(), ids=ODD)
def test_m7_odd_answers_are_repaired_or_passed_over_and_no_failure(
    assemble, part: str, way: dict[str, Any]
) -> None:
    backends = replace(sample_backends(), **{part: odd_backend(part, way)})
    payload = assemble(
        ACMSPipeline(settings(NEEDS), backends=backends), sample_request(), budget=BUDGET
    )
    assert payload.failures == ()
    assert payload.is_within_budget
    assert all(0.0 <= fragment.relevance_score <= 1.0 for fragment in payload.fragments)
    assert nodes(payload) >= found_by(frozenset(NEEDS.keys() - failing((part,))))
    accounted = [*payload.fragments, *payload.ledger.entries]
    assert len({item.fragment_id for item in accounted}) == len(accounted)
