"""Asking the text and the vector backend, and what their hits together say about a node."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from acms_adapters.errors import StrategyError
from acms_adapters.models import ContextRequest, SearchHit, StrategyOptions
from acms_adapters.models.scores import rescale, to_evidence, to_relevance
from acms_adapters.protocols import BackendSet, SearchesText, VectorBackend
from acms_strategies.answers import hits
from acms_strategies.crew import Crew

TEXT_WEIGHT = 0.35
VECTOR_WEIGHT = 0.65
"""How much a deviation above the mean of each index counts.

Measured as the best sum on questions about code and about encyclopaedia pages alike; scores of
words spread two to three times as far as those of vectors."""

PATIENCE = 0.5
"""Part of a strategy's time that it waits for text and vectors when it asks both."""

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
    answer = backends.text.search(words, max_results=limit, **filters(request))
    return _clean(hits(answer, most=limit, source="text"))


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
        answer = vector.similarity_search(embedded, min_similarity=least, **options)
        reliability = float(getattr(embedder, "reliability", 1.0))
        return _clean(hits(answer, most=limit, source="vector"), reliability=reliability)
    if isinstance(vector, SearchesText):
        answer = vector.search_text(words, min_similarity=threshold or 0.0, **options)
        return _clean(hits(answer, most=limit, source="vector"))
    raise StrategyError("the vector backend needs an embedder in the backend set")


def _clean(found: Sequence[SearchHit], *, reliability: float = 1.0) -> list[SearchHit]:
    """The hits with scores in [0, 1] whatever the backend calls a score (ruling M7).

    Args:
        reliability: How far their evidence counts, 0 to 1.
    """
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
    for arm, weight in ((text, TEXT_WEIGHT), (vector, VECTOR_WEIGHT)):
        for hit in arm:
            found.hits.setdefault(hit.uko_node, hit)
            evidence = weight * max(0.0, to_evidence(hit.score))
            found.weights[hit.uko_node] = found.of(hit.uko_node) + evidence
    return found


def gather(
    words: str,
    request: ContextRequest,
    backends: BackendSet,
    *,
    limit: int,
    crew: Crew,
    seconds: float,
    workers: int = 2,
) -> Evidence:
    """What text and vectors say, where they can be asked.

    One that fails or does not answer in time says nothing; the strategy that is about this backend
    reports it.

    Args:
        limit: Most hits of each.
        crew: Asks them beside each other.
        seconds: How long to wait for them.
        workers: With 1, one after the other.
    """
    asked = [backends.text is not None and search_words, can_embed(backends) and search_near]
    searches = [
        partial(search, words, request, backends, limit=limit) if search and words else _nothing
        for search in asked
    ]
    if not any(search is not _nothing for search in searches):
        return Evidence()
    text, vector = map(_said, crew.beside(*searches, seconds=seconds, workers=workers))
    return weigh(text, vector)


def patience(backends: BackendSet, options: StrategyOptions) -> float:
    """Seconds to wait for backends beside each other, so that some are left without them."""
    return PATIENCE * (options.timeout_seconds if backends.seconds is None else backends.seconds)


def _nothing() -> list[SearchHit]:
    return []


def _said(outcome: list[SearchHit] | BaseException) -> list[SearchHit]:
    if not isinstance(outcome, BaseException):
        return outcome
    if not isinstance(outcome, Exception):
        raise outcome  # it is to stop
    logger.info("a search says nothing: %s: %s", type(outcome).__name__, outcome)
    return []
