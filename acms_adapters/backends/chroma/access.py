"""A collection that is always read as it is now, even if others write to it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from acms_adapters.backends.chroma.crowds import Crowds
from acms_adapters.backends.chroma.guard import Guard
from acms_adapters.backends.chroma.opening import (
    Connection,
    Place,
    check_fork,
    connect,
    create,
    fetch,
    fetch_or_create,
    make_folder,
)
from acms_adapters.backends.chroma.table import Table
from acms_adapters.errors import BackendError, StoreLockedError

logger = logging.getLogger("acms_adapters")

READ_PATIENCE = 10.0
"""Seconds that a search waits for those who write, before it answers with what was before."""


class Access:
    """The way to the collection at a place; thread-safe.

    An engine that is open on a folder answers from what it read when it opened, and what it then
    writes loses what others wrote meanwhile. So each use looks for another stamp than the one
    last seen, and writing and opening take turns with other processes.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._lock = threading.Lock()  # taken after a turn, never before
        self._writing = threading.Lock()
        self._guard = Guard(place.folder)
        self._crowds = Crowds()
        make_folder(place)
        with self._guard.turn():
            self._connection: Connection | None = connect(place)
            try:
                table = fetch_or_create(place, self._connection)
                table.wake()
            except Exception:
                self.close()
                raise
        self._seen = table.record

    @contextmanager
    def table(self) -> Iterator[Table]:
        """The collection as it is now, or was before another process began to write for long.

        Raises:
            BackendError: It was closed, deleted, or cannot be reached.
        """
        table, connection = self._taken(only_fresh=True)
        if connection is None:
            self._follow()
            table, connection = self._taken()
        assert connection is not None
        try:
            yield table
        finally:
            connection.release()

    def _taken(self, *, only_fresh: bool = False) -> tuple[Table, Connection | None]:
        """The collection and the connection it is read by, unless it may be stale and must not."""
        with self._lock:
            table, stale = self._fetch()
            if stale and only_fresh:
                return table, None
            connection = self._opened()
            connection.take()
            if stale:
                return replace(table, record=self._seen, is_old=True), connection
            # an object that was given knows nothing of what others note: nobody is to remember it
            given = self.place.collection is not None
            record = replace(table.record, stamp="") if given else table.record
            return replace(table, record=record, crowds=self._crowds), connection

    def stamp(self) -> str:
        """That of the collection as it is now.

        Raises:
            BackendError: It was closed, deleted, or cannot be reached.
        """
        with self._lock:
            return self._fetch()[0].record.stamp

    @contextmanager
    def writing(self) -> Iterator[Table]:
        """The collection as it is now, for oneself.

        Raises:
            StoreLockedError: Another process wrote all the while.
            BackendError: It was closed, deleted, or cannot be reached.
        """
        with self._writing, self._guard.turn():
            with self._lock:
                table, stale = self._fetch()
                if stale:
                    table = self._renew()
                connection = self._opened()
                connection.take()
            try:
                yield table
            finally:
                connection.release()

    def note(self, table: Table, **changes: Any) -> None:
        """Give the collection another stamp, and what else is new about it."""
        record = table.record.changed(**changes)
        table.note(record)
        with self._lock:
            self._seen = record

    def start_over(self) -> Table:
        """Drop the collection and make one without a node."""
        with self._lock:
            table = create(self.place, self._opened())
            self._seen = table.record
        return table

    def renew(self) -> None:
        """Open the place anew, when no other process writes any more."""
        with self._guard.turn(), self._lock:
            self._renew()

    def close(self) -> None:
        """Close what was opened here; again is no error."""
        with self._lock:
            connection, self._connection = self._connection, None
            self._crowds = Crowds()
        if connection is None:
            return
        if self.place.throwaway and connection.client is not None:
            with suppress(Exception):
                connection.client.delete_collection(self.place.name)
        connection.retire()

    def _follow(self) -> None:
        try:
            with self._guard.turn(patience=READ_PATIENCE), self._lock:
                if self._fetch()[1]:  # no other thread was here before
                    self._renew()
        except StoreLockedError as error:
            logger.warning("answers by vectors are older than the texts: %s", error)

    def _fetch(self) -> tuple[Table, bool]:
        """The collection, and whether somebody else wrote to it since this engine was opened."""
        table = fetch(self.place, self._opened())
        return table, table.record.stamp != self._seen.stamp

    def _opened(self) -> Connection:
        if self._connection is None:
            raise BackendError(f"{self.place} was closed: make a new backend")
        check_fork(self.place)
        return self._connection

    def _renew(self) -> Table:
        if self.place.folder:
            old, self._connection = self._opened(), connect(self.place)
            old.retire()
        table = fetch(self.place, self._opened())
        table.wake()
        self._seen = table.record
        return table
