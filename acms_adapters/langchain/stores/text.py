"""Anything that retrieves LangChain documents as a text backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import RetrieverLike

from acms_adapters.langchain.stores.hits import to_hits
from acms_adapters.models import SearchHit
from acms_adapters.models.base import repair_text
from acms_adapters.models.scores import by_place, rescale
from acms_adapters.models.wanted import Wanted


class RetrieverTextBackend:
    """Searches by asking a retriever, whose order is the ranking.

    Filters are applied to what comes back, so that a retriever with a small limit of its own may
    leave little. Its run lies below that of the strategy that asks.

    Args:
        retriever: A retriever, or any runnable from a question to documents; thread-safe.
        limit_argument: Name of the argument of a call that says how many documents are wanted,
            where the retriever has one, such as ``k``.
        score_key: Metadata key of a score, higher is better, where documents carry one.
    """

    def __init__(
        self,
        retriever: RetrieverLike,
        *,
        limit_argument: str | None = None,
        score_key: str | None = None,
    ) -> None:
        self.retriever = retriever
        self._limit_argument = limit_argument
        self._score_key = score_key

    def search(
        self,
        query: str,
        *,
        max_results: int = 20,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> list[SearchHit]:
        """Documents that the retriever finds, best first."""
        if max_results < 1 or not query.strip():
            return []
        wanted = Wanted(scope=scope, resource_types=resource_types, metadata=metadata_filter)
        options: dict[str, Any] = {}
        if self._limit_argument is not None and not wanted:
            options[self._limit_argument] = max_results
        documents = self.retriever.invoke(repair_text(query), **options)
        hits = filter(wanted.admits, to_hits(documents, self._scores(documents)))
        return sorted(hits, key=lambda hit: -hit.score)[:max_results]

    def _scores(self, documents: Sequence[Document]) -> list[float]:
        if self._score_key is None:
            return by_place(len(documents))
        return rescale([_number(d.metadata.get(self._score_key)) for d in documents])


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
