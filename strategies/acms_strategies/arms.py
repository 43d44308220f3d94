"""Asking the text and the vector backend, and what their hits together say about a node."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from acms_adapters.errors import StrategyError
from acms_adapters.models import ContextRequest, SearchHit, StrategyOptions
from acms_adapters.models.scores import rescale, to_evidence, to_relevance
from acms_adapters.protocols import (
    BackendSet,
    RatesNodes,
    SearchesText,
    TextBackend,
    VectorBackend,
)
from acms_strategies.answers import hits
from acms_strategies.crew import Crew

BY_WORDS, BY_NEARNESS = "simple-keyword", "semantic-embedding"
"""The strategies that stand for one arm each."""

TEXT_WEIGHT = 0.35
VECTOR_WEIGHT = 0.65
"""How much a deviation above the mean of each index counts.

Measured as the best sum on questions about code and about encyclopaedia pages alike; scores of
words spread two to three times as far as those of vectors."""

HISTORY_WEIGHT = 0.7
"""Weight of what the words of the last turn of a conversation say, beside the question's.

Measured on conversations about documentation and finance: from 0.7 to 1.5 recall hardly changes."""

SHARED_WORDS, SHARED_NEAR = 50, 100
"""Hits that are asked for at least where several strategies share a search."""

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
    """Hits of the text backend, best first, with their relevance.

    What was said last in the conversation counts as well, where the backend can rate nodes.
    """
    text: TextBackend | None = backends.text
    chosen, said = filters(request), (request.history or ("",))[-1]
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
    return [replace(found[n], score=to_relevance(evidence[n])) for n in ordered[:most]]


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
    return complete(weigh(text, vector), text, vector, words=words, backends=backends)


def complete(
    evidence: Evidence,
    text: Sequence[SearchHit],
    vector: Sequence[SearchHit],
    *,
    words: str,
    backends: BackendSet,
) -> Evidence:
    """Add what each arm says of the nodes that only the other one found.

    A node may be none of the first hits of an arm because it is just below them, or because
    nothing speaks for it there. Backends that cannot tell say nothing.
    """
    weights = dict(evidence.weights)
    for name, weight, there, ask in (
        (BY_WORDS, TEXT_WEIGHT, text, rate_words),
        (BY_NEARNESS, VECTOR_WEIGHT, vector, rate_near),
    ):
        known = {hit.uko_node for hit in there}
        missing = [node for node in weights if node not in known]
        rated = _try(ask, words, missing, backends) if known and missing else {}
        for node, relevance in rated.items():
            weights[node] += weight * to_evidence(relevance)
        if backends.memo is not None:
            backends.memo.note_ratings(name, rated)
    return Evidence(evidence.hits, weights)


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


def _try(ask: Callable[..., Mapping[str, float]], *arguments: Any) -> Mapping[str, float]:
    try:
        return ask(*arguments)
    except Exception as error:  # the search that just answered is what counts
        logger.info("%s says nothing: %s: %s", ask.__name__, type(error).__name__, error)
        return {}


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
