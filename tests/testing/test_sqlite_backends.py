"""Text, graph and time in one SQLite file pass the suites, in a file and in memory."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from acms_adapters.backends.sqlite import (
    SQLiteGraphBackend,
    SQLiteStore,
    SQLiteTemporalBackend,
    SQLiteTextBackend,
)
from acms_adapters.models import Edge, IndexedNode, IndexedResource, SearchHit
from acms_adapters.testing import (
    GraphBackendCompliance,
    TemporalBackendCompliance,
    TextBackendCompliance,
)


def fill(store: SQLiteStore, documents: Sequence[SearchHit], edges: Sequence[Edge] = ()) -> None:
    """One resource for each node, and one for the edges."""
    for item in documents:
        node = IndexedNode(
            uko_node=item.uko_node,
            kind="document",
            resource_uri=item.provenance.resource_uri,
            resource_type=item.provenance.resource_type,
            fields={"body": item.content or ""},
            renderings={9: item.content or ""},
            metadata=item.metadata,
            created_at=item.created_at,
        )
        store.replace(IndexedResource(resource_uri=item.uko_node, content_hash="1", nodes=(node,)))
    if edges:
        store.replace(
            IndexedResource(resource_uri="edges:", content_hash="1", nodes=(), edges=tuple(edges))
        )


class InFile:
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> Iterator[None]:
        self.folder, self.stores = tmp_path, []
        yield
        for store in self.stores:
            store.close()

    def new_store(self, **options: object) -> SQLiteStore:
        self.stores.append(SQLiteStore(self.folder / f"{len(self.stores)}.db", **options))
        return self.stores[-1]


class InMemory(InFile):
    def new_store(self, **options: object) -> SQLiteStore:
        self.stores.append(SQLiteStore(None, **options))
        return self.stores[-1]


class TestSQLiteText(InFile, TextBackendCompliance):
    """B1, B2, B3, B4, B5, B9, M7."""

    def make_backend(self, documents: Sequence[SearchHit]) -> SQLiteTextBackend:
        store = self.new_store()
        with store.transaction():
            fill(store, documents)
        return store.text


class TestSQLiteTextInMemory(InMemory, TestSQLiteText):
    pass


class TestSQLiteGraph(InFile, GraphBackendCompliance):
    """B1, B3, B4, B5, B6."""

    def make_backend(
        self, documents: Sequence[SearchHit], edges: Sequence[Edge]
    ) -> SQLiteGraphBackend:
        store = self.new_store()
        with store.transaction():
            fill(store, documents, edges)
        return store.graph


class TestSQLiteGraphInMemory(InMemory, TestSQLiteGraph):
    pass


class TestSQLiteTemporal(InFile, TemporalBackendCompliance):
    """B1, B3, M5, M8, T1, T2, T3."""

    def make_backend(self, clock: Callable[[], datetime]) -> SQLiteTemporalBackend:
        return self.new_store(clock=clock).temporal


class TestSQLiteTemporalInMemory(InMemory, TestSQLiteTemporal):
    pass
