"""Walking a graph: cycles, hubs, bounds, shares (ruling B6, faults of graph backends)."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import Edge
from acms_adapters.protocols import Direction
from acms_strategies.walk import FAN_OUT, NODE_LIMIT, walk

Pairs = list[tuple[int, int]]
edges = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=30)


class Graph:
    """Plain edges; counts how often each node was left."""

    def __init__(self, pairs: Pairs, relation: str = "calls") -> None:
        self.edges = [Edge(source=f"n{a}", target=f"n{b}", relation=relation) for a, b in pairs]
        self.by_node: dict[str, list[Edge]] = {}
        for edge in self.edges:
            self.by_node.setdefault(edge.source, []).append(edge)
            self.by_node.setdefault(edge.target, []).append(edge)
        self.left: list[str] = []

    def neighbors(
        self,
        nodes: Any,
        *,
        direction: Direction = "both",
        relations: Any = None,
        limit: int | None = None,
        scope: Any = None,
    ) -> list[Edge]:
        self.left.extend(nodes)
        return [
            edge
            for node in nodes
            for edge in [
                edge
                for edge in self.by_node.get(node, [])
                if (direction == "both" or edge.source == node)
                and (not relations or edge.relation in relations)
            ][:limit]
        ]

    def get(self, nodes: Any, **filters: Any) -> list[Any]:
        return []


def go(graph: Graph, *, breadth: int = 2, depth: int = 0, start: str = "n0") -> Any:
    return walk(graph, {start: 1.0}, breadth=breadth, depth=depth, decay=0.5)


def test_a_cycle_and_a_loop_end_and_no_node_is_left_twice() -> None:
    """B6."""
    graph = Graph([(0, 1), (1, 0), (0, 0), (1, 2), (2, 0)])
    walked = go(graph, breadth=10**6)
    assert walked.distance == {"n0": 0, "n1": 1, "n2": 1}
    assert sorted(graph.left) == ["n0", "n1", "n2"]


@pytest.mark.parametrize("relation", ["calls", "contains"])
def test_a_long_chain_ends_at_a_bound_without_recursion(relation: str) -> None:
    graph = Graph([(n, n + 1) for n in range(5_000)], relation)
    walked = go(graph, breadth=10**6, depth=10**6)
    assert len(walked.distance) == NODE_LIMIT
    assert walked.distance[f"n{NODE_LIMIT - 1}"] == NODE_LIMIT - 1
    assert max(graph.left.count(node) for node in set(graph.left)) <= 2  # once outwards, once down


def test_a_hub_hands_on_to_a_bounded_number() -> None:
    """B6, D6-15."""
    graph = Graph([(0, n) for n in range(1, 500)])
    assert len(go(graph, breadth=1).distance) == FAN_OUT + 1


def test_members_beyond_what_a_hub_hands_on_are_still_reached_downwards() -> None:
    graph = Graph([(0, n) for n in range(1, 100)], "contains")
    assert len(go(graph, breadth=1).distance) == FAN_OUT + 1
    assert len(go(graph, breadth=1, depth=1).distance) == 100


def test_a_loop_keeps_nothing_for_itself() -> None:
    share = go(Graph([(0, 1)])).share({"n0": 1.0})
    assert go(Graph([(0, 1), (0, 0)])).share({"n0": 1.0}) == share


def test_breadth_goes_along_any_relation_in_both_directions() -> None:
    """M3."""
    graph = Graph([(1, 0), (2, 1)])
    assert go(graph, breadth=1).distance == {"n0": 0, "n1": 1}
    assert go(graph, breadth=2).distance == {"n0": 0, "n1": 1, "n2": 2}
    assert go(graph, breadth=0).distance == {"n0": 0}


def test_m3_depth_goes_down_containment_alone() -> None:
    down = Graph([(0, 1), (1, 2), (3, 0)], "contains")
    assert go(down, breadth=0, depth=1).distance == {"n0": 0, "n1": 1}
    assert go(down, breadth=0, depth=9).distance == {"n0": 0, "n1": 1, "n2": 2}
    assert go(Graph([(0, 1)]), breadth=0, depth=9).distance == {"n0": 0}
    up_and_down = Graph([(1, 0), (1, 2), (0, 3), (3, 4)], "contains")
    found = go(up_and_down, breadth=1, depth=2).distance
    assert found == {"n0": 0, "n1": 1, "n3": 1, "n4": 2}


def test_reach_falls_with_each_hop_and_takes_the_stronger_way() -> None:
    """B6."""
    graph = Graph([(0, 1), (1, 2), (3, 2)])
    walked = walk(graph, {"n0": 1.0, "n3": 0.4}, breadth=2, depth=0, decay=0.5)
    assert walked.reach == {"n0": 1.0, "n3": 0.4, "n1": 0.5, "n2": 0.25}


def test_what_a_hub_links_to_gets_less_than_what_a_plain_node_links_to() -> None:
    pairs = [(0, 1), (0, 2), (1, 3)] + [(2, n) for n in range(10, 40)]
    share = go(Graph(pairs)).share({"n0": 1.0})
    assert share["n3"] > share["n10"] > 0


def test_being_linked_from_everywhere_is_worth_nothing_by_itself() -> None:
    """B6.popular."""
    everywhere = [(n, 99) for n in range(50, 90)]
    near, popular = Graph([(0, 1), (0, 2)]), Graph([(0, 1), (0, 99), *everywhere])
    assert go(near).share({"n0": 1.0})["n2"] >= go(popular).share({"n0": 1.0})["n99"]


def test_a_base_class_gets_as_much_as_all_members_together() -> None:
    graph = Graph([(0, n) for n in range(2, 12)], "contains")
    base = Graph([(0, 1)], "inherits")
    for node, found in base.by_node.items():
        graph.by_node.setdefault(node, []).extend(found)
    share = go(graph, breadth=1).share({"n0": 1.0})
    masses = {node: math.expm1(part * math.log1p(1e4)) for node, part in share.items()}
    members = sum(masses[f"n{n}"] for n in range(2, 12))
    assert masses["n1"] == pytest.approx(members)


def test_a_mute_relation_leads_somewhere_and_is_no_part_of_the_random_walk() -> None:
    graph = Graph([(0, 1)], "calls")
    walked = walk(graph, {"n0": 1.0}, breadth=1, depth=0, decay=0.5, mute={"calls"})
    assert walked.distance == {"n0": 0, "n1": 1}
    assert "n1" not in walked.share({"n0": 1.0})
    assert "n1" in go(graph, breadth=1).share({"n0": 1.0})


@given(edges, st.integers(0, 4), st.integers(0, 4))
def test_a_walk_finds_what_is_within_its_hops_and_nothing_else(
    pairs: Pairs, breadth: int, depth: int
) -> None:
    walked = walk(Graph(pairs, "contains"), {"n0": 1.0}, breadth=breadth, depth=depth, decay=0.8)
    outwards = nearest(pairs + [(b, a) for a, b in pairs], breadth)
    downwards = nearest(pairs, depth)
    expected = {
        n: min(d for found in (outwards, downwards) if (d := found.get(n)) is not None)
        for n in outwards | downwards
    }
    assert walked.distance == {f"n{n}": d for n, d in expected.items()}
    for node, hops in walked.distance.items():
        assert walked.reach[node] == pytest.approx(0.8**hops)


@given(edges)
def test_shares_lie_between_nothing_and_all(pairs: Pairs) -> None:
    share = go(Graph(pairs), breadth=3).share({"n0": 1.0})
    assert all(0.0 <= part <= 1.0 for part in share.values())
    assert share["n0"] == max(share.values())
    mass = sum(math.expm1(part * math.log1p(1e4)) * 1e-4 for part in share.values())
    assert mass <= 1.0 + 1e-9


def nearest(pairs: Pairs, hops: int) -> dict[int, int]:
    found, edge = {0: 0}, {0}
    for hop in range(1, hops + 1):
        edge = {b for a, b in pairs if a in edge} - found.keys()
        found |= dict.fromkeys(edge, hop)
    return found


def test_shared_names_lead_one_hop_and_count_by_their_weight() -> None:
    graph = Graph([(0, 1), (2, 3)])
    shared = {"n0": {"n2": 0.5, "n4": 0.25}}
    walked = walk(graph, {"n0": 1.0}, breadth=2, depth=0, decay=0.5, shared=shared)
    assert walked.distance == {"n0": 0, "n1": 1, "n2": 1, "n4": 1}
    share = walked.share({"n0": 1.0})
    assert share["n1"] > share["n2"] > share["n4"] > 0.0


def test_shared_names_of_anybodys_graph_count_only_where_they_can() -> None:
    odd = {"nobody": {"a": 1.0}, "a": {}, "b": {"x": 0.0, "y": float("nan"), "z": float("inf")}}
    start = {"a": 1.0, "b": 1.0}
    walked = walk(Graph([]), start, breadth=1, depth=0, decay=0.5, shared=odd)
    assert walked.distance == {"a": 0, "b": 0}
    assert set(walked.share({"a": 0.5, "b": 0.5})) == {"a", "b"}


def test_a_way_down_does_not_borrow_the_reach_of_another_way() -> None:
    """M3: what both ways come to counts by the hops of the way that goes on from there."""
    graph = Graph([(0, 2), (2, 3), (3, 0), (3, 1)], "contains")
    walked = walk(graph, {"n0": 1.0}, breadth=1, depth=3, decay=0.5)
    assert walked.distance["n1"] == 3
    assert walked.reach["n1"] == pytest.approx(0.5**3)
