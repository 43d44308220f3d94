"""Vectors in memory, compared one by one: exact, and quick enough for tens of thousands."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acms_adapters.backends.vectors.calibration import (
    SMALLEST_SAMPLE,
    choose_sample,
    relevance,
)
from acms_adapters.backends.vectors.index import Hydrate
from acms_adapters.backends.vectors.records import (
    Vector,
    VectorRecord,
    check_size,
    cosines_of,
    node_ids,
    read_query,
    read_records,
    unit,
)
from acms_adapters.backends.vectors.scan import Scan
from acms_adapters.backends.vectors.search import Candidate, Wanted, collect, scored
from acms_adapters.errors import BackendError
from acms_adapters.models.hit import SearchHit


@dataclass(frozen=True, slots=True, kw_only=True)
class _Snapshot:
    """What a search reads; never changed, so searches need no lock.

    Attributes:
        scan: Nodes and their vectors.
        sample: Some of them, to take statistics over.
        records: All that is known of them.
        origins: Each resource and its type once.
        origin_of: For each node the place in `origins`.
    """

    scan: Scan
    sample: Vector
    records: Mapping[str, VectorRecord]
    origins: tuple[tuple[str, str], ...]
    origin_of: NDArray[np.int64]


class MemoryVectorBackend:
    """A vector index that lives and dies with the process; thread-safe.

    Args:
        embedder_name: The embedder whose vectors it will hold, for messages.
        hydrate: Where texts and metadata come from; left out, it keeps those it is given.
    """

    def __init__(self, *, embedder_name: str | None = None, hydrate: Hydrate | None = None) -> None:
        self.embedder_name = embedder_name
        self._hydrate = hydrate
        self._lock = threading.Lock()
        self._records: dict[str, VectorRecord] = {}
        self._snapshot: _Snapshot | None = None
        self._stamp = uuid.uuid4().hex
        self._dimensions: int | None = None
        self._closed = False

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors; None while there are none."""
        return self._dimensions

    @property
    def stamp(self) -> str:
        """Another one after every write."""
        return self._stamp

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
        wanted = Wanted(
            top_k=top_k,
            min_similarity=min_similarity,
            scope=scope,
            resource_types=resource_types,
            metadata_filter=metadata_filter,
        )
        query = unit(read_query(embedding))
        current = self._current()
        if not top_k or not current.scan.nodes:
            return []
        check_size(len(query), current.scan.matrix.shape[1], embedder=self.embedder_name)
        if not query.any():
            return []
        looks = _looks(current, query, wanted=wanted)
        hits = collect(looks, self._hydrate or _own(current), wanted=wanted)
        scores = relevance([cosine for _, cosine in hits], query, sample=current.sample)
        return scored(hits, scores)

    def rate(self, question: Sequence[float], nodes: Sequence[str]) -> dict[str, float]:
        """Relevance of nodes as a search near `question` would give it, found by it or not."""
        query, current = unit(read_query(question)), self._current()
        if len(current.sample) < SMALLEST_SAMPLE or not query.any():
            return {}
        there = [node for node in nodes if node in current.records]
        rows = [current.scan.rows[node] for node in there]
        cosines = [float(cosine) for cosine in cosines_of(current.scan.matrix[rows], query)]
        return dict(zip(there, relevance(cosines, query, sample=current.sample), strict=True))

    def upsert(
        self,
        ids: Sequence[object],
        vectors: Any,
        *,
        hashes: Sequence[str] | None = None,
        resource_uris: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        contents: Sequence[str | None] | None = None,
        metadatas: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Keep a vector for each node; see `VectorIndex.upsert`."""
        records = read_records(
            ids,
            vectors,
            hashes=hashes,
            resource_uris=resource_uris,
            resource_types=resource_types,
            contents=contents,
            metadatas=metadatas,
        )
        if not records:
            return
        size = len(next(iter(records.values())).vector)
        with self._lock:
            self._check_open()
            check_size(size, self._dimensions, embedder=self.embedder_name)
            self._records.update(records)
            self._changed(size)

    def remove(self, ids: Iterable[object]) -> None:
        """Forget nodes; those that are not there are no error."""
        gone = node_ids(list(ids))
        with self._lock:
            for node in gone:
                self._records.pop(node, None)
            self._changed(self._dimensions if self._records else None)

    def _check_open(self) -> None:
        if self._closed:
            raise BackendError("the vectors in memory were closed: make a new backend")

    def _changed(self, dimensions: int | None) -> None:
        self._dimensions = dimensions
        self._snapshot = None
        self._stamp = uuid.uuid4().hex

    def hashes(self) -> dict[str, str]:
        """The hash of each node's text; empty where none was given."""
        with self._lock:
            return {node: record.content_hash for node, record in self._records.items()}

    def unreadable(self) -> list[str]:
        """None: what is in memory was checked when it came."""
        return []

    def count(self) -> int:
        """How many nodes there are."""
        return len(self._records)

    def reopen(self) -> None:
        """Nothing to do: no other process writes here."""

    def close(self) -> None:
        """Forget everything; who asks afterwards is told so."""
        with self._lock:
            self._closed = True
            self._records.clear()
            self._changed(None)

    def _current(self) -> _Snapshot:
        with self._lock:
            self._check_open()
            if self._snapshot is None:
                self._snapshot = _freeze(self._records)
            return self._snapshot


def _freeze(records: dict[str, VectorRecord]) -> _Snapshot:
    scan = Scan.of({node: record.vector for node, record in records.items()})
    chosen = set(choose_sample(scan.nodes))
    places: dict[tuple[str, str], int] = {}
    origin_of = [
        places.setdefault((record.resource_uri, record.resource_type), len(places))
        for record in map(records.__getitem__, scan.nodes)
    ]
    return _Snapshot(
        scan=scan,
        sample=scan.matrix[[row for row, node in enumerate(scan.nodes) if node in chosen]],
        records=dict(records),
        origins=tuple(places),
        origin_of=np.asarray(origin_of, dtype=np.int64),
    )


def _own(current: _Snapshot) -> Hydrate:
    return lambda nodes: {node: current.records[node].hit() for node in nodes}


def _looks(current: _Snapshot, query: Vector, *, wanted: Wanted) -> Iterator[list[Candidate]]:
    order, cosines = current.scan.order(query)
    if wanted.filters:
        order = order[_held(current, wanted)[order]]
    start, size = 0, wanted.first_look
    while start < len(order):
        rows = order[start : start + size]
        yield current.scan.candidates(rows, cosines)
        start, size = start + size, wanted.next_look(size)


def _held(current: _Snapshot, wanted: Wanted) -> NDArray[np.bool_]:
    """Which nodes lie in scope and are of a wanted type."""
    typed = np.asarray([wanted.is_type(kind) for _, kind in current.origins])
    inside = np.asarray([wanted.holds(uri) for uri, _ in current.origins])
    held: NDArray[np.bool_] = inside[current.origin_of]
    for row in np.flatnonzero(~held):
        held[row] = wanted.holds(current.scan.nodes[row])
    held &= typed[current.origin_of]
    return held
