"""What strategies found is read, whatever happens to the backends afterwards (S7, S9)."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from acms_adapters import ACMSPipeline, ContextFragment, ContextPayload, ContextRequest
from acms_adapters.models import Edge, Rendering, SearchHit
from acms_adapters.testing import sample_backends, sample_request

ROOT = "project://harbour"
NEAR, FAR = "src/beam.py", "docs/tides.md"
ONE = {"context": {"strategies": {"enabled": ["simple-keyword"]}}}
HIT = SearchHit(uko_node="mem://odd", content="odd")
EDGE = Edge(source="mem://odd", target="mem://even", relation="calls")


class Broken:
    """A graph and a source of renderings that always do the same."""

    def __init__(self, behaviour: Callable[[], Any]) -> None:
        self._behaviour = behaviour
        self.asked = 0

    def _answer(self, *args: Any, **options: Any) -> Any:
        self.asked += 1
        return self._behaviour()

    at = depths = get = neighbors = _answer


def raising() -> Any:
    raise OSError("the disk is on fire")


def texts(payload: ContextPayload) -> list[str]:
    return sorted(fragment.content for fragment in payload.fragments)


@pytest.mark.parametrize(
    "behaviour",
    [
        raising,
        lambda: None,
        lambda: "text",
        lambda: [None],
        lambda: 7,
        lambda: Rendering(uko_node="a", detail_depth=2, content=7),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("detail_level", [None, 2])
def test_s9_without_other_depths_what_was_found_is_read_as_it_is(
    assemble, behaviour: Callable[[], Any], detail_level: int | None
) -> None:
    request = sample_request().model_copy(update={"detail_level": detail_level})
    for budget in (40, 4_000):  # with the small one, lower depths are asked for
        whole = assemble(ACMSPipeline(ONE, backends=sample_backends()), request, budget=budget)
        source = Broken(behaviour)
        backends = replace(sample_backends(), renderings=source)
        payload = assemble(ACMSPipeline(ONE, backends=backends), request, budget=budget)
        assert texts(payload) == texts(whole)
        assert payload.is_within_budget
    assert whole.fragments


def test_renderings_that_failed_are_not_asked_again_by_the_same_call(assemble) -> None:
    source = Broken(raising)
    pipeline = ACMSPipeline(ONE, backends=replace(sample_backends(), renderings=source))
    request = sample_request().model_copy(update={"detail_level": 2})
    assert len(assemble(pipeline, request, budget=4_000).fragments) > 1
    assert source.asked == 1
    assemble(pipeline, request, budget=4_000)
    assert source.asked == 2


def child() -> ContextRequest:
    """Finds nothing of its own; half of its parent's context fits, and the graph knows which."""
    near, far = (
        ContextFragment(uko_node=f"{ROOT}/{name}", content=f"about {name}", relevance_score=score)
        for name, score in ((NEAR, 0.1), (FAR, 0.9))
    )
    return ContextRequest(
        query="zebra",
        focus_nodes=[f"{ROOT}/src/lamp.py"],
        parent_context=ContextPayload(fragments=(near, far), plan_id="season"),
    )


def inherited(payload: ContextPayload) -> list[str]:
    return [f.uko_node.removeprefix(f"{ROOT}/") for f in payload.skeleton_fragments]


GRAPHS = {
    "raises": raising,
    "says nothing": lambda: None,
    "talks nonsense": lambda: [None],
    "has no end": lambda: itertools.cycle([HIT, EDGE]),
}


@pytest.mark.parametrize("behaviour", GRAPHS.values(), ids=GRAPHS)
def test_s9_a_child_inherits_the_most_relevant_without_a_graph_for_its_focus(
    assemble, behaviour: Callable[[], Any]
) -> None:
    graph = Broken(behaviour)
    backends = replace(sample_backends(), graph=graph)
    payload = assemble(ACMSPipeline(ONE, backends=backends), child(), budget=4_000)
    assert inherited(payload) == [FAR]
    assert payload.failures == ()
    assert graph.asked <= 2


def test_s7_a_graph_that_hangs_does_not_keep_a_child_from_its_context(
    assemble, never: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acms_adapters.pipeline.lenient.GRAPH_SECONDS", 0.05)
    graph = Broken(never.wait)
    pipeline = ACMSPipeline(ONE, backends=replace(sample_backends(), graph=graph))
    payload = assemble(pipeline, child(), budget=4_000)
    assert not never.is_set()
    assert inherited(payload) == [FAR]
    assert graph.asked == 1


def test_k3_a_graph_that_answers_brings_what_is_near_the_focus_instead(assemble) -> None:
    pipeline = ACMSPipeline(ONE, backends=sample_backends())
    assert inherited(assemble(pipeline, child(), budget=4_000)) == [NEAR]
