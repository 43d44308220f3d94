"""One process at a time for the files of a folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acms_adapters.errors import StoreError, StoreLockedError

_PATIENCE = 60.0

_QUEUE = "acms-queue.lock"
_TURN = "acms-turn.lock"


class Guard:
    """Lets one at a time change what an embedded Chroma keeps in a folder.

    Its engine rewrites its files when it writes and when it opens what others wrote; two at it at
    once leave files that no engine can read. SQLite brings locks that work on every platform and
    end with their process. Whoever waits first has the next turn.

    Args:
        folder: None where a server takes care.

    Attributes:
        patience: Seconds to wait for others; a batch takes them a few.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.patience = _PATIENCE

    @contextmanager
    def turn(self, *, patience: float | None = None) -> Iterator[None]:
        """Have the folder for oneself.

        Args:
            patience: Seconds to wait, if shorter than one's own.

        Raises:
            StoreLockedError: Others have it, or had it all the while.
        """
        if self._folder is None:
            yield
            return
        patience = min(self.patience, self.patience if patience is None else patience)
        with (
            self._lock(self._folder / _QUEUE, patience) as queue,
            self._lock(self._folder / _TURN, patience),
        ):
            queue.rollback()
            yield

    @contextmanager
    def _lock(self, file: Path, patience: float) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(file, timeout=patience, isolation_level=None)
        except sqlite3.Error as error:
            raise StoreError(f"cannot lock {str(file)!r}: {error}") from error
        try:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                raise StoreLockedError(
                    f"another process has been writing vectors to {str(self._folder)!r} for "
                    f"{patience:g} seconds: try again when it is done"
                ) from error
            yield connection
        finally:
            connection.close()
