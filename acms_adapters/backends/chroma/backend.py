"""A vector index in Chroma."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acms_adapters.backends.chroma.access import Access
from acms_adapters.backends.chroma.looking import looks, those
from acms_adapters.backends.chroma.opening import DEFAULT_NAME, Place, own_name
from acms_adapters.backends.chroma.table import Table
from acms_adapters.backends.vectors.calibration import (
    SAMPLE_SIZE,
    SMALLEST_SAMPLE,
    choose_sample,
    relevance,
)
from acms_adapters.backends.vectors.index import Hydrate
from acms_adapters.backends.vectors.records import (
    Vector,
    check_size,
    cosines_of,
    node_ids,
    read_query,
    read_records,
    unit,
)
from acms_adapters.backends.vectors.search import Wanted, collect, scored
from acms_adapters.errors import BackendError, EmbedderMismatchError, StoreError
from acms_adapters.models.hit import SearchHit

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection


class ChromaVectorBackend:
    """Vectors in a Chroma collection; thread-safe.

    Any number of processes may use one folder. Each use looks whether another one wrote, and opens
    the folder anew if so: Chroma itself would answer from what it read before, and what it then
    writes would lose vectors for good. Writers take turns; while one writes, others answer from
    what was there before.

    Args:
        path: The folder; without any place, a private one that goes with the backend.
        host: A server instead.
        port: Its port.
        client: A client of the caller's instead; it stays open.
        collection: Name, or a collection object of the caller's instead of a place. Left out, it
            is ``acms``; in an in-memory client, whose store all others share, a name of its own.
        embedder_name: Whose vectors it holds, checked against those that are there (ruling B7).
        dimensions: Their length where known, checked likewise.
        hydrate: Where texts and metadata come from; left out, Chroma keeps those it is given.
        rebuild: Drop the vectors of another embedder instead of refusing to open.

    Raises:
        MissingExtraError: Chroma is not installed.
        StoreError: The folder cannot be used.
        DamagedVectorsError: What is in it cannot be read.
        BackendError: No server answers.
        EmbedderMismatchError: Another embedder's vectors are there.
        RequestError: More than one place was given.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        host: str | None = None,
        port: int = 8000,
        client: ClientAPI | None = None,
        collection: str | Collection | None = None,
        embedder_name: str | None = None,
        dimensions: int | None = None,
        hydrate: Hydrate | None = None,
        rebuild: bool = False,
    ) -> None:
        given = None if isinstance(collection, str) else collection
        name = given.name if given else collection
        own = own_name(client) if client is not None and not name else None
        homeless = path is None and host is None and client is None and given is None
        place = Place(
            name=str(name or own or DEFAULT_NAME),
            folder=self._private_folder() if homeless else Path(path) if path else None,
            host=host,
            port=port,
            client=client,
            collection=given,
            throwaway=own is not None,
        )
        self._hydrate = hydrate
        self._embedder_name = embedder_name
        self._sample: tuple[str, Vector] | None = None
        self._access = Access(place)
        try:
            self._check_embedder(dimensions, rebuild=rebuild)
        except Exception:
            self._access.close()
            raise

    def _private_folder(self) -> Path:
        folder = tempfile.mkdtemp(prefix="acms-chroma-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _check_embedder(self, dimensions: int | None, *, rebuild: bool) -> None:
        with self._access.table() as table:
            try:
                table.record.check(self._embedder_name, dimensions, place=table.place)
                return
            except EmbedderMismatchError:
                if not rebuild and table.count():
                    raise
        with self._access.writing():
            self._access.start_over()

    @property
    def embedder_name(self) -> str | None:
        """The embedder whose vectors are kept, where it was named."""
        with self._access.table() as table:
            return table.record.embedder or self._embedder_name

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors; None before the first."""
        with self._access.table() as table:
            return table.dimensions()

    @property
    def stamp(self) -> str:
        """Another one after every write."""
        return self._access.stamp()

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
        if not top_k:
            return []
        try:
            return self._search(query, wanted)
        except (StoreError, EmbedderMismatchError):
            raise
        except BackendError:
            # what another process removed confuses an engine that was open before
            self._access.renew()
            return self._search(query, wanted)

    def _search(self, query: Vector, wanted: Wanted) -> list[SearchHit]:
        with self._access.table() as table:
            check_size(len(query), table.dimensions(), embedder=table.record.embedder)
            if not query.any():
                return []
            kept: dict[str, SearchHit] = {}
            found = looks(table, query, wanted=wanted, kept=None if self._hydrate else kept)
            hits = collect(found, self._hydrate or those(kept), wanted=wanted)
            sample = self._statistics(table)
        return scored(hits, relevance([cosine for _, cosine in hits], query, sample=sample))

    def rate(self, question: Sequence[float], nodes: Sequence[str]) -> dict[str, float]:
        """Relevance of nodes as a search near `question` would give it, found by it or not."""
        query = unit(read_query(question))
        with self._access.table() as table:
            sample = self._statistics(table)
            if len(sample) < SMALLEST_SAMPLE or not query.any() or not nodes:
                return {}
            there, vectors = table.known_vectors(nodes)
        cosines = [float(cosine) for cosine in cosines_of(vectors, query)] if there else []
        return dict(zip(there, relevance(cosines, query, sample=sample), strict=True))

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
        with self._access.writing() as table:
            table = self._ready_for(table, size)
            sample = table.record.sample
            changes = {
                "embedder": table.record.embedder or self._embedder_name,
                "dimensions": size,
                "sample": None if sample is None else choose_sample({*sample, *records}),
            }
            try:
                table.write(list(records.values()), keep=self._hydrate is None)
            finally:
                self._access.note(table, **changes)

    def remove(self, ids: Iterable[object]) -> None:
        """Forget nodes; those that are not there are no error."""
        gone = list(dict.fromkeys(node_ids(list(ids))))
        if not gone:
            return
        with self._access.writing() as table:
            table.remove(gone)
            sample = table.record.sample
            if sample is not None and not set(sample).isdisjoint(gone):
                whole = len(sample) < SAMPLE_SIZE
                sample = choose_sample(set(sample).difference(gone) if whole else table.nodes())
            self._access.note(table, sample=sample)

    def hashes(self) -> dict[str, str]:
        """The hash of each node's text; empty where none was given."""
        with self._access.table() as table:
            return table.hashes()

    def unreadable(self) -> list[str]:
        """Nodes whose vector is lost or damaged; all of them are looked at."""
        with self._access.table() as table:
            return table.unreadable()

    def count(self) -> int:
        """How many nodes there are."""
        with self._access.table() as table:
            return table.count()

    def reopen(self) -> None:
        """Open the folder anew; elsewhere there is nothing that could be stale."""
        self._access.renew()

    def close(self) -> None:
        """Give back what is held; a private folder or collection goes with it."""
        self._access.close()

    def _ready_for(self, table: Table, size: int) -> Table:
        known = table.dimensions()
        if not table.count():
            if known not in (None, size):
                table, known = self._access.start_over(), None
            elif not table.record.whole:
                table = replace(table, record=replace(table.record, whole=True, sample=()))
        check_size(size, known, embedder=table.record.embedder)
        return table

    def _statistics(self, table: Table) -> Vector:
        cached = self._sample
        if cached is None or cached[0] != table.record.stamp or not table.record.stamp:
            chosen = table.record.sample
            nodes = choose_sample(table.nodes()) if chosen is None else chosen
            cached = (table.record.stamp, table.vectors(nodes))
            self._sample = cached
        return cached[1]
