"""Walking a graph from a few nodes: who is near, and how much of the walk ends where.

Two views of the same steps. `Walk.reach` falls by a factor with every hop. `Walk.mass` is a random
walk that returns to its start: what a node has is shared among its neighbours, so neighbours of a
hub get little each, and being linked from everywhere is worth nothing by itself (ruling B6).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from acms_adapters.models import Edge
from acms_adapters.protocols import GraphBackend

CONTAINS = "contains"

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
        links: Neighbours of each node that was left again.
    """

    distance: dict[str, int]
    reach: dict[str, float]
    links: dict[str, dict[str, None]] = field(default_factory=dict)

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
            neighbours = self.links.get(node)
            if neighbours:
                part = (1.0 - RETURN) * amount / len(neighbours)
                for neighbour in neighbours:
                    after[neighbour] = after.get(neighbour, 0.0) + part
        return after


def walk(
    graph: GraphBackend,
    start: Mapping[str, float],
    *,
    breadth: int,
    depth: int,
    decay: float,
    scope: Sequence[str] | None = None,
) -> Walk:
    """Go `breadth` hops along any relation, and `depth` hops down containment (ruling M3).

    Args:
        start: Where to start, with a strength in (0, 1] each.
        decay: What remains of the strength after a hop.
    """
    walked = Walk(dict.fromkeys(start, 0), dict(start))
    _go(graph, walked, start, hops=breadth, decay=decay, scope=scope, down=False)
    _go(graph, walked, start, hops=depth, decay=decay, scope=scope, down=True)
    return walked


def _go(
    graph: GraphBackend,
    walked: Walk,
    start: Iterable[str],
    *,
    hops: int,
    decay: float,
    scope: Sequence[str] | None,
    down: bool,
) -> None:
    here = list(start)
    seen = set(here)
    for hop in range(1, hops + 1):
        if not here or len(walked.distance) >= NODE_LIMIT:
            return
        found = graph.neighbors(
            here,
            direction="out" if down else "both",
            relations=(CONTAINS,) if down else None,
            limit=CONTAINED if down else FAN_OUT,
            scope=scope,
        )
        nodes, here = set(here), []
        for node, neighbour in _steps(found, nodes, down=down):
            walked.links.setdefault(node, {})[neighbour] = None
            if walked.arrive(neighbour, hop, decay * walked.reach[node]) and neighbour not in seen:
                seen.add(neighbour)
                here.append(neighbour)


def _steps(edges: Iterable[Edge], nodes: set[str], *, down: bool) -> Iterator[tuple[str, str]]:
    for edge in edges:
        source, target = edge.source, edge.target
        if source == target:
            continue
        if source in nodes:
            yield source, target
        if not down and target in nodes:
            yield target, source
