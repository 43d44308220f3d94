"""Asking the text and the vector backend, and what their hits together say about a node."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from acms_adapters.errors import StrategyError
from acms_adapters.models import ContextRequest, SearchHit
from acms_adapters.models.scores import rescale, to_evidence, to_relevance
from acms_adapters.protocols import BackendSet, SearchesText, VectorBackend

TEXT_WEIGHT = 0.35
VECTOR_WEIGHT = 0.65
"""How much a deviation above the mean of each index counts.

Measured as the best sum on questions about code and about encyclopaedia pages alike; scores of
words spread two to three times as far as those of vectors."""

logger = logging.getLogger("acms_adapters")


def filters(request: ContextRequest) -> dict[str, Any]:
    """What every search is told: scope, resource types and metadata."""
    return {
        "scope": request.scope,
        "resource_types": request.resource_types or None,
        "metadata_filter": request.metadata_filter,
    }


def can_embed(backends: BackendSet) -> bool:
    """Whether a question can be put to the vector backend."""
    vector = backends.vector
    if isinstance(vector, SearchesText):
        return True
    return isinstance(vector, VectorBackend) and backends.embedder is not None


def search_words(
    words: str, request: ContextRequest, backends: BackendSet, *, limit: int
) -> list[SearchHit]:
    """Hits of the text backend, best first, with their relevance."""
    if backends.text is None or not words:
        return []
    return _clean(backends.text.search(words, max_results=limit, **filters(request)))


def search_near(
    words: str,
    request: ContextRequest,
    backends: BackendSet,
    *,
    limit: int,
    threshold: float | None = None,
) -> list[SearchHit]:
    """Hits of the vector backend, best first, with their relevance.

    Args:
        threshold: Raw cosine that a hit must have; None takes the embedder's own (ruling B7).

    Raises:
        StrategyError: Nothing there can embed the words.
    """
    vector, embedder = backends.vector, backends.embedder
    if vector is None or not words:
        return []
    options = {"top_k": limit, **filters(request)}
    if embedder is not None and isinstance(vector, VectorBackend):
        least = embedder.similarity_threshold if threshold is None else threshold
        embedded = embedder.embed_query(words)
        hits = vector.similarity_search(embedded, min_similarity=least, **options)
        return _clean(hits, reliability=float(getattr(embedder, "reliability", 1.0)))
    if isinstance(vector, SearchesText):
        return _clean(vector.search_text(words, min_similarity=threshold or 0.0, **options))
    raise StrategyError("the vector backend needs an embedder in the backend set")


def _clean(hits: Iterable[SearchHit], *, reliability: float = 1.0) -> list[SearchHit]:
    """The hits with scores in [0, 1] whatever the backend calls a score (ruling M7).

    Args:
        reliability: How far their evidence counts, 0 to 1.
    """
    found = list(hits)
    scores = rescale([hit.score for hit in found])
    if reliability != 1.0:
        scores = [to_relevance(reliability * to_evidence(score)) for score in scores]
    return [
        hit if hit.score == score else replace(hit, score=score)
        for hit, score in zip(found, scores, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the first hits say about the question.

    Attributes:
        hits: Each node that was found, as it was found first.
        weights: Evidence for each of them: weighted deviations above the mean.
    """

    hits: dict[str, SearchHit] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def of(self, node: str) -> float:
        """Evidence for a node; 0 when nothing found it."""
        return self.weights.get(node, 0.0)

    def best(self, count: int) -> list[str]:
        """The nodes with the most evidence."""
        return sorted(self.weights, key=lambda node: (-self.weights[node], node))[:count]


def weigh(text: Sequence[SearchHit], vector: Sequence[SearchHit]) -> Evidence:
    """Add up what both arms say."""
    found = Evidence()
    for hits, weight in ((text, TEXT_WEIGHT), (vector, VECTOR_WEIGHT)):
        for hit in hits:
            found.hits.setdefault(hit.uko_node, hit)
            evidence = weight * max(0.0, to_evidence(hit.score))
            found.weights[hit.uko_node] = found.of(hit.uko_node) + evidence
    return found


def gather(words: str, request: ContextRequest, backends: BackendSet, *, limit: int) -> Evidence:
    """What text and vectors say, where they can be asked; one that fails says nothing."""
    return weigh(
        _try(search_words, words, request, backends, limit=limit),
        _try(search_near, words, request, backends, limit=limit) if can_embed(backends) else [],
    )


def _try(search: Callable[..., list[SearchHit]], *args: Any, limit: int) -> list[SearchHit]:
    try:
        return search(*args, limit=limit)
    except Exception as error:  # the strategy that is about this backend reports it
        logger.info("%s says nothing: %s: %s", search.__name__, type(error).__name__, error)
        return []
