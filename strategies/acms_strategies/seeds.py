"""Where a walk through the graph starts (ruling M2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from acms_adapters.models import ContextRequest
from acms_adapters.protocols import GraphBackend, ResolvesNames, SharesNames
from acms_strategies.answers import hits
from acms_strategies.evidence import Evidence
from acms_strategies.walk import OF_CODE

SEEDS = 10
"""Most of the best first hits that a walk starts from."""

SHARING = 20
"""Most nodes that a start leads to by the names they share."""

SHARPNESS = 0.2
"""The smaller, the more of the walk starts from the very best of them."""

MENTION = 1.0
"""Evidence for a node whose name stands in the question and is nobody else's."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where a walk starts.

    Attributes:
        strength: Each start with its strength, in (0, 1].
        share: Each start with its share of the random walk; they add up to 1.
        focus: The start nodes that the request itself names.
        ignored: Nodes that it names and that are not there.
        are_named: Whether the request or the question names any of them.
        shared: Nodes in which the same rare names stand as in a start, with how much.
    """

    strength: dict[str, float] = field(default_factory=dict)
    share: dict[str, float] = field(default_factory=dict)
    focus: frozenset[str] = frozenset()
    ignored: tuple[str, ...] = ()
    are_named: bool = False
    shared: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def mute(self) -> frozenset[str]:
        """Relations that say nothing of what lies behind them.

        Who calls or contains a node matters to a question that names it, and not to one that
        merely led to it (measured on questions about code).
        """
        return frozenset() if self.are_named else OF_CODE


def find_seeds(
    graph: GraphBackend, request: ContextRequest, focus: Iterable[str], evidence: Evidence
) -> tuple[Seeds, Evidence]:
    """The focus nodes that are there, else the nodes named in the question and the best hits.

    Returns:
        The seeds, and the evidence with what the names add to it.
    """
    named = tuple(dict.fromkeys(focus))
    there: list[str] = []
    if named:
        answer = graph.get(named, scope=request.scope)
        there = [hit.uko_node for hit in hits(answer, most=len(named), source="graph")]
    ignored = tuple(node for node in named if node not in set(there))
    if there:
        even = dict.fromkeys(there, 1.0)
        return Seeds(even, _shares(even), frozenset(there), ignored, are_named=True), evidence
    names = resolve_names(graph, request)
    evidence = _mention(evidence, names)
    best = {node: evidence.of(node) for node in evidence.best(SEEDS)}
    top = max(best.values(), default=0.0)
    first = _shares({node: math.exp((e - top) / SHARPNESS) for node, e in best.items()})
    share = _halves(_shares(names), first)
    seeds = Seeds(
        {**dict.fromkeys(first, 1.0), **names},
        share,
        ignored=ignored,
        are_named=bool(names),
        shared=_sharing(graph, list(share), request),
    )
    return seeds, evidence


def _sharing(
    graph: GraphBackend, nodes: list[str], request: ContextRequest
) -> Mapping[str, Mapping[str, float]]:
    if not nodes or not isinstance(graph, SharesNames):
        return {}
    return graph.sharing(nodes, limit=SHARING, scope=request.scope)


def resolve_names(graph: GraphBackend, request: ContextRequest) -> dict[str, float]:
    """Nodes whose name stands in the query, each with 1 / sqrt(how many share that name)."""
    if not request.query or not isinstance(graph, ResolvesNames):
        return {}
    found = graph.resolve(request.query, limit=SEEDS, scope=request.scope)
    return {node: 1.0 / math.sqrt(max(1, sharers)) for node, sharers in islice(found, SEEDS)}


def _mention(evidence: Evidence, names: Mapping[str, float]) -> Evidence:
    weights = dict(evidence.weights)
    if weights:
        for node, strength in names.items():
            weights[node] = weights.get(node, 0.0) + MENTION * strength
    return Evidence(evidence.hits, weights)


def _halves(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    if not one or not other:
        return dict(one or other)
    nodes = dict.fromkeys((*one, *other))
    return {node: (one.get(node, 0.0) + other.get(node, 0.0)) / 2 for node in nodes}


def _shares(strengths: Mapping[str, float]) -> dict[str, float]:
    total = sum(strengths.values())
    return {node: strength / total for node, strength in strengths.items()}
