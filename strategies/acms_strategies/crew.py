"""Doing a few things beside each other, and not waiting for what is stuck."""

from __future__ import annotations

import contextvars
import os
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

A = TypeVar("A")

_IDLE_SECONDS = 10.0

Inbox = queue.SimpleQueue[Callable[[], None]]


class Crew:
    """A few threads that are kept for a while: a store opens a connection for each new one.

    They are daemons, so that a stuck one does not delay the end of the interpreter (ruling S7).
    Safe to share between threads and to use after a fork.
    """

    def __init__(self) -> None:
        self._reset()

    def beside(
        self, *works: Callable[[], A], seconds: float, workers: int = 2
    ) -> list[A | BaseException]:
        """Do things beside each other and wait for them for so long.

        They see the caller's context variables (ruling S11). With one worker they are done one
        after the other.

        Returns:
            For each what it returned or raised; `TimeoutError` for what is not done in time.
        """
        outcomes: list[A | BaseException] = [
            TimeoutError(f"no answer within {seconds:.3g} s") for _ in works
        ]
        reports: queue.SimpleQueue[tuple[int, A | BaseException]] = queue.SimpleQueue()
        threads = max(1, min(workers, len(works)))
        numbered = list(enumerate(works))
        for lane in range(threads):
            run = contextvars.copy_context().run
            self._start(partial(run, _do, numbered[lane::threads], reports))
        deadline = time.monotonic() + seconds
        for _ in works:
            try:
                place, outcome = reports.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            outcomes[place] = outcome
        return outcomes

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[Inbox] = []

    def _start(self, work: Callable[[], None]) -> None:
        if self._process != os.getpid():
            self._reset()  # threads do not survive a fork
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put(work)
        else:
            threading.Thread(
                target=self._serve, args=(work,), name="acms strategy", daemon=True
            ).start()

    def _serve(self, work: Callable[[], None] | None) -> None:
        inbox: Inbox = queue.SimpleQueue()
        while work is not None:
            work()
            work = None  # what was done must not be kept alive by waiting for more
            with self._lock:
                self._idle.append(inbox)
            work = self._next(inbox)

    def _next(self, inbox: Inbox) -> Callable[[], None] | None:
        try:
            return inbox.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            pass
        with self._lock:
            if inbox in self._idle:
                self._idle.remove(inbox)
                return None
        return inbox.get()  # somebody has taken it from the list and is about to fill it


def _do(
    works: list[tuple[int, Callable[[], A]]],
    reports: queue.SimpleQueue[tuple[int, A | BaseException]],
) -> None:
    for place, work in works:
        try:
            reports.put((place, work()))
        except BaseException as error:
            reports.put((place, error))
