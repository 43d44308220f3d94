"""Where a collection is, and the client that is open to it."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import uuid
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acms_adapters.backends.chroma.failures import DamagedVectorsError, is_damage, translated
from acms_adapters.backends.chroma.files import check_files
from acms_adapters.backends.chroma.record import CollectionRecord
from acms_adapters.backends.chroma.table import BATCH, Table
from acms_adapters.errors import BackendError, MissingExtraError, RequestError, StoreError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

DEFAULT_NAME = "acms"

HNSW: dict[str, Any] = {"space": "cosine"}
"""Settings of a new collection's index."""

_openings = itertools.count(1)
_engine_processes: set[int] = set()
"""The process whose threads Chroma's engine uses, which are one crew for all clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where vectors are: a collection of a folder, a server, a client, or a given one.

    Attributes:
        name: Of the collection.
        folder: Of an embedded Chroma.
        host: Of a server.
        port: Of a server.
        client: The caller's.
        collection: The caller's.
        throwaway: Nobody else knows the collection, so it is deleted in the end.

    Raises:
        RequestError: None of them was given, or more than one.
    """

    name: str
    folder: Path | None = None
    host: str | None = None
    port: int = 8000
    client: ClientAPI | None = None
    collection: Collection | None = None
    throwaway: bool = False

    def __post_init__(self) -> None:
        homes = (self.folder, self.host, self.client, self.collection)
        if sum(home is not None for home in homes) != 1:
            raise RequestError("give one of path, host, client or a collection object")

    def __str__(self) -> str:
        """For people."""
        if self.folder:
            return f"collection {self.name!r} of {str(self.folder)!r}"
        return f"collection {self.name!r}" + (f" of {self.host}:{self.port}" if self.host else "")


class Connection:
    """A client in use; it is closed once it is retired and nobody uses it any more.

    Attributes:
        client: None where only a collection object was given.
        batch: Most rows of a call.
    """

    def __init__(self, client: ClientAPI | None, *, owned: bool) -> None:
        self.client = client
        self.batch = BATCH if client is None else min(BATCH, client.get_max_batch_size())
        self._lock = threading.Lock()
        self._users = 0
        self._retired = False
        mine = client if owned else None
        self._close = weakref.finalize(self, _close_quietly, mine, os.getpid())

    def take(self) -> None:
        """Keep it open until `release`."""
        with self._lock:
            self._users += 1

    def release(self) -> None:
        """One user less."""
        with self._lock:
            self._users -= 1
            idle = self._retired and not self._users
        if idle:
            self._close()

    def retire(self) -> None:
        """Close it as soon as nobody uses it."""
        with self._lock:
            self._retired = True
            idle = not self._users
        if idle:
            self._close()


def check_fork(place: Place) -> None:
    """Say at once what would wait for ever.

    Raises:
        BackendError: This process was forked off one in which an engine ran.
    """
    if place.folder is None:
        return
    if not _engine_processes:
        _engine_processes.add(os.getpid())
    if os.getpid() not in _engine_processes:
        raise BackendError(
            f"{place} cannot be used in a process forked off one that used Chroma: its engine's "
            "threads stay behind. Start processes by 'spawn', or open stores only in the child"
        )


def _close_quietly(client: Any, process: int) -> None:
    if process != os.getpid():
        # a forked process would wait at its end for threads that are not there
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
    elif client is not None:
        with suppress(Exception):  # a server that is gone needs no farewell
            client.close()


def connect(place: Place) -> Connection:
    """Open a client to a place.

    Raises:
        MissingExtraError: Chroma is not installed.
        StoreError: The folder cannot be used.
        DamagedVectorsError: What is in it cannot be read.
        BackendError: No server answers.
    """
    if place.collection is not None or place.client is not None:
        return Connection(place.client, owned=False)
    try:
        import chromadb
        from chromadb.config import Settings
    except ImportError as error:
        raise MissingExtraError(
            "keeping vectors in Chroma", extra="chroma", package="chromadb"
        ) from error
    check_fork(place)
    settings = Settings(anonymized_telemetry=False)
    if place.folder is None:
        with translated(str(place)):
            client = chromadb.HttpClient(host=place.host or "", port=place.port, settings=settings)
            return Connection(client, owned=True)
    check_files(place.folder)
    try:
        spelling = _own_spelling(place.folder)
        client = chromadb.PersistentClient(path=spelling, settings=settings)
    except Exception as error:
        if is_damage(error):
            raise DamagedVectorsError.of(place.folder, str(error)) from error
        raise _unusable(place.folder, error) from error
    return Connection(client, owned=True)


def make_folder(place: Place) -> None:
    """Make the folder of a place that is one.

    Raises:
        StoreError: It cannot be made.
    """
    if place.folder is not None:
        try:
            place.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(place.folder, error) from error


def _unusable(folder: Path, error: Exception) -> StoreError:
    return StoreError(f"cannot keep vectors in the folder {str(folder)!r}: {error}")


def _own_spelling(folder: Path) -> str:
    """A spelling of a folder that no other client of this process has.

    Chroma gives clients of the same spelling one engine: a new client would get a stale one, and
    fail if somebody opened the folder with other settings.
    """
    steps = ("/." if bit == "1" else "/" for bit in f"{next(_openings):b}")
    return f"{folder.resolve()}{''.join(steps)}"


def own_name(client: ClientAPI) -> str | None:
    """A name of one's own in an in-memory client, whose store all others of the process share."""
    settings = client.get_settings()
    if settings.is_persistent or settings.chroma_server_host:
        return None
    return f"{DEFAULT_NAME}-{uuid.uuid4().hex}"


def fetch(place: Place, connection: Connection) -> Table:
    """The collection as it is now.

    Raises:
        StoreError: It was deleted.
    """
    collection, client = place.collection, connection.client
    if collection is None and client is not None:
        with translated(str(place)):
            collection = client.get_collection(place.name, embedding_function=None)
    return _table(place, connection, collection)


def fetch_or_create(place: Place, connection: Connection) -> Table:
    """The collection as it is now, made if it is not there."""
    try:
        return fetch(place, connection)
    except StoreError:
        return create(place, connection)


def create(place: Place, connection: Connection) -> Table:
    """A collection without a node, in the place of whatever has its name.

    Raises:
        StoreError: It was given as an object, without the client that could make one.
    """
    client = connection.client
    if client is None:
        raise StoreError(f"{place} cannot be made anew: pass client= and its name instead")
    with translated(str(place)):
        with suppress(Exception):
            client.delete_collection(place.name)
        collection = client.get_or_create_collection(
            place.name,
            embedding_function=None,
            configuration={"hnsw": HNSW},  # type: ignore[arg-type]
            metadata=CollectionRecord.new().metadata(),
        )
    return _table(place, connection, collection)


def _table(place: Place, connection: Connection, collection: Any) -> Table:
    record = CollectionRecord.of(collection.metadata)
    return Table(collection, record, str(place), connection.batch)
