"""Fragments for strategies that see no backends (ruling S1)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from acms_adapters.models import (
    ContextFragment,
    ContextRequest,
    FragmentProvenance,
    SearchHit,
)
from acms_adapters.models.scores import rescale
from acms_adapters.protocols import BackendSet, SearchesText

logger = logging.getLogger(__name__)

_HITS = 100  # of each backend, as many as a strategy delivers unless told otherwise


def gather(request: ContextRequest, backends: BackendSet) -> list[ContextFragment]:
    """The request's candidates, or else the text and vector hits for it, each node once.

    A backend that fails is left out as long as the other one answers.
    """
    if backends.candidates:
        return list(backends.candidates)
    words = request.query or " ".join(request.keywords or ())
    if not words.strip():
        return []
    best: dict[str, ContextFragment] = {}
    failures: list[Exception] = []
    searches = _searches(words, request, backends)
    for search in searches:
        try:
            found = _fragments(list(islice(search(), _HITS)), backends)
        except Exception as error:
            logger.warning("a search for candidates failed: %r", error)
            failures.append(error)
            continue
        for fragment in found:
            known = best.get(fragment.uko_node)
            if known is None or known.relevance_score < fragment.relevance_score:
                best[fragment.uko_node] = fragment
    if failures and len(failures) == len(searches):
        raise failures[0]
    return sorted(best.values(), key=lambda f: (-f.relevance_score, f.uko_node))


def _searches(
    words: str, request: ContextRequest, backends: BackendSet
) -> list[Callable[[], Sequence[SearchHit]]]:
    options: dict[str, Any] = {
        "scope": request.scope,
        "resource_types": request.resource_types,
        "metadata_filter": request.metadata_filter,
    }
    searches: list[Callable[[], Sequence[SearchHit]]] = []
    text, vector, embedder = backends.text, backends.vector, backends.embedder
    if text is not None:
        searches.append(lambda: text.search(words, max_results=_HITS, **options))
    if isinstance(vector, SearchesText):
        searches.append(lambda: vector.search_text(words, top_k=_HITS, **options))
    elif vector is not None and embedder is not None:
        searches.append(
            lambda: vector.similarity_search(
                embedder.embed_query(words),
                top_k=_HITS,
                min_similarity=embedder.similarity_threshold,
                **options,
            )
        )
    return searches


def _fragments(hits: Sequence[SearchHit], backends: BackendSet) -> list[ContextFragment]:
    found = []
    for hit, score in zip(hits, rescale([hit.score for hit in hits]), strict=True):
        try:
            fragment = to_fragment(hit, score, backends)
        except ValueError as error:
            logger.warning("a hit for %r is no fragment: %s", hit.uko_node, error)
            continue
        if fragment.content:
            found.append(fragment)
    return found


def to_fragment(hit: SearchHit, score: float, backends: BackendSet) -> ContextFragment:
    """A hit as a fragment of that relevance; empty when nothing has its text.

    Raises:
        ValueError: What the backend delivered is out of a fragment's ranges.
    """
    content, depth, tokens = hit.content, hit.detail_depth, hit.token_count
    if content is None:
        source = backends.renderings
        rendering = source.at(hit.uko_node, depth) if source is not None else None
        content, tokens = "", 0
        if rendering is not None:
            content, depth = rendering.content, rendering.detail_depth
            tokens = rendering.token_count
    if tokens is None and backends.counter is not None:
        tokens = backends.counter.count(content)
    given: dict[str, Any] = {"token_count": tokens, "created_at": hit.created_at}
    return ContextFragment(
        uko_node=hit.uko_node,
        content=content,
        detail_depth=depth,
        relevance_score=score,
        tier=hit.tier,
        provenance=hit.provenance or FragmentProvenance(resource_uri=hit.uko_node),
        metadata=hit.metadata,
        **{name: value for name, value in given.items() if value is not None},
    )
