"""Asking the text and the vector backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from acms_adapters.errors import StrategyError
from acms_adapters.models import ContextRequest, SearchHit
from acms_adapters.models.scores import rescale, to_evidence, to_relevance
from acms_adapters.protocols import (
    BackendSet,
    RatesNodes,
    SearchesText,
    TextBackend,
    VectorBackend,
)
from acms_strategies.answers import hits

HISTORY_WEIGHT = 0.7
"""Weight of what the words of the last turn of a conversation say, beside the question's.

Measured on conversations about documentation and finance: from 0.7 to 1.5 recall hardly changes."""

HISTORY_CHARS = 4_000
"""Characters of that turn that are searched, because a long one costs as much as it is long."""

SHARED_WORDS, SHARED_NEAR = 50, 100
"""Hits that are asked for at least where several strategies share a search."""


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
    """Hits of the text backend, best first, with their relevance.

    What was said last in the conversation counts as well, where the backend can rate nodes.
    """
    text: TextBackend | None = backends.text
    chosen, said = filters(request), (request.history or ("",))[-1][:HISTORY_CHARS]
    if text is None or not words:
        return []

    def search(most: int) -> list[SearchHit]:
        answer = text.search(words, max_results=most, **chosen)
        found = _clean(hits(answer, most=most, source="text"))
        if not said or not isinstance(text, RatesNodes):
            return found
        answer = text.search(said, max_results=most, **chosen)
        return _in_context(found, _clean(hits(answer, most=most, source="text")), words, said, text)

    key = ("words", words, said, chosen)
    return _once(backends, key, search, limit=limit, shared=SHARED_WORDS)


def _in_context(
    asked: Sequence[SearchHit],
    before: Sequence[SearchHit],
    words: str,
    said: str,
    text: RatesNodes,
) -> list[SearchHit]:
    """Hits of the question and of what was said before it, by what both say of them."""
    found = {hit.uko_node: hit for hit in (*before, *asked)}
    evidence = dict.fromkeys(found, 0.0)
    for hits_of, question, weight in ((asked, words, 1.0), (before, said, HISTORY_WEIGHT)):
        known = {hit.uko_node: hit.score for hit in hits_of}
        known |= text.rate(question, [node for node in found if node not in known])
        for node, relevance in known.items():
            evidence[node] += weight * to_evidence(relevance)
    ordered = sorted(found, key=lambda node: (-evidence[node], node))
    most = max(len(asked), len(before))
    return [found[n].rated(to_relevance(evidence[n])) for n in ordered[:most]]


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
    chosen = filters(request)

    def search(most: int) -> list[SearchHit]:
        if embedder is not None and isinstance(vector, VectorBackend):
            least = embedder.similarity_threshold if threshold is None else threshold
            answer = vector.similarity_search(
                _embedded(words, backends), top_k=most, min_similarity=least, **chosen
            )
            return _clean(hits(answer, most=most, source="vector"), _reliability(backends))
        if isinstance(vector, SearchesText):
            answer = vector.search_text(
                words, top_k=most, min_similarity=threshold or 0.0, **chosen
            )
            return _clean(hits(answer, most=most, source="vector"))
        raise StrategyError("the vector backend needs an embedder in the backend set")

    key = ("near", words, chosen, threshold)
    return _once(backends, key, search, limit=limit, shared=SHARED_NEAR)


def _once(
    backends: BackendSet,
    key: object,
    search: Callable[[int], list[SearchHit]],
    *,
    limit: int,
    shared: int,
) -> list[SearchHit]:
    """A search that strategies of one request share; each takes as many hits as it wants."""
    if backends.memo is None:
        return search(limit)
    most = max(limit, shared)
    return backends.memo.once(repr((key, most)), lambda: search(most))[:limit]


def _embedded(words: str, backends: BackendSet) -> Sequence[float]:
    embedder = backends.embedder
    assert embedder is not None
    if backends.memo is None:
        return embedder.embed_query(words)
    return backends.memo.once(repr(("embedding", words)), lambda: embedder.embed_query(words))


def _reliability(backends: BackendSet) -> float:
    return float(getattr(backends.embedder, "reliability", 1.0))


def _clean(found: Sequence[SearchHit], reliability: float = 1.0) -> list[SearchHit]:
    """The hits with scores in [0, 1] whatever the backend calls a score (ruling M7).

    Args:
        reliability: How far their evidence counts, 0 to 1.
    """
    scores = rescale([hit.score for hit in found])
    if reliability != 1.0:
        scores = [to_relevance(reliability * to_evidence(score)) for score in scores]
    return [
        hit if hit.score == score else hit.rated(score)
        for hit, score in zip(found, scores, strict=True)
    ]


def rate_words(words: str, nodes: Sequence[str], backends: BackendSet) -> Mapping[str, float]:
    """Relevance that a search for words would give to nodes, where the backend can tell."""
    text: object = backends.text
    return text.rate(words, nodes) if isinstance(text, RatesNodes) else {}


def rate_near(words: str, nodes: Sequence[str], backends: BackendSet) -> Mapping[str, float]:
    """Relevance that a search near the words would give to nodes, where the backend can tell."""
    vector: object = backends.vector
    reliability = _reliability(backends)
    if backends.embedder is None or not isinstance(vector, RatesNodes):
        return {}
    rated = vector.rate(_embedded(words, backends), nodes)
    return {node: to_relevance(reliability * to_evidence(one)) for node, one in rated.items()}
