"""The plain backends pass the suites, and the suites skip what is not declared."""

from collections.abc import Callable, Sequence
from datetime import datetime

from acms_adapters.models import Edge, SearchHit
from acms_adapters.testing import (
    GraphBackendCompliance,
    PlainGraph,
    PlainTemporal,
    PlainText,
    PlainVectors,
    TemporalBackendCompliance,
    TextBackendCompliance,
    VectorBackendCompliance,
)


class TestPlainText(TextBackendCompliance):
    capabilities = TextBackendCompliance.capabilities - {"identifiers", "stemming"}

    def make_backend(self, documents: Sequence[SearchHit]) -> PlainText:
        return PlainText(documents)


class TestPlainVectors(VectorBackendCompliance):
    def make_backend(
        self, documents: Sequence[SearchHit], vectors: Sequence[Sequence[float]]
    ) -> PlainVectors:
        return PlainVectors(documents, vectors)


class TestPlainGraph(GraphBackendCompliance):
    def make_backend(self, documents: Sequence[SearchHit], edges: Sequence[Edge]) -> PlainGraph:
        return PlainGraph(documents, edges)


class TestPlainTemporal(TemporalBackendCompliance):
    def make_backend(self, clock: Callable[[], datetime]) -> PlainTemporal:
        return PlainTemporal(clock)
