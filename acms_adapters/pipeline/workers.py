"""Threads that are kept for a while, because starting one costs more than most of their work."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable

_IDLE_SECONDS = 10.0


class Workers:
    """Runs functions on daemon threads, each at once; how many is up to the caller.

    A thread that is stuck is never waited for, neither by others nor at the exit of the
    interpreter. Safe to share between threads and to use after a fork.

    Args:
        idle_seconds: How long a thread waits for more work before it ends.
    """

    def __init__(self, *, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._reset()

    def submit(self, work: Callable[[], None]) -> None:
        """Run `work`, which must not raise.

        Raises:
            RuntimeError: No more threads can be started.
        """
        if self._process != os.getpid():
            self._reset()  # threads do not survive a fork
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put(work)
        else:
            threading.Thread(target=self._serve, args=(work,), name="acms", daemon=True).start()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[queue.SimpleQueue[Callable[[], None]]] = []

    def _serve(self, work: Callable[[], None] | None) -> None:
        inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        while work is not None:
            work()
            work = None  # what was done must not be kept alive by waiting for more
            with self._lock:
                self._idle.append(inbox)
            work = self._next(inbox)

    def _next(self, inbox: queue.SimpleQueue[Callable[[], None]]) -> Callable[[], None] | None:
        try:
            return inbox.get(timeout=self._idle_seconds)
        except queue.Empty:
            pass
        with self._lock:
            if inbox in self._idle:
                self._idle.remove(inbox)
                return None
        return inbox.get()  # somebody has taken it from the list and is about to fill it
