"""Adding up what several strategies say about one node (ruling F11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from acms_adapters.models import ContextFragment
from acms_adapters.models.base import changed
from acms_adapters.models.scores import to_evidence, to_relevance
from acms_adapters.pipeline.ranking import Place, place


def agree(
    fragments: Iterable[ContextFragment],
    weights: Mapping[str, float],
    *,
    among: Iterable[ContextFragment] = (),
    ratings: Mapping[str, Mapping[str, float]] | None = None,
) -> tuple[ContextFragment, ...]:
    """Give each node the relevance of the summed evidence of the strategies that found it.

    The relevance becomes `to_relevance` of the sum, over the strategies that the weights name, of
    weight times evidence above the mean of the index. A strategy that they do not name has weighed
    everything itself, as one that asks several backends does: its own score stands where it is
    higher, and is not added, or what it asked would count twice. Each strategy counts once for a
    node at a location, with the best score it gave to any depth of it; a node that no strategy
    scored keeps its relevance.

    Args:
        fragments: Fragments to rate.
        weights: Weight by strategy name.
        among: Fragments whose provenance counts as well, such as duplicates folded away.
        ratings: By strategy and node, what it would have said of nodes that it did not deliver;
            counts also where it speaks against them.
    """
    rated = tuple(fragments)
    found = _scores((*rated, *among))
    combined = {
        where: _combined(scores, weights, _unsaid(where[0], scores, weights, ratings or {}))
        for where, scores in found.items()
    }
    return tuple(
        fragment
        if (relevance := combined.get(place(fragment), fragment.relevance_score))
        == fragment.relevance_score
        else changed(fragment, relevance_score=relevance)
        for fragment in rated
    )


def _scores(fragments: Iterable[ContextFragment]) -> dict[Place, dict[str, float]]:
    found: dict[Place, dict[str, float]] = {}
    for fragment in fragments:
        for provenance in (fragment.provenance, *fragment.provenance.merged):
            name, score = provenance.strategy, provenance.score
            if name is not None and score is not None:
                scores = found.setdefault(place(fragment), {})
                scores[name] = max(score, scores.get(name, score))
    return found


def _unsaid(
    node: str,
    scores: Mapping[str, float],
    weights: Mapping[str, float],
    ratings: Mapping[str, Mapping[str, float]],
) -> float:
    """Evidence of strategies that did not deliver a node and still know something of it."""
    if not scores.keys() & weights.keys():
        return 0.0
    return sum(
        weights[name] * to_evidence(nodes[node])
        for name, nodes in sorted(ratings.items())
        if name in weights and name not in scores and node in nodes
    )


def _combined(scores: Mapping[str, float], weights: Mapping[str, float], unsaid: float) -> float:
    # sorted, because a sum of floats depends on its order
    evidence = [
        weights[name] * max(0.0, to_evidence(score))
        for name, score in sorted(scores.items())
        if name in weights
    ]
    added = [to_relevance(sum(evidence) + unsaid)] if evidence else []
    alone = [score for name, score in scores.items() if name not in weights]
    return max((*added, *alone))
