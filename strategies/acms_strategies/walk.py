"""Walking a graph from a few nodes: who is near, and how much of the walk ends where.

Two views of the same steps. `Walk.reach` falls by a factor with every hop. `Walk.share` is that of
a random walk that returns to its start: what a node has is shared equally among the kinds of its
links, and among the links of each kind, so a base class gets as much as all members together,
neighbours of a hub get little each, and being linked from everywhere is worth nothing by itself
(ruling B6).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acms_adapters.models import Edge
from acms_adapters.protocols import GraphBackend
from acms_strategies.answers import edges

CONTAINS = "contains"

OF_CODE = frozenset({CONTAINS, "imports", "calls", "inherits"})
"""Relations that tie nearly everything to everything in a code base."""

Kind = tuple[str, bool]
"""A relation, and whether it was gone along forwards."""

SHARED_NAMES: Kind = ("shares names", True)

Step = tuple[str, str, Kind]
"""From a node, to its neighbour, along a kind of link."""

FAN_OUT = 50
"""Most links followed from one node."""

CONTAINED = 200
"""Most members followed from one container."""

NODE_LIMIT = 1_000
"""Nodes after which a walk ends; those it has not seen are further away than all it has."""

RETURN = 0.7
"""Chance that the random walk goes back to its start instead of on."""

_MASS_FLOOR = 1e-4
_MASS_HOPS = 4  # beyond, what is passed on lies below the floor


@dataclass(slots=True)
class Walk:
    """What was reached.

    Attributes:
        distance: Hops to each node.
        reach: The start's strength, times the decay for each hop.
        links: Neighbours of each node that was left again, by the kind of link.
    """

    distance: dict[str, int]
    reach: dict[str, float]
    links: dict[str, dict[Kind, dict[str, float]]] = field(default_factory=dict)

    def arrive(self, node: str, hops: int, reach: float) -> bool:
        """Note how a node was reached; False when there are too many nodes already."""
        known = self.distance.get(node)
        if known is None:
            if len(self.distance) >= NODE_LIMIT:
                return False
            self.distance[node], self.reach[node] = hops, reach
            return True
        if hops < known:
            self.distance[node] = hops
        if reach > self.reach[node]:
            self.reach[node] = reach
        return True

    def share(self, start: Mapping[str, float]) -> dict[str, float]:
        """How much of a random walk from `start` each node gets, from 0 to 1, on a log scale.

        Args:
            start: Share of each node at the start; they add up to 1.
        """
        mass = dict(start)
        for _ in range(min(max(self.distance.values(), default=0), _MASS_HOPS)):
            mass = self._step(mass, start)
        top = math.log1p(1.0 / _MASS_FLOOR)
        return {node: math.log1p(m / _MASS_FLOOR) / top for node, m in mass.items()}

    def _step(self, mass: Mapping[str, float], start: Mapping[str, float]) -> dict[str, float]:
        after = {node: RETURN * share for node, share in start.items()}
        for node, amount in mass.items():
            kinds = self.links.get(node, {})
            for neighbours in kinds.values():
                part = (1.0 - RETURN) * amount / len(kinds) / sum(neighbours.values())
                for neighbour, weight in neighbours.items():
                    after[neighbour] = after.get(neighbour, 0.0) + part * weight
        return after


def walk(
    graph: GraphBackend,
    start: Mapping[str, float],
    *,
    breadth: int,
    depth: int,
    decay: float,
    scope: Sequence[str] | None = None,
    mute: Container[str] = (),
    shared: Mapping[str, Mapping[str, float]] | None = None,
) -> Walk:
    """Go `breadth` hops along any relation, and `depth` hops down containment (ruling M3).

    Args:
        start: Where to start, with a strength in (0, 1] each.
        decay: What remains of the strength after a hop.
        mute: Relations that lead somewhere and yet are no part of the random walk.
        shared: What else the random walk goes to from a node, with how much; one hop, no further.
    """
    walked = Walk(dict.fromkeys(start, 0), dict(start))
    outwards, downwards = _Front(start, mute), _Front(start, mute)
    for hop in range(1, max(breadth, depth) + 1):
        if not (outwards.nodes or downwards.nodes) or len(walked.distance) >= NODE_LIMIT:
            break
        asked = outwards.nodes if hop <= breadth else []
        found = _links(graph, asked, FAN_OUT, scope=scope)
        below = downwards.nodes if hop <= depth else []
        contained = [edge for edge in found if edge.relation == CONTAINS]
        if rest := _unanswered(below, asked, found):
            contained += _links(
                graph, rest, CONTAINED, direction="out", relations=(CONTAINS,), scope=scope
            )
        outwards.move(walked, _steps(found, set(asked)), hop, decay)
        downwards.move(walked, _steps(contained, set(below), down=True), hop, decay)
    for node, others in (shared or {}).items():
        weights = {other: much for other, much in others.items() if 0.0 < much < math.inf}
        if node not in start or not weights:
            continue
        walked.links.setdefault(node, {})[SHARED_NAMES] = weights
        for other in weights:
            walked.arrive(other, 1, decay * walked.reach[node])
    return walked


class _Front:
    """The nodes that a walk has just reached, and those it need not go to again."""

    def __init__(self, start: Mapping[str, float], mute: Container[str]) -> None:
        self.nodes = list(start)
        self._reach = dict(start)  # along this way; another may have come there sooner
        self._mute = mute

    def move(self, walked: Walk, steps: Iterable[Step], hop: int, decay: float) -> None:
        """Take the steps and stand where they led."""
        self.nodes = []
        for node, neighbour, kind in steps:
            if kind[0] not in self._mute:
                walked.links.setdefault(node, {}).setdefault(kind, {})[neighbour] = 1.0
            reach = decay * self._reach[node]
            if not walked.arrive(neighbour, hop, reach):
                continue
            if neighbour not in self._reach:
                self.nodes.append(neighbour)
            self._reach[neighbour] = max(reach, self._reach.get(neighbour, 0.0))


def _links(graph: GraphBackend, nodes: list[str], limit: int, **options: Any) -> list[Edge]:
    if not nodes:
        return []
    answer = graph.neighbors(nodes, limit=limit, **options)
    return edges(answer, most=limit * len(nodes))


def _unanswered(below: list[str], asked: list[str], found: Sequence[Edge]) -> list[str]:
    """Nodes whose members are not all among the links that were found."""
    if not asked:
        return below
    counts = Counter(end for edge in found for end in {edge.source, edge.target})
    there = set(asked)
    return [node for node in below if node not in there or counts[node] >= FAN_OUT]


def _steps(links: Iterable[Edge], nodes: set[str], *, down: bool = False) -> Iterator[Step]:
    for edge in links:
        source, target = edge.source, edge.target
        if source == target:
            continue
        if source in nodes:
            yield source, target, (edge.relation, True)
        if not down and target in nodes:
            yield target, source, (edge.relation, False)
