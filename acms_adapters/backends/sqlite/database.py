"""Connections to one SQLite database: reading, writing, and errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acms_adapters.backends.sqlite.kept import Kept
from acms_adapters.backends.sqlite.schema import check_owner, prepare
from acms_adapters.errors import BackendError, StoreError, StoreLockedError

Functions = dict[str, tuple[int, Callable[..., Any]]]
"""SQL functions by name, with how many arguments they take."""

_MAGIC = b"SQLite format 3\x00"
_VERSION = "SELECT key, value FROM meta WHERE key IN ('generation', 'identity')"
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class _Handle:
    """A connection, how deep its transactions are nested, and whether they write."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.depth = 0
        self.writing = False

    def close(self) -> None:
        self.connection.close()

    def __del__(self) -> None:
        # a thread that ends takes its connection along
        self.connection.close()


class Database:
    """One database: a file with a connection for each thread, or memory with a single one.

    Args:
        path: The file; None keeps everything in memory.
        read_only: Refuse to write.
        busy_timeout: Seconds to wait for another writer.
        functions: SQL functions to know.
    """

    def __init__(
        self, path: Path | None, *, read_only: bool, busy_timeout: float, functions: Functions
    ) -> None:
        self._path = path
        self.read_only = read_only
        self._timeout = busy_timeout
        self._functions = functions
        self._local = threading.local()
        self._handles: weakref.WeakSet[_Handle] = weakref.WeakSet()
        self._guard = threading.Lock()
        self._turn = threading.RLock()  # in memory one thread at a time
        self._shared: _Handle | None = None
        self._closed = False
        self._kept = Kept()
        with self._translated():
            first = self._open()
            if path is not None and not read_only:
                check_owner(first.connection, self.name, may_be_empty=True)
                _write_ahead(first.connection)
            prepare(first.connection, name=self.name, read_only=read_only)
            if path is None:
                self._shared = first
            else:
                self._local.handle = first

    @property
    def name(self) -> str:
        """What errors call it."""
        return "in memory" if self._path is None else str(self._path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One view of the data for all statements inside; a transaction of this thread is seen."""
        with self._translated(), self._handle() as handle:
            if handle.depth:
                yield handle.connection
                return
            handle.connection.execute("BEGIN")
            handle.depth = 1
            try:
                yield handle.connection
            finally:
                handle.depth = 0
                handle.connection.execute("ROLLBACK")

    @contextmanager
    def looking(self) -> Iterator[tuple[sqlite3.Connection, Kept]]:
        """What is known now, for one statement at most: nothing holds two of them together."""
        with self._translated(), self._handle() as handle:
            yield handle.connection, self.kept(handle.connection)

    def kept(self, connection: sqlite3.Connection) -> Kept:
        """What is known of the data that a connection sees, inside `reading` or for one look.

        A thread that writes sees what nobody else may, so that there nothing is known.
        """
        handle = self._shared if self._path is None else getattr(self._local, "handle", None)
        if handle is not None and handle.writing:
            return Kept()
        # a thread that opens a file made anew in place of the one before must not be told of that
        version = dict(connection.execute(_VERSION).fetchall())
        if "generation" not in version:  # damaged: no write would be seen
            return Kept()
        kept = self._kept
        if kept.version != version:
            kept = self._kept = Kept(version)
        return kept

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing of what is written inside; nested ones are all or nothing by themselves.

        Raises:
            StoreLockedError: Another writer did not finish in time.
            StoreError: Opened to read only, closed, or the file failed.
        """
        if self.read_only:
            raise StoreError(f"the store {self.name!r} was opened to read: open it to write")
        with self._translated(), self._handle() as handle:
            if handle.depth and not handle.writing:
                raise StoreError("cannot write while this thread reads: finish reading first")
            begin, commit, undo = _statements(handle.depth)
            before = handle.connection.total_changes
            handle.connection.execute(begin)
            handle.depth += 1
            handle.writing = True
            try:
                yield handle.connection
                if handle.depth == 1 and handle.connection.total_changes > before:
                    handle.connection.execute(
                        "UPDATE meta SET value = value + 1 WHERE key = 'generation'"
                    )
                handle.connection.execute(commit)
            except BaseException:
                if handle.connection.in_transaction:
                    for statement in undo:
                        handle.connection.execute(statement)
                raise
            finally:
                handle.depth -= 1
                handle.writing = handle.depth > 0

    def close(self) -> None:
        """Close every connection of every thread; twice is fine."""
        with self._guard:
            self._closed = True
            for handle in list(self._handles):
                handle.close()
            self._shared = None
            self._local = threading.local()

    @contextmanager
    def _handle(self) -> Iterator[_Handle]:
        if self._path is not None:
            yield self._own()
            return
        if not self._turn.acquire(timeout=max(self._timeout, 0.0)):
            raise StoreLockedError(
                f"another thread held the store in memory for {self._timeout!r} seconds: "
                "end its transaction first"
            )
        try:
            if self._shared is None:
                raise self._is_closed()
            yield self._shared
        finally:
            self._turn.release()

    def _own(self) -> _Handle:
        handle: _Handle | None = getattr(self._local, "handle", None)
        if handle is None:
            if self._closed:
                raise self._is_closed()
            handle = self._local.handle = self._open()
        return handle

    def _is_closed(self) -> StoreError:
        return StoreError(f"the store {self.name!r} is closed: open it again")

    def _open(self) -> _Handle:
        connection = sqlite3.connect(
            ":memory:" if self._path is None else self._uri(self._path),
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            uri=self._path is not None,
        )
        handle = _Handle(connection)
        connection.execute("PRAGMA temp_store = MEMORY")
        for name, (count, function) in self._functions.items():
            connection.create_function(name, count, function, deterministic=True)
        if self._path is not None and not self.read_only:
            connection.execute("PRAGMA synchronous = FULL")
        with self._guard:
            if self._closed:
                raise self._is_closed()
            self._handles.add(handle)
        return handle

    def _uri(self, path: Path) -> str:
        if path.is_file() and not _may_be_ours(path):
            raise self._is_broken("it does not begin as one")
        uri = path.absolute().as_uri()
        if not self.read_only:
            return f"{uri}?mode=rwc"
        if not path.is_file():
            raise StoreError(f"there is no store at {str(path)!r}: index into it first")
        # SQLite cannot read beside a writer where it may not make its lock file
        kept_apart = not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists()
        return f"{uri}?mode=ro" + ("&immutable=1" if kept_apart else "")

    def _is_broken(self, why: object) -> StoreError:
        return StoreError(
            f"{self.name!r} is damaged or no SQLite database ({why}): remove the file, or choose "
            "another path, and index again"
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._as_store_error(error) from error

    def _as_store_error(self, error: sqlite3.Error) -> BackendError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if self._closed:
            return self._is_closed()
        if code in _BUSY:
            return StoreLockedError(
                f"another writer held the store {self.name!r} for {self._timeout!r} seconds: "
                "try again when it is done, or give a larger busy_timeout_seconds"
            )
        if code in _BROKEN:
            return self._is_broken(error)
        if code == sqlite3.SQLITE_FULL:
            return StoreError(f"no room left for the store {self.name!r}: free some space")
        return StoreError(
            f"the store {self.name!r} failed ({error}): check that the folder exists, may be "
            "written to and has room, and that the file is not in the hands of another program"
        )


def _statements(depth: int) -> tuple[str, str, tuple[str, ...]]:
    """How to begin, to commit and to undo at a depth of nesting."""
    if not depth:
        return "BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",)
    mark = f"nested_{depth}"
    return f"SAVEPOINT {mark}", f"RELEASE {mark}", (f"ROLLBACK TO {mark}", f"RELEASE {mark}")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers go on while somebody writes; the file remembers it."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        connection.execute("PRAGMA journal_mode = WAL")


def _may_be_ours(path: Path) -> bool:
    """Whether a file is empty or an SQLite database; SQLite would write over a few other bytes."""
    with path.open("rb") as file:
        begin = file.read(len(_MAGIC))
    return begin in (b"", _MAGIC)
