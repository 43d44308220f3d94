"""Backends as the last phases ask them: what they do not say is done without.

Strategies answer for their backends, each within its time. What is found is then read whether or
not other depths of it, or links, can still be fetched. A backend that failed once is not asked
again by the same call.
"""

from __future__ import annotations

import contextvars
import logging
import queue
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from acms_adapters.models import Edge, Rendering, SearchHit
from acms_adapters.pipeline.workers import Workers
from acms_adapters.protocols import (
    BackendSet,
    Direction,
    GraphBackend,
    ListsRenderings,
    RenderingSource,
)

logger = logging.getLogger("acms_adapters")

GRAPH_SECONDS = 2.0
"""How long to wait for the links of a child's focus, which only order what it inherits."""

A = TypeVar("A")


def lenient(backends: BackendSet, workers: Workers) -> BackendSet:
    """The set with a graph and renderings that may fail; a graph that hangs is not waited for."""
    graph, renderings = backends.graph, backends.renderings
    return backends.with_(
        graph=None if graph is None else LenientGraph(graph, workers),
        renderings=None if renderings is None else _lenient_renderings(renderings),
    )


def _lenient_renderings(source: RenderingSource) -> LenientRenderings:
    kind = LenientListing if isinstance(source, ListsRenderings) else LenientRenderings
    return kind(source)


class LenientRenderings:
    """Has what its source has, and nothing once that failed."""

    def __init__(self, source: RenderingSource) -> None:
        self._source: RenderingSource | None = source

    def at(self, node: str, depth: int) -> Rendering | None:
        """The deepest rendering at or below `depth`; None if there is none."""
        return self._ask(lambda source: _checked(source.at(node, depth)), None)

    def depths(self, node: str) -> Sequence[int]:
        """Depths there are, ascending."""
        return self._ask(lambda source: _whole_numbers(source.depths(node)), ())

    def _ask(self, question: Callable[[RenderingSource], A], otherwise: A) -> A:
        if self._source is None:
            return otherwise
        try:
            return question(self._source)
        except Exception as error:
            logger.warning("no other depths of what was found can be read: %r", error)
            self._source = None
            return otherwise


class LenientListing(LenientRenderings):
    """The same for a source that gives the renderings of a node at once."""

    def below(self, node: str, depth: int) -> Sequence[Rendering]:
        """All renderings that are less deep, ascending."""
        return self._ask(lambda source: _all_of(Rendering, source.below(node, depth)), ())  # type: ignore[attr-defined]


class LenientGraph:
    """Has what a graph has, and nothing once that failed or did not answer in time."""

    def __init__(self, graph: GraphBackend, workers: Workers) -> None:
        self._graph: GraphBackend | None = graph
        self._workers = workers

    def neighbors(
        self,
        nodes: Sequence[str],
        *,
        direction: Direction = "both",
        relations: Sequence[str] | None = None,
        limit: int | None = None,
        scope: Sequence[str] | None = None,
    ) -> Sequence[Edge]:
        """Edges that touch `nodes`."""
        options = {"direction": direction, "relations": relations, "limit": limit, "scope": scope}
        most = None if limit is None else limit * len(nodes)
        return self._ask(lambda graph: graph.neighbors(nodes, **options), Edge, most)  # type: ignore[arg-type]

    def get(
        self,
        nodes: Sequence[str],
        *,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> Sequence[SearchHit]:
        """The nodes that are there."""
        options = {
            "scope": scope,
            "resource_types": resource_types,
            "metadata_filter": metadata_filter,
        }
        return self._ask(lambda graph: graph.get(nodes, **options), SearchHit, len(nodes))  # type: ignore[arg-type]

    def _ask(
        self, question: Callable[[GraphBackend], Iterable[Any]], kind: type[A], most: int | None
    ) -> list[A]:
        graph = self._graph
        if graph is None:
            return []
        answers: queue.SimpleQueue[list[A] | BaseException] = queue.SimpleQueue()

        def answer() -> None:
            try:
                answers.put(_all_of(kind, islice(question(graph), most)))
            except BaseException as error:
                answers.put(error)

        self._workers.submit(partial(contextvars.copy_context().run, answer))
        try:
            found = answers.get(timeout=GRAPH_SECONDS)
        except queue.Empty:
            found = TimeoutError(f"no answer within {GRAPH_SECONDS:g} s")
        if not isinstance(found, BaseException):
            return found
        logger.warning("no graph for the focus of a child plan: %r", found)
        self._graph = None
        return []


def _all_of(kind: type[A], answer: Iterable[Any]) -> list[A]:
    found = list(answer)
    for item in found:
        if not isinstance(item, kind):
            raise TypeError(f"{item!r} is no {kind.__name__}")
    return found


def _checked(rendering: Any) -> Rendering | None:
    if rendering is None:
        return None
    if not (isinstance(rendering, Rendering) and isinstance(rendering.content, str)):
        raise TypeError(f"{rendering!r} is no Rendering")
    return rendering


def _whole_numbers(depths: Any) -> Sequence[int]:
    known = tuple(depths)
    if not all(isinstance(depth, int) for depth in known):
        raise TypeError(f"{known!r} are no depths")
    return known
