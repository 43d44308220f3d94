"""Stores of LangChain as backends of the pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore

from acms_adapters.errors import RequestError
from acms_adapters.langchain.stores.text import RetrieverTextBackend
from acms_adapters.langchain.stores.vector import VectorStoreBackend
from acms_adapters.protocols import (
    BackendSet,
    GraphBackend,
    SearchesText,
    TemporalBackend,
    TextBackend,
)

_KINDS: tuple[tuple[str, type], ...] = (
    ("vector", SearchesText),
    ("graph", GraphBackend),
    ("temporal", TemporalBackend),
    ("text", TextBackend),
)


def read_stores(stores: Iterable[Any]) -> BackendSet:
    """Stores as a set of backends: vector stores, retrievers, or backends as they are.

    Raises:
        RequestError: There is none, one is nothing that can be asked, or two are of a kind.
    """
    found: dict[str, Any] = {}
    for store in stores:
        kind, backend = _read(store)
        if kind in found:
            raise RequestError(f"there can be one {kind} backend, and {store!r} is the second")
        found[kind] = backend
    if not found:
        raise RequestError("name at least one store to retrieve from")
    return BackendSet(**found)


def _read(store: Any) -> tuple[str, Any]:
    if isinstance(store, VectorStore):
        return "vector", VectorStoreBackend(store)
    if isinstance(store, Runnable):
        return "text", RetrieverTextBackend(store)
    for kind, protocol in _KINDS:
        if isinstance(store, protocol):
            return kind, store
    raise RequestError(f"expected a vector store, a retriever or a backend, not {store!r}")
