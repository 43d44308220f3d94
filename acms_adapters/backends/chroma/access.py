"""A collection that is always read as it is now, even if others write to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from acms_adapters.backends.chroma.opening import (
    Connection,
    Place,
    connect,
    create,
    fetch,
    fetch_or_create,
)
from acms_adapters.backends.chroma.table import Table
from acms_adapters.errors import BackendError


class Access:
    """The way to the collection at a place; thread-safe.

    An engine that is open on a folder answers from what it read before, and what it then writes
    loses what others wrote. So each use looks for another stamp than the last one seen.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._lock = threading.Lock()
        self._connection: Connection | None = connect(place)
        try:
            self._seen = fetch_or_create(place, self._opened()).record.stamp
        except Exception:
            self.close()
            raise

    @contextmanager
    def table(self) -> Iterator[Table]:
        """The collection as it is now; it stays open meanwhile.

        Raises:
            BackendError: It was closed, deleted, or cannot be reached.
        """
        with self._lock:
            table = fetch(self.place, self._opened())
            if table.record.stamp != self._seen:
                self._renew()
                table = fetch(self.place, self._opened())
                self._seen = table.record.stamp
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
            self._seen = record.stamp

    def start_over(self) -> Table:
        """Drop the collection and make one without a node."""
        with self._lock:
            table = create(self.place, self._opened())
            self._seen = table.record.stamp
        return table

    def renew(self) -> None:
        """Open the place anew."""
        with self._lock:
            self._renew()
            self._seen = fetch(self.place, self._opened()).record.stamp

    def close(self) -> None:
        """Close what was opened here; again is no error."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is None:
            return
        if self.place.throwaway and connection.client is not None:
            with suppress(Exception):
                connection.client.delete_collection(self.place.name)
        connection.retire()

    def _opened(self) -> Connection:
        if self._connection is None:
            raise BackendError(f"{self.place} was closed: make a new backend")
        return self._connection

    def _renew(self) -> None:
        if self.place.folder:
            old, self._connection = self._opened(), connect(self.place)
            old.retire()
