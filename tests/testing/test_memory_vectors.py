"""Vectors in memory pass the suite, with texts of their own and with those of another store."""

from collections.abc import Sequence

from acms_adapters.backends.vectors import MemoryVectorBackend, VectorIndex
from acms_adapters.models import SearchHit
from acms_adapters.testing import VectorBackendCompliance


def fill(
    index: VectorIndex, documents: Sequence[SearchHit], vectors: Sequence[Sequence[float]]
) -> None:
    index.upsert(
        [item.uko_node for item in documents],
        vectors,
        resource_uris=[item.provenance.resource_uri for item in documents],
        resource_types=[item.provenance.resource_type for item in documents],
        contents=[item.content for item in documents],
        metadatas=[item.metadata for item in documents],
    )


class TestMemoryVectors(VectorBackendCompliance):
    """B1, B3, B4, B5, B7, M7."""

    def make_backend(
        self, documents: Sequence[SearchHit], vectors: Sequence[Sequence[float]]
    ) -> MemoryVectorBackend:
        backend = MemoryVectorBackend()
        fill(backend, documents, vectors)
        return backend


class TestMemoryVectorsBesideAnotherStore(TestMemoryVectors):
    def make_backend(
        self, documents: Sequence[SearchHit], vectors: Sequence[Sequence[float]]
    ) -> MemoryVectorBackend:
        store = super().make_backend(documents, vectors)

        def hydrate(nodes: Sequence[str]) -> dict[str, SearchHit]:
            known = store._records
            return {node: known[node].hit() for node in nodes if node in known}

        backend = MemoryVectorBackend(hydrate=hydrate)
        fill(backend, documents, vectors)
        return backend
