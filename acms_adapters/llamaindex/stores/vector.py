"""Any LlamaIndex vector store as a backend."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore import BaseDocumentStore
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from acms_adapters.backends.embedders import as_embedder
from acms_adapters.errors import BackendError, RequestError
from acms_adapters.llamaindex.stores.hits import to_hit
from acms_adapters.models import SearchHit
from acms_adapters.models.base import repair_text
from acms_adapters.models.scores import by_place, rescale
from acms_adapters.models.wanted import Wanted, find_enough

_TOLERANCE = 1e-6
_DIGITS = 6

ToCosine = Callable[[float], float]


class VectorStoreBackend:
    """Searches a LlamaIndex vector store by vectors alone (rulings B1, M7).

    Filters are applied to what comes back, and the store is asked for more until enough pass,
    because what stores can filter by differs.

    Args:
        store: The store; thread-safe.
        docstore: Where the nodes are, for a store that keeps only their vectors.
        to_cosine: From what the store calls a similarity to a raw cosine. Left out, cosines are
            known of `SimpleVectorStore` alone. Of others the order of the answer counts: what they
            call similarities are distances in some, and then each place has a score. And
            `min_similarity` does nothing, since it cannot be compared with a cosine.

    Raises:
        ValueError: The store keeps no texts and there is no docstore.
    """

    def __init__(
        self,
        store: BasePydanticVectorStore,
        *,
        docstore: BaseDocumentStore | None = None,
        to_cosine: ToCosine | None = None,
    ) -> None:
        if docstore is None and not store.stores_text:
            raise RequestError(
                f"{type(store).__name__} keeps no texts: pass the docstore that has its nodes"
            )
        self.store = store
        self._docstore = docstore
        self._to_cosine = to_cosine or (float if isinstance(store, SimpleVectorStore) else None)

    def similarity_search(
        self,
        embedding: Sequence[float],
        *,
        top_k: int = 20,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        min_similarity: float = 0.0,
    ) -> list[SearchHit]:
        """Nodes whose raw cosine to `embedding` is at least `min_similarity`, best first."""
        wanted = Wanted(scope=scope, resource_types=resource_types, metadata=metadata_filter)
        asked = VectorStoreQuery(query_embedding=[float(value) for value in embedding])
        bound = min_similarity if self._to_cosine is not None else None
        return self._found(asked, top_k, wanted, bound)

    def _found(
        self, query: VectorStoreQuery, top_k: int, wanted: Wanted, bound: float | None
    ) -> list[SearchHit]:
        if top_k < 1:
            return []

        def ask(number: int) -> tuple[list[tuple[SearchHit, float]], bool]:
            pairs = self._query(replace(query, similarity_top_k=number))
            near = [p for p in pairs if bound is None or p[1] >= bound - _TOLERANCE]
            has_more = bool(wanted) and number <= len(pairs) == len(near)
            return [pair for pair in self._hits(near) if wanted.admits(pair[0])], has_more

        return _scored(find_enough(top_k, ask))

    def _query(self, query: VectorStoreQuery) -> list[tuple[BaseNode | str, float]]:
        """Nodes, or ids of nodes, with their similarities, nearest first."""
        try:
            result = self.store.query(query)
        except Exception as error:
            raise BackendError(
                f"{type(self.store).__name__} cannot be searched: {type(error).__name__}: {error}"
            ) from error
        found: Sequence[BaseNode | str] = result.nodes or result.ids or ()
        given = [float(score) for score in result.similarities or ()]
        if self._to_cosine is None:
            scores = given if _descends(given, len(found)) else by_place(len(found))
            return list(zip(found, scores, strict=True))
        pairs = zip(found, map(self._to_cosine, given), strict=True)
        return sorted(pairs, key=lambda pair: (-_rounded(pair[1]), _name(pair[0])))

    def _hits(self, pairs: Sequence[tuple[BaseNode | str, float]]) -> list[tuple[SearchHit, float]]:
        names = [_name(node) for node, _ in pairs]
        known: dict[str, BaseNode] = {}
        if self._docstore is not None and names:
            kept = self._docstore.get_nodes(names, raise_error=False)
            known = {node.node_id: node for node in kept}
        hits: dict[str, tuple[SearchHit, float]] = {}
        for node, score in pairs:
            whole = known.get(_name(node)) or (None if isinstance(node, str) else node)
            if whole is not None:
                hits.setdefault(whole.node_id, (to_hit(whole), score))
        return list(hits.values())


class HybridStoreBackend:
    """Searches a LlamaIndex vector store in a mode of its own, which reads the question's words.

    A store takes a mode that it does not know for the default one without a word, so that only who
    knows the store can declare it.

    Args:
        store: The store; thread-safe.
        mode: Such as ``hybrid`` or ``semantic_hybrid``.
        embedder: Embeds questions; anything `as_embedder` reads.
        docstore: Where the nodes are, for a store that keeps only their vectors.
        alpha: Weight of the vectors, 0 to 1, where the store looks at it.

    Raises:
        ValueError: The store keeps no texts and there is no docstore.
    """

    def __init__(
        self,
        store: BasePydanticVectorStore,
        *,
        mode: VectorStoreQueryMode | str,
        embedder: object,
        docstore: BaseDocumentStore | None = None,
        alpha: float | None = None,
    ) -> None:
        self._dense = VectorStoreBackend(store, docstore=docstore)
        self._mode = VectorStoreQueryMode(mode)
        self._embedder = as_embedder(embedder)
        self._alpha = alpha

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
        """Nodes that the store finds, best first; its scores are no cosines and have no bound."""
        question = repair_text(query)
        if not question.strip():
            return []
        asked = VectorStoreQuery(
            query_embedding=[float(value) for value in self._embedder.embed_query(question)],
            query_str=question,
            mode=self._mode,
            alpha=self._alpha,
        )
        wanted = Wanted(scope=scope, resource_types=resource_types, metadata=metadata_filter)
        return self._dense._found(asked, top_k, wanted, None)


def _descends(scores: Sequence[float], count: int) -> bool:
    """Whether there is a score for each place, and none is better than the one before."""
    return len(scores) == count and all(a >= b for a, b in pairwise(scores))


def _rounded(score: float) -> float:
    return -math.inf if math.isnan(score) else round(score, _DIGITS)


def _name(node: BaseNode | str) -> str:
    return node if isinstance(node, str) else node.node_id


def _scored(hits: Sequence[tuple[SearchHit, float]]) -> list[SearchHit]:
    scores = rescale([score for _, score in hits])
    return [replace(hit, score=score) for (hit, _), score in zip(hits, scores, strict=True)]
