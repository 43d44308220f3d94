"""The calls to one collection of Chroma, and what it gets wrong by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from acms_adapters.backends.chroma.crowds import WIDTH, Crowds, is_tied
from acms_adapters.backends.chroma.failures import DamagedVectorsError, translated
from acms_adapters.backends.chroma.record import (
    CollectionRecord,
    kept_hit,
    node_hash,
    node_metadata,
)
from acms_adapters.backends.vectors.records import Vector, VectorRecord, unit
from acms_adapters.backends.vectors.scan import Scan
from acms_adapters.backends.vectors.search import Candidate, rank
from acms_adapters.models.hit import SearchHit

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

BATCH = 2_000
"""Rows of a call; Chroma itself takes some 5,400 at most."""


@dataclass(frozen=True, slots=True)
class Table:
    """A collection as it is now.

    Attributes:
        crowds: Remembers what was read for exact answers; without it Chroma's graph answers.
        is_old: The engine does not know what others wrote since, and fails where it is to read it.
    """

    collection: Collection
    record: CollectionRecord
    place: str
    batch: int = BATCH
    crowds: Crowds | None = None
    is_old: bool = False

    def count(self, where: dict[str, Any] | None = None) -> int:
        """How many nodes there are, or meet a condition."""
        with translated(self.place):
            if where is None:
                return self.collection.count()
            return len(self.collection.get(where=where, include=[])["ids"])

    def nodes(self) -> list[str]:
        """All nodes."""
        with translated(self.place):
            return list(self.collection.get(include=[])["ids"])

    def hashes(self) -> dict[str, str]:
        """The hash of each node's text."""
        return {
            node: node_hash(metadata)
            for page in self._pages(["metadatas"])
            for node, metadata in zip(page["ids"], page["metadatas"], strict=True)
        }

    def vectors(self, nodes: Sequence[str]) -> Vector:
        """Rows of length 1 of those nodes that are there."""
        return self.known_vectors(nodes)[1]

    def known_vectors(self, nodes: Sequence[str]) -> tuple[list[str], Vector]:
        """Those nodes that are there, and their rows of length 1."""
        if self.is_old:
            unknown = set(self._unreadable(nodes, None)) if nodes else set()
            nodes = [node for node in nodes if node not in unknown]
        if not nodes:
            return [], np.zeros((0, 0), dtype=np.float32)
        with translated(self.place):
            found = self.collection.get(ids=list(nodes), include=["embeddings"])
        return list(found["ids"]), unit(np.asarray(found["embeddings"], dtype=np.float32))

    def unreadable(self) -> list[str]:
        """Nodes whose vector is lost or no vector."""
        nodes, lost = self.nodes(), []
        for start in range(0, len(nodes), self.batch):
            lost += self._unreadable(nodes[start : start + self.batch], self.record.dimensions)
        return lost

    def _unreadable(self, nodes: Sequence[str], size: int | None) -> list[str]:
        try:
            with translated(self.place):
                page = self.collection.get(ids=list(nodes), include=["embeddings"])
        except DamagedVectorsError:  # one lost vector fails the whole call
            half = len(nodes) // 2
            if not half:
                return list(nodes)
            return [*self._unreadable(nodes[:half], size), *self._unreadable(nodes[half:], size)]
        rows: Any = page["embeddings"]
        whole = {
            node
            for node, row in zip(page["ids"], rows, strict=True)
            if len(row) == (size or len(row)) and np.isfinite(row).all()
        }
        return [node for node in nodes if node not in whole]

    def dimensions(self) -> int | None:
        """Length of the vectors; None while there are none."""
        if self.record.dimensions is not None or self.is_old:
            return self.record.dimensions
        with translated(self.place):
            first = self.collection.get(limit=1, include=["embeddings"])["embeddings"]
        return None if first is None or len(first) == 0 else len(first[0])

    def wake(self) -> None:
        """Let the engine read its files now, while nobody writes them."""
        size = self.dimensions()
        if size is not None:
            self.nearest(np.zeros(size, dtype=np.float32), 1)

    def nearest(
        self,
        query: Vector,
        size: int,
        *,
        where: dict[str, Any] | None = None,
        kept: dict[str, SearchHit] | None = None,
    ) -> list[Candidate]:
        """The nearest nodes, fewer than `size` only if there are no more.

        Args:
            query: Of length 1.
            size: At least 1.
            where: Chroma's condition.
            kept: Takes up what Chroma itself holds of the nodes.
        """
        if self.is_old and self.record.whole and self.record.dimensions is None:
            return []  # what was before is nothing, of which the engine cannot answer
        if self._is_crowded():
            return self._exact(query, size, where=where, kept=kept)
        asked: Any = [query]
        wide = size if self.crowds is None else max(size, WIDTH)
        with translated(self.place):
            found: Mapping[str, Any] = self.collection.query(
                query_embeddings=asked,
                n_results=wide,
                where=where,
                include=self._include("distances", kept=kept),
            )
        page = {key: value[0] for key, value in found.items() if value and key != "included"}
        candidates = self._candidates(page, query, kept=kept)
        if self._lacks(len(candidates), size, where):
            # its graph loses nodes behind conditions
            return self._one_by_one(query, size, where=where, kept=kept)
        if self.crowds is not None and is_tied(candidates):
            self.crowds.note(self.record)
            return self._exact(query, size, where=where, kept=kept)
        return rank(candidates)[:size]

    def _lacks(self, found: int, size: int, where: dict[str, Any] | None) -> bool:
        return not self.is_old and found < size and found < min(size, self.count(where))

    def _is_crowded(self) -> bool:
        """Whether the graph cannot be relied on."""
        crowds, sample = self.crowds, self.record.sample or ()
        return crowds is not None and crowds.is_crowded(
            self.record, lambda: self.vectors(sample), count=self.count
        )

    def _exact(
        self,
        query: Vector,
        size: int,
        *,
        where: dict[str, Any] | None,
        kept: dict[str, SearchHit] | None,
    ) -> list[Candidate]:
        # what others write gives no other stamp
        if self.crowds is None or not (self.record.stamp and self.record.whole):
            return self._one_by_one(query, size, where=where, kept=kept)
        scan = self.crowds.scan(self.record, self._read)
        return self._scanned(scan, query, size, where=where, kept=kept)

    def _read(self) -> Scan:
        nodes, size = self.nodes(), self.dimensions() or 0
        starts = range(0, len(nodes), self.batch)
        pages = (self.known_vectors(nodes[start : start + self.batch]) for start in starts)
        return Scan.of_pages(nodes, pages, size=size)

    def _scanned(
        self,
        scan: Scan,
        query: Vector,
        size: int,
        *,
        where: dict[str, Any] | None,
        kept: dict[str, SearchHit] | None,
    ) -> list[Candidate]:
        among = None
        if where is not None:
            with translated(self.place):
                among = self.collection.get(where=where, include=[])["ids"]
        candidates = scan.nearest(query, size, among=among)
        if kept is None:
            return candidates
        for start in range(0, len(candidates), self.batch):
            nodes = [node for node, _ in candidates[start : start + self.batch]]
            with translated(self.place):
                page: Any = self.collection.get(ids=nodes, include=["metadatas", "documents"])
            _keep(page, kept)
        return [candidate for candidate in candidates if candidate[0] in kept]

    def _one_by_one(
        self,
        query: Vector,
        size: int,
        *,
        where: dict[str, Any] | None,
        kept: dict[str, SearchHit] | None,
    ) -> list[Candidate]:
        best: list[Candidate] = []
        for page in self._pages(self._include("embeddings", kept=kept), where=where):
            best = rank([*best, *self._candidates(page, query, kept=kept)])[:size]
        return best

    def _candidates(
        self, page: Mapping[str, Any], query: Vector, *, kept: dict[str, SearchHit] | None
    ) -> list[Candidate]:
        if not page["ids"]:
            return []
        if kept is not None:
            _keep(page, kept)
        if page.get("embeddings") is None:
            cosines = 1.0 - np.asarray(page["distances"], dtype=np.float64)
        else:
            rows_of_one = unit(np.asarray(page["embeddings"], dtype=np.float32))
            cosines = (rows_of_one @ query).astype(np.float64)
        return list(zip(page["ids"], np.clip(cosines, -1.0, 1.0).tolist(), strict=True))

    def _include(self, values: str, *, kept: dict[str, SearchHit] | None) -> Any:
        # only in cosine space a distance tells the cosine
        shown = [values if self._space() == "cosine" else "embeddings"]
        return shown if kept is None else [*shown, "metadatas", "documents"]

    def _space(self) -> str:
        known = self.collection.configuration_json
        settings = known.get("hnsw") or known.get("spann") or {}
        return str(settings.get("space") or "l2")

    def _pages(
        self, include: Any, *, where: dict[str, Any] | None = None
    ) -> Iterator[Mapping[str, Any]]:
        offset = 0
        while True:
            with translated(self.place):
                page: Any = self.collection.get(
                    where=where, include=include, limit=self.batch, offset=offset
                )
            yield page
            if len(page["ids"]) < self.batch:
                return
            offset += self.batch

    def write(self, records: Sequence[VectorRecord], *, keep: bool) -> None:
        """Replace nodes, in batches."""
        for start in range(0, len(records), self.batch):
            rows = records[start : start + self.batch]
            vectors: Any = [row.vector for row in rows]
            with translated(self.place):
                self.collection.upsert(
                    ids=[row.node for row in rows],
                    embeddings=vectors,
                    metadatas=[node_metadata(row, keep=keep) for row in rows],
                )

    def remove(self, nodes: Sequence[str]) -> None:
        """Delete nodes, in batches."""
        for start in range(0, len(nodes), self.batch):
            with translated(self.place):
                self.collection.delete(ids=list(nodes[start : start + self.batch]))

    def note(self, record: CollectionRecord) -> None:
        """Keep what the collection says of itself."""
        with translated(self.place):
            self.collection.modify(metadata=record.metadata())


def _keep(page: Mapping[str, Any], kept: dict[str, SearchHit]) -> None:
    rows = zip(page["ids"], page["metadatas"], page["documents"], strict=True)
    kept.update((node, kept_hit(node, metadata, text)) for node, metadata, text in rows)
