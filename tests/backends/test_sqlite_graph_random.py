"""Random graphs with cycles, hubs, edges to nobody and two tenants (rulings B5, B6)."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.models import Edge, IndexedNode, IndexedResource
from acms_adapters.models.matching import in_scope
from acms_strategies.walk import FAN_OUT, walk

# one tenant's name begins as the other's does
TENANTS = ("project://farm", "project://farmhouse")
NODES = [f"{tenant}/n{number}" for tenant in TENANTS for number in range(9)]
NOBODY = [f"{tenant}/gone{number}" for tenant in TENANTS for number in range(2)]
HUB = NODES[0]
LEAVES = [f"{TENANTS[number % 2]}/leaf{number}" for number in range(2 * FAN_OUT)]
RELATIONS = ("contains", "calls", "links")

ends = st.sampled_from(NODES + NOBODY)
links = st.lists(st.tuples(ends, ends, st.sampled_from(RELATIONS)), max_size=60)
scopes = st.sampled_from([None, [TENANTS[0]], [TENANTS[1]], [NODES[1], NODES[2]], list(TENANTS)])


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[str], list[Edge]]:
    """Nodes that are there, and edges, some of which lead to nodes that are not."""
    nodes = list(NODES)
    found = draw(links)
    if draw(st.booleans()):
        nodes += LEAVES
        found += [(HUB, leaf, "contains") for leaf in LEAVES]
        found += [(leaf, HUB, "calls") for leaf in LEAVES[::3]]
    return nodes, [Edge(source=s, target=t, relation=r) for s, t, r in dict.fromkeys(found)]


def fill(store: SQLiteStore, nodes: Sequence[str], edges: Sequence[Edge]) -> None:
    made = [
        IndexedNode(uko_node=node, kind="document", resource_uri=node, fields={"body": "text"})
        for node in nodes
    ]
    resource = IndexedResource(
        resource_uri="edges:", content_hash="1", nodes=tuple(made), edges=tuple(edges)
    )
    store.replace(resource)


def expected(
    nodes: Sequence[str], edges: Sequence[Edge], asked: str, direction: str, scope: Any
) -> set[Edge]:
    """Edges of a node whose other end is there and in scope."""
    there = set(nodes)

    def leads(near: str, far: str) -> bool:
        return near == asked and far in there and in_scope(far, scope)

    return {
        edge
        for edge in edges
        if (direction != "in" and leads(edge.source, edge.target))
        or (direction != "out" and leads(edge.target, edge.source))
    }


@given(
    graphs(),
    st.lists(ends, max_size=4),
    st.sampled_from(["out", "in", "both"]),
    st.sampled_from([None, ("calls",), RELATIONS[:2]]),
    st.sampled_from([None, 0, 1, 3, 1000]),
    scopes,
)
def test_b5_b6_edges_lead_to_what_is_there_and_in_scope_each_once(
    graph: tuple[list[str], list[Edge]],
    asked: list[str],
    direction: Any,
    relations: Any,
    limit: int | None,
    scope: Any,
) -> None:
    """B6.random."""
    nodes, edges = graph
    with SQLiteStore(None) as store:
        fill(store, nodes, edges)
        options = {"direction": direction, "relations": relations, "scope": scope}
        found = store.graph.neighbors(asked, limit=limit, **options)
        assert len(found) == len(set(found))
        whole: set[Edge] = set()
        for node in asked:
            here = expected(nodes, edges, node, direction, scope) if node in nodes else set()
            here = {edge for edge in here if not relations or edge.relation in relations}
            whole |= here
            alone = store.graph.neighbors([node], limit=limit, **options)
            assert set(alone) <= here & set(found)
            assert len(alone) == min(len(here), len(here) if limit is None else limit)
        assert set(found) <= whole
        if limit in (None, 1000):
            assert set(found) == whole


class Counting:
    """A graph that counts how often each node is asked about."""

    def __init__(self, store: SQLiteStore) -> None:
        self.get = store.graph.get
        self.asked: Counter[str] = Counter()
        self._graph = store.graph

    def neighbors(self, nodes: Sequence[str], **options: Any) -> list[Edge]:
        self.asked.update(nodes)
        return self._graph.neighbors(nodes, **options)


def distances(
    nodes: Sequence[str], edges: Sequence[Edge], start: str, scope: Any
) -> dict[str, int]:
    """Hops from a start along any edge, by breadth-first search."""
    found, waiting = {start: 0}, deque([start])
    while waiting:
        node = waiting.popleft()
        for edge in expected(nodes, edges, node, "both", scope):
            for end in (edge.source, edge.target):
                if end not in found:
                    found[end] = found[node] + 1
                    waiting.append(end)
    return found


def check_walk(
    graph: tuple[list[str], list[Edge]], start: str, breadth: int, depth: int, scope: Any
) -> None:
    nodes, edges = graph
    with SQLiteStore(None) as store:
        fill(store, nodes, edges)
        counting = Counting(store)
        walked = walk(counting, {start: 1.0}, breadth=breadth, depth=depth, decay=0.5, scope=scope)
        reached = walked.distance.keys() - {start}
        assert all(in_scope(node, scope) for node in reached)
        assert reached <= set(nodes)
        assert max(counting.asked.values(), default=0) <= 2  # outwards and downwards
        away = distances(nodes, edges, start, scope) if start in nodes else {start: 0}
        assert all(hops >= away[node] for node, hops in walked.distance.items())
        if len(nodes) == len(NODES):  # no hub, so that nothing is cut
            near = {node: hops for node, hops in away.items() if hops <= breadth}
            assert near.items() <= walked.distance.items()


@given(graphs(), ends, st.sampled_from([0, 1, 2, 10**6]), st.sampled_from([0, 1, 10**6]), scopes)
def test_b5_b6_a_walk_ends_visits_once_and_never_leaves_its_scope(
    graph: tuple[list[str], list[Edge]], start: str, breadth: int, depth: int, scope: Any
) -> None:
    """B6.walk."""
    check_walk(graph, start, breadth, depth, scope)


@pytest.mark.slow
@settings(max_examples=500)
@given(graphs(), ends, st.sampled_from([0, 1, 2, 10**6]), st.sampled_from([0, 1, 10**6]), scopes)
def test_b5_b6_many_walks_end_visit_once_and_never_leave_their_scope(
    graph: tuple[list[str], list[Edge]], start: str, breadth: int, depth: int, scope: Any
) -> None:
    check_walk(graph, start, breadth, depth, scope)
