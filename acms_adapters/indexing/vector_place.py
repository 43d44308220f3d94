"""Where a store's vectors are, and the note that says how complete they are."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from acms_adapters.backends.chroma import ChromaVectorBackend, DamagedVectorsError, drop_files
from acms_adapters.backends.vectors import Hydrate, MemoryVectorBackend, VectorIndex
from acms_adapters.errors import StoreError
from acms_adapters.models import SearchHit

_FOLDER = "chroma"

logger = logging.getLogger("acms_adapters")


class FollowingVectors(MemoryVectorBackend):
    """Vectors in memory of a store that other processes may write to.

    Attributes:
        follow: Called before each answer, to take up what they wrote.
    """

    follow: Callable[[], None] | None = None

    def similarity_search(self, embedding: Sequence[float], **options: Any) -> list[SearchHit]:
        """As in memory, of the texts that there are now."""
        self._catch_up()
        return super().similarity_search(embedding, **options)

    def rate(self, question: Sequence[float], nodes: Sequence[str]) -> dict[str, float]:
        """As in memory, of the texts that there are now."""
        self._catch_up()
        return super().rate(question, nodes)

    def _catch_up(self) -> None:
        if self.follow is not None:
            self.follow()


def place_is_kept(folder: Path | None) -> bool:
    """Whether vectors outlive the process: there is a folder, and Chroma is installed."""
    return folder is not None and importlib.util.find_spec("chromadb") is not None


def connect_index(
    folder: Path | None, embedder: str, *, hydrate: Hydrate, read_only: bool, rebuild: bool
) -> VectorIndex | None:
    """The index of a store, in Chroma or in memory.

    Damaged vectors go, to be made anew; where a store is only read, there are none then.

    Raises:
        StoreError: The folder cannot be used.
        EmbedderMismatchError: Another embedder made the vectors that are there.
    """
    if folder is None:
        return MemoryVectorBackend(embedder_name=embedder, hydrate=hydrate)
    if not place_is_kept(folder):
        return FollowingVectors(embedder_name=embedder, hydrate=hydrate)
    place = folder / _FOLDER

    def connect(at: Path) -> ChromaVectorBackend:
        return ChromaVectorBackend(at, embedder_name=embedder, hydrate=hydrate, rebuild=rebuild)

    if read_only:
        if not place.is_dir():
            return None
        try:
            return connect(place) if os.access(place, os.W_OK) else _connect_copy(place, connect)
        except (StoreError, DamagedVectorsError) as error:
            logger.warning("nothing is found by its vector: %s", error)
            return None
    try:
        return connect(place)
    except DamagedVectorsError as error:
        logger.warning("vectors are made anew: %s", error)
        drop_files(place)
        return connect(place)


def _connect_copy(place: Path, connect: Any) -> VectorIndex:
    """Chroma writes where it reads, so that what may not be written to is read from a copy."""
    private = Path(tempfile.mkdtemp(prefix="acms-chroma-"))
    try:
        shutil.copytree(place, private, dirs_exist_ok=True, copy_function=shutil.copyfile)
        private.chmod(0o700)
        index: VectorIndex = connect(private)
    except BaseException as error:
        shutil.rmtree(private, ignore_errors=True)
        if isinstance(error, OSError):
            raise StoreError(f"cannot copy {str(place)!r} to read it: {error}") from error
        raise
    weakref.finalize(index, shutil.rmtree, private, ignore_errors=True)
    return index


def read_note(note: Path) -> dict[str, Any]:
    """What the last complete update wrote; nothing if there is none that can be read."""
    try:
        said = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def write_note(note: Path, said: dict[str, Any]) -> None:
    """Write it whole or not at all.

    Raises:
        StoreError: It cannot be written.
    """
    written = note.with_name(f"{note.name}.{os.getpid()}")
    try:
        written.write_text(json.dumps(said), encoding="utf-8")
        os.replace(written, note)
    except OSError as error:
        raise StoreError(
            f"cannot write {str(note)!r} ({error}): check that the folder may be written to and "
            "has room"
        ) from error
