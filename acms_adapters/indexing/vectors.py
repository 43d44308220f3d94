"""Vectors of a store's texts, kept in step with them (rulings B7, B8)."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from acms_adapters.backends.chroma import (
    ChromaVectorBackend,
    DamagedVectorsError,
    drop_files,
)
from acms_adapters.backends.embedders import as_embedder, default_embedder
from acms_adapters.backends.sqlite import Finding, SQLiteStore
from acms_adapters.backends.vectors import MemoryVectorBackend, VectorIndex
from acms_adapters.errors import MissingExtraError, StoreError
from acms_adapters.indexing.embedding_text import embedded_text
from acms_adapters.indexing.report import Progress
from acms_adapters.models import SearchHit
from acms_adapters.protocols import Embedder

AUTO = "auto"

_BATCH = 500
_FOLDER = "chroma"
_NOTE = "vectors.json"

logger = logging.getLogger("acms_adapters")


class NodeVectors:
    """Keeps a vector for each text that a store searches.

    Args:
        index: Where the vectors are.
        embedder: Makes them.
        texts: The store whose texts they are of.
        note: File that says up to which write the vectors are complete; None for memory.
    """

    def __init__(
        self, index: VectorIndex, embedder: Embedder, texts: SQLiteStore, *, note: Path | None
    ) -> None:
        self.index = index
        self.embedder = embedder
        self._texts = texts
        self._note = note
        self._known: tuple[str, dict[str, str]] | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the vectors outlive this object."""
        return self._note is not None

    def catch_up(self, progress: Progress) -> None:
        """Make up for a run that did not come to its end, and may have left damage behind."""
        if self.is_kept and not self._is_complete(self._texts.generation):
            if lost := self.index.unreadable():
                self.index.remove(lost)
            self.update(progress)
        elif not self.is_kept:
            self.update(progress)

    def update(self, progress: Progress, *, anyway: bool = False) -> None:
        """Embed texts that are new or changed, and forget those that are gone.

        Args:
            anyway: Compare all of them even if nothing was written since the last time.
        """
        generation = self._texts.generation
        if not anyway and self._is_complete(generation):
            return
        # in this order another process's new vectors are never taken for those of gone nodes
        known, wanted = self._hashes(), self._texts.vector_hashes()
        gone = known.keys() - wanted.keys()
        if gone:
            self.index.remove(sorted(gone))
        stale = [node for node, text_hash in wanted.items() if known.get(node) != text_hash]
        done = 0
        for batch in _batches(sorted(stale), _BATCH):
            self._embed(batch, wanted)
            done += len(batch)
            progress("embedding", done, len(stale))
        alone = self._texts.generation == generation
        self._known = (self.index.stamp, wanted) if alone else None
        if self._note is not None:
            said = {"embedder": self.embedder.name, "at": [generation, self.index.stamp]}
            _write_note(self._note, said)

    def check(self, progress: Progress, *, repair: bool) -> list[Finding]:
        """Vectors that are not those of the texts there are."""
        known, wanted = self.index.hashes(), self._texts.vector_hashes()
        lost = set(self.index.unreadable())
        names = {
            "cannot be read": lost,
            "missing": wanted.keys() - known.keys(),
            "made of another text": {
                node for node, said in wanted.items() if known.get(node, said) != said
            },
            "of texts that are gone": known.keys() - wanted.keys(),
        }
        found = [
            Finding(part="vectors", what=what, names=tuple(sorted(nodes)), repaired=repair)
            for what, nodes in names.items()
            if nodes
        ]
        if found and repair:
            self.index.remove(lost)
            self._known = None
            self.update(progress, anyway=True)
        return found

    def _embed(self, nodes: Sequence[str], hashes: dict[str, str]) -> None:
        hits = [hit for hit in self._texts.graph.get(nodes) if hit.content]
        if not hits:
            return
        places = [hit.provenance for hit in hits]
        self.index.upsert(
            [hit.uko_node for hit in hits],
            self.embedder.embed_documents([embedded_text(h, self._texts.renderings) for h in hits]),
            hashes=[hashes[hit.uko_node] for hit in hits],
            resource_uris=[place.resource_uri if place else "" for place in places],
            resource_types=[place.resource_type if place else "" for place in places],
        )

    def _hashes(self) -> dict[str, str]:
        stamp = self.index.stamp
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, self.index.hashes())
        return self._known[1]

    def _is_complete(self, generation: int) -> bool:
        if self._note is None:
            return False
        return read_note(self._note).get("at") == [generation, self.index.stamp]


def open_vectors(
    texts: SQLiteStore, folder: Path | None, embedder: Any, *, read_only: bool, rebuild: bool
) -> NodeVectors | None:
    """Vectors of a store, in Chroma if it is installed and there is a folder, else in memory.

    Args:
        embedder: What `as_embedder` reads; ``auto`` for the one that made the store, else the best
            that is installed.
        rebuild: Drop vectors that another embedder made.

    Returns:
        None without an embedder, and where a store that is only read has no vectors.

    Raises:
        EmbedderMismatchError: Another embedder made the vectors that are there.
    """
    note = folder / _NOTE if folder else None
    chosen = _choose(embedder, read_note(note).get("embedder") if note else None)
    if chosen is None:
        return None

    def hydrate(nodes: Sequence[str]) -> dict[str, SearchHit]:
        return {hit.uko_node: hit for hit in texts.graph.get(nodes)}

    if folder is None or importlib.util.find_spec("chromadb") is None:
        memory = MemoryVectorBackend(embedder_name=chosen.name, hydrate=hydrate)
        return NodeVectors(memory, chosen, texts, note=None)
    if read_only and not (folder / _FOLDER).is_dir():
        return None

    def connect() -> ChromaVectorBackend:
        return ChromaVectorBackend(
            folder / _FOLDER, embedder_name=chosen.name, hydrate=hydrate, rebuild=rebuild
        )

    try:
        index = connect()
    except (StoreError, DamagedVectorsError) as error:
        if read_only:
            logger.warning("nothing is found by its vector: %s", error)
            return None
        if not isinstance(error, DamagedVectorsError):
            raise
        logger.warning("vectors are made anew: %s", error)
        drop_files(folder / _FOLDER)
        index = connect()
    return NodeVectors(index, chosen, texts, note=note)


def read_note(note: Path) -> dict[str, Any]:
    """What the last complete update wrote; nothing if there is none that can be read."""
    try:
        said = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _write_note(note: Path, said: dict[str, Any]) -> None:
    written = note.with_name(f"{note.name}.{os.getpid()}")
    try:
        written.write_text(json.dumps(said), encoding="utf-8")
        os.replace(written, note)  # whole at any moment
    except OSError as error:
        raise StoreError(
            f"cannot write {str(note)!r} ({error}): check that the folder may be written to and "
            "has room"
        ) from error


def _choose(embedder: Any, made_by: Any) -> Embedder | None:
    chosen: Embedder | None
    if not isinstance(embedder, str) or embedder != AUTO:
        chosen = as_embedder(embedder)
        return chosen
    try:
        chosen = as_embedder(made_by)
    except (MissingExtraError, ValueError):  # one that cannot be made from its name
        chosen = None
    return chosen or default_embedder()


def _batches(nodes: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(nodes)
    while batch := list(islice(rest, size)):
        yield batch
