"""Ranking what a walk reached: by distance, weighed against the question."""

from __future__ import annotations

from collections.abc import Mapping

from acms_adapters.models import ContextBudget, ContextRequest, SearchHit
from acms_adapters.models.scores import to_relevance
from acms_adapters.protocols import GraphBackend
from acms_strategies.answers import hits
from acms_strategies.arms import filters
from acms_strategies.evidence import Evidence
from acms_strategies.hits import Choice
from acms_strategies.seeds import Seeds
from acms_strategies.walk import Walk

GRAPH_WEIGHT = 10.0
"""Evidence for a node at which the whole of the random walk ends.

Measured on questions about encyclopaedia pages and about code: from 5 to 15 recall hardly changes,
alone as beside the other strategies."""

SURE = 5.0
"""Evidence for the best start from which on the walk counts in full.

Evidence of the best passage: on questions about encyclopaedia pages 4.7 and more, about code a
median of 4.4; for a question that nothing answers, 1 to 3."""

BATCH = 40
"""Nodes that are loaded at once."""


def rate(walked: Walk, seeds: Seeds, evidence: Evidence, *, decay: float) -> dict[str, float]:
    """Relevance in [0, 1] of every node that was reached.

    Where nothing is known of the question, it is `decay` for each hop, and among nodes at one
    distance more of the random walk comes first. Otherwise what is known of the node adds up
    with its share of the walk, of which `decay` remains for each hop. Either way the focus comes
    before what was reached from it. A walk that starts from hits counts for as little as the best
    of them, so that a question that nothing answers makes nothing relevant.
    """
    shares = walked.share(seeds.share)
    if not evidence.weights:
        # within half of what one more hop costs, so that distance decides first
        slack = 0.5 * (1.0 - decay)
        return {
            node: reach * (1.0 - slack * (1.0 - shares.get(node, 0.0)))
            for node, reach in walked.reach.items()
        } | dict.fromkeys(seeds.focus, 1.0)
    weight = GRAPH_WEIGHT
    if not seeds.are_named:
        weight *= min(1.0, max(0.0, *evidence.weights.values()) / SURE) ** 2
    rated = {}
    for node, distance in walked.distance.items():
        near = 2.0 if node in seeds.focus else shares.get(node, 0.0) * decay**distance
        rated[node] = to_relevance(evidence.of(node) + weight * near)
    return rated


def fetch(
    graph: GraphBackend,
    rated: Mapping[str, float],
    known: Mapping[str, SearchHit],
    request: ContextRequest,
    *,
    limit: int,
    budget: ContextBudget | None = None,
) -> list[tuple[SearchHit, float]]:
    """The best rated nodes that the request wants, with their relevance.

    Args:
        known: Hits that were found already, for this request.
        limit: How many at most.
        budget: No more are loaded than give a choice for it.
    """
    found: list[tuple[SearchHit, float]] = []
    choice = Choice(budget) if budget else None
    ordered = sorted(rated, key=lambda node: (-rated[node], node))
    for start in range(0, len(ordered), BATCH):
        batch = ordered[start : start + BATCH]
        missing = [node for node in batch if node not in known]
        answer = graph.get(missing, **filters(request))
        loaded = {hit.uko_node: hit for hit in hits(answer, most=len(missing), source="graph")}
        for node in batch:
            hit = known.get(node) or loaded.get(node)
            if hit is not None:
                found.append((hit, rated[node]))
                if choice and hit.token_count is not None:
                    choice.add(hit.token_count)
        if len(found) >= limit or (choice and choice.is_enough):
            break
    return found[:limit]
