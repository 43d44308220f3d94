"""Any LangChain vector store as a backend that embeds the question itself."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from acms_adapters.errors import RequestError
from acms_adapters.langchain.stores.hits import to_hits
from acms_adapters.models import SearchHit
from acms_adapters.models.base import repair_text
from acms_adapters.models.scores import by_place, rescale
from acms_adapters.models.wanted import Wanted, find_enough

Scores = Literal["relevance", "similarity", "distance", "rank"]
"""What a store's scores are: its own relevance in [0, 1]; raw, higher is better (for
`min_similarity`, cosines); raw, lower is better; or nothing, so that places count."""

logger = logging.getLogger(__name__)

_TOLERANCE = 1e-9
_RELEVANCE = (
    "similarity_search_with_relevance_scores",
    "_similarity_search_with_relevance_scores",
    "_select_relevance_score_fn",
)


class VectorStoreBackend:
    """Searches a vector store by text (rulings B1, M7).

    Args:
        store: The store; thread-safe.
        scores: What its scores are. Left out, its own relevance where it has one, cosine for
            `InMemoryVectorStore`, else ``rank``: the direction of raw scores is never guessed.
        filter_builder: Makes the store's own ``filter`` of wanted metadata. It may let too much
            pass, never too little: hits are filtered once more. Without it the store is asked for
            more and more documents until enough pass.

    Raises:
        ValueError: `scores` is none of the four.
    """

    def __init__(
        self,
        store: VectorStore,
        *,
        scores: Scores | None = None,
        filter_builder: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        if scores is not None and scores not in get_args(Scores):
            raise RequestError(f"scores must be one of {get_args(Scores)}, not {scores!r}")
        self.store = store
        self.scores: Scores = scores or _known_scores(store)
        self._filter_builder = filter_builder

    def search_text(
        self,
        query: str,
        *,
        top_k: int = 20,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        min_similarity: float = 0.0,
    ) -> list[SearchHit]:
        """Documents whose vectors are near that of `query`, best first.

        `min_similarity` bounds scores that are declared as ``similarity``; the others are not
        comparable with a cosine, and it does nothing.
        """
        if top_k < 1 or not query.strip():
            return []
        wanted = Wanted(scope=scope, resource_types=resource_types, metadata=metadata_filter)

        def ask(number: int) -> tuple[list[SearchHit], bool]:
            pairs = self._pairs(repair_text(query), number, metadata_filter)
            near = [p for p in pairs if self.scores != "similarity" or p[1] >= min_similarity]
            has_more = bool(wanted) and number <= len(pairs) == len(near)
            return list(filter(wanted.admits, self._hits(near))), has_more

        return find_enough(top_k, ask)

    def _pairs(
        self, query: str, k: int, metadata: Mapping[str, Any] | None
    ) -> list[tuple[Document, float]]:
        options: dict[str, Any] = {"k": k}
        if metadata and self._filter_builder is not None:
            options["filter"] = self._filter_builder(metadata)
        store = self.store
        if self.scores == "rank":
            found = store.similarity_search(query, **options)
            return list(zip(found, by_place(len(found)), strict=True))
        if self.scores == "relevance":
            # the public method warns of every score outside [0, 1], and nothing is wrong with them
            is_own = _overrides(store, _RELEVANCE[0])
            search = getattr(store, _RELEVANCE[0] if is_own else _RELEVANCE[1])
        else:
            search = store.similarity_search_with_score
        return [(document, float(score)) for document, score in search(query, **options)]

    def _hits(self, pairs: Sequence[tuple[Document, float]]) -> list[SearchHit]:
        scores = [score for _, score in pairs]
        if self.scores == "distance":
            relevance = _closeness(scores)
        elif self.scores == "relevance" and _contradicts_order(scores):
            logger.info("%s gives relevance against its own order", type(self.store).__name__)
            relevance = by_place(len(scores))
        else:
            relevance = rescale(scores)
        hits = to_hits([document for document, _ in pairs], relevance)
        return sorted(hits, key=lambda hit: (-hit.score, hit.uko_node))


def _contradicts_order(scores: Sequence[float]) -> bool:
    """Whether a later hit is said to be the better one.

    LangChain's own function for inner products says so: it gives the nearest of all a 0.
    """
    known = [score for score in scores if not math.isnan(score)]
    return any(later > earlier + _TOLERANCE for earlier, later in pairwise(known))


def _closeness(distances: Sequence[float]) -> list[float]:
    if all(distance >= 0.0 or math.isnan(distance) for distance in distances):
        return rescale([1.0 / (1.0 + distance) for distance in distances])
    return rescale([-distance for distance in distances])  # of inner products, for example


def _known_scores(store: VectorStore) -> Scores:
    if isinstance(store, InMemoryVectorStore):
        return "similarity"
    return "relevance" if any(_overrides(store, name) for name in _RELEVANCE) else "rank"


def _overrides(store: VectorStore, name: str) -> bool:
    return getattr(type(store), name) is not getattr(VectorStore, name)
