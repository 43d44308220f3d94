"""What lies around a focus: above it, below it and beside it.

The levels are those of containment: what contains a node is its wider scope, up to the project;
what it contains is its narrower scope; what shares its container is its neighbourhood.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from acms_adapters.models import ContextFragment, ContextRequest
from acms_adapters.pipeline.gathering import to_fragment
from acms_adapters.protocols import BackendSet, GraphBackend

CONTAINS = ("contains",)

MEMBERS = 200
"""Most members that are looked at in one container."""

LEVELS = 32
"""Most levels of containment that are climbed or descended."""


def resolve_scope(request: ContextRequest, backends: BackendSet) -> tuple[ContextFragment, ...]:
    """Fragments around the request's focus nodes, most wanted first.

    The focus comes first, then its containers from the nearest outwards, then its members level
    by level, then the members of its own containers. `scope`, `resource_types` and
    `metadata_filter` of the request apply to all but decide nothing about the way: a container
    that is filtered out is still climbed. Relevance falls evenly with the place in that order.

    Args:
        request: Names the focus nodes.
        backends: Graph and renderings; without a graph there is nothing around a focus.
    """
    if backends.graph is None or not request.focus_nodes:
        return ()
    ordered = list(_in_order(backends.graph, request.focus_nodes, request.scope))
    hits = backends.graph.get(
        ordered,
        scope=request.scope,
        resource_types=request.resource_types or None,
        metadata_filter=request.metadata_filter,
    )
    place = {node: 1.0 - number / len(ordered) for number, node in enumerate(ordered)}
    return tuple(to_fragment(hit, place[hit.uko_node], backends) for hit in hits)


def _in_order(
    graph: GraphBackend, focus: Sequence[str], scope: Sequence[str] | None
) -> Iterator[str]:
    seen: set[str] = set()

    def new(nodes: Iterable[str]) -> list[str]:
        fresh = [node for node in dict.fromkeys(nodes) if node not in seen]
        seen.update(fresh)
        return fresh

    start = new(focus)
    yield from start
    parents = _containers(graph, start)
    level = parents
    for _ in range(LEVELS):
        fresh = new(level)
        if not fresh:
            break
        yield from fresh
        level = _containers(graph, fresh)
    level = start
    for _ in range(LEVELS):
        level = new(_members(graph, level, scope))
        if not level:
            break
        yield from level
    yield from new(_members(graph, parents, scope))


def _containers(graph: GraphBackend, nodes: Sequence[str]) -> list[str]:
    edges = graph.neighbors(nodes, direction="in", relations=CONTAINS)
    return [edge.source for edge in edges]


def _members(graph: GraphBackend, nodes: Sequence[str], scope: Sequence[str] | None) -> list[str]:
    if not nodes:
        return []
    edges = graph.neighbors(nodes, direction="out", relations=CONTAINS, limit=MEMBERS, scope=scope)
    return [edge.target for edge in edges]
