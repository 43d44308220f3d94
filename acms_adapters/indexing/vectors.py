"""Vectors of a store's texts, kept in step with them (rulings B7, B8)."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from acms_adapters.backends.embedders import as_embedder, default_embedder
from acms_adapters.backends.sqlite import Finding, SQLiteStore
from acms_adapters.backends.vectors import VectorIndex
from acms_adapters.errors import MissingExtraError
from acms_adapters.indexing.embedding_text import embedded_text
from acms_adapters.indexing.progress import silent
from acms_adapters.indexing.report import Progress
from acms_adapters.indexing.vector_place import (
    FollowingVectors,
    connect_index,
    place_is_kept,
    read_note,
    write_note,
)
from acms_adapters.models import SearchHit
from acms_adapters.protocols import Embedder

AUTO = "auto"

_BATCH = 500
_NOTE = "vectors.json"


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
        self._followed = -1
        self._turn = threading.RLock()

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

    def remember(self) -> None:
        """Note of which texts the vectors are, before those are written anew.

        Complete vectors are those of all texts, which say so in a fraction of the time.
        """
        with self._turn:
            generation, stamp = self._texts.generation, self.index.stamp
            if self._known is not None and self._known[0] == stamp:
                return
            if self._is_complete(generation):
                hashes = self._texts.vector_hashes()
                if (self._texts.generation, self.index.stamp) == (generation, stamp):
                    self._known = (stamp, hashes)

    def update(self, progress: Progress, *, anyway: bool = False) -> None:
        """Embed texts that are new or changed, and forget those that are gone.

        Args:
            anyway: Compare all of them even if nothing was written since the last time.
        """
        with self._turn:
            generation = self._texts.generation
            if anyway or not self._is_complete(generation):
                self._update(progress, generation)
            self._followed = generation

    def follow(self) -> None:
        """Take up what others wrote since the last update."""
        if self._texts.generation != self._followed:
            self.update(silent)

    def _update(self, progress: Progress, generation: int) -> None:
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
            write_note(self._note, said)

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

    index = connect_index(
        folder, chosen.name, hydrate=hydrate, read_only=read_only, rebuild=rebuild
    )
    if index is None:
        return None
    vectors = NodeVectors(index, chosen, texts, note=note if place_is_kept(folder) else None)
    if isinstance(index, FollowingVectors):
        index.follow = vectors.follow
    return vectors


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
