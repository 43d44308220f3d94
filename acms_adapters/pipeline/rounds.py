"""Doing several things at the same time, each within its time and all within one deadline.

The state of a round is moved by one method that never waits; `run` and `arun` differ in how they
wait between its steps (ruling S7).
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from acms_adapters.pipeline.workers import Workers

logger = logging.getLogger(__name__)

INTERRUPTS = (KeyboardInterrupt, SystemExit, asyncio.CancelledError)
"""What a job raises not because it failed but because everything is to stop."""


class Clock:
    """Monotonic time, and waiting for a signal."""

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def wait(self, signal: threading.Event, seconds: float) -> None:
        """Wait until the signal is set, at most so long."""
        signal.wait(min(seconds, threading.TIMEOUT_MAX))

    async def await_(self, signal: asyncio.Event, seconds: float) -> None:
        """The same, on an event loop."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await signal.wait()


@dataclass(eq=False, kw_only=True)
class Job:
    """One thing to do.

    Attributes:
        name: For people.
        timeout: Seconds from its own start.
        work: Does it, on a thread.
        task: Starts it on the running event loop instead; used by `arun` alone.
    """

    name: str
    timeout: float
    work: Callable[[], Any] = lambda: None
    task: Callable[[], asyncio.Future[Any]] | None = None
    started: float = field(default=0.0, init=False)
    given_up: bool = field(default=False, init=False)
    future: asyncio.Future[Any] | None = field(default=None, init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a job ended.

    Attributes:
        seconds: How long it ran.
        value: What it returned.
        error: What it raised.
        in_time: False when it was given up; `value` and `error` are then unset.
        started: False when no worker was free for it before the deadline.
    """

    seconds: float = 0.0
    value: Any = None
    error: BaseException | None = None
    in_time: bool = True
    started: bool = True


J = TypeVar("J", bound=Job)


class Round(ABC, Generic[J]):
    """Runs jobs beside each other until each has ended or the deadline has come.

    A job that is given up frees its worker at once, whatever its thread still does.

    Args:
        workers: Threads to run jobs on.
        at_once: Jobs on threads at the same time; jobs on an event loop come on top.
        deadline: Moment on `clock` by which all must have ended.
        clock: Time and waiting.
    """

    def __init__(self, *, workers: Workers, at_once: int, deadline: float, clock: Clock) -> None:
        self._workers = workers
        self._at_once = at_once
        self._deadline = deadline
        self._clock = clock
        self._waiting: deque[J] = deque()
        self._running: list[J] = []
        self._reports: deque[tuple[J, Ending]] = deque()
        self._lock = threading.Lock()
        self._listening = True
        self._on_loop = False
        self._wake: Callable[[], object] = lambda: None

    @abstractmethod
    def begin(self, job: J) -> bool:
        """Called right before a job starts; False drops it."""

    @abstractmethod
    def end(self, job: J, ending: Ending) -> None:
        """Called once for each job that was not dropped; may `add` more jobs."""

    @abstractmethod
    def late(self, job: J, ending: Ending) -> None:
        """Called when a job that was given up ends after all, while the round still runs."""

    @abstractmethod
    def interrupted(self, job: J) -> None:
        """Called for each job that still runs when the round is broken off."""

    @property
    def over(self) -> bool:
        """Whether the deadline has come; jobs added now will not start."""
        return self._clock.monotonic() >= self._deadline

    def limit(self, job: J) -> float:
        """Seconds that a job may take from its start."""
        return min(job.timeout, self._deadline - job.started)

    def add(self, job: J) -> None:
        """Put a job in the queue."""
        self._waiting.append(job)

    def run(self) -> None:
        """Do all jobs; the calling thread waits.

        Raises:
            BaseException: What is in `INTERRUPTS`, when a job raised it.
        """
        signal = threading.Event()
        self._wake = signal.set
        try:
            while (seconds := self._advance()) is not None:
                self._clock.wait(signal, seconds)
                signal.clear()
        finally:
            self._close()

    async def arun(self) -> None:
        """Do all jobs; the event loop goes on meanwhile.

        Raises:
            BaseException: What is in `INTERRUPTS`, when a job raised it.
        """
        signal = asyncio.Event()
        self._wake = partial(asyncio.get_running_loop().call_soon_threadsafe, signal.set)
        self._on_loop = True
        try:
            while (seconds := self._advance()) is not None:
                await self._clock.await_(signal, seconds)
                signal.clear()
        finally:
            self._close()

    def _advance(self) -> float | None:
        """Do what can be done now; seconds to wait at most, or None when all is done."""
        self._hear()
        self._give_up()
        self._start()
        if not self._running:
            return None
        next_moment = min(min(job.started + job.timeout for job in self._running), self._deadline)
        return max(0.0, next_moment - self._clock.monotonic())

    def _hear(self) -> None:
        while self._reports:
            job, ending = self._reports.popleft()
            if job.given_up:
                self.late(job, ending)
                continue
            self._running.remove(job)
            if isinstance(ending.error, INTERRUPTS):
                self.interrupted(job)
                raise ending.error
            if ending.seconds <= self.limit(job):
                self.end(job, ending)
            else:
                job.given_up = True
                self.end(job, Ending(seconds=ending.seconds, in_time=False))
                self.late(job, ending)

    def _give_up(self) -> None:
        now = self._clock.monotonic()
        for job in list(self._running):
            if now >= min(job.started + job.timeout, self._deadline):
                self._running.remove(job)
                job.given_up = True
                if job.future is not None:
                    job.future.cancel()
                self.end(job, Ending(seconds=now - job.started, in_time=False))
        while self._waiting and now >= self._deadline:
            self.end(self._waiting.popleft(), Ending(in_time=False, started=False))

    def _start(self) -> None:
        passed: list[J] = []
        while self._waiting:
            job = self._waiting.popleft()
            on_loop = self._on_loop and job.task is not None
            busy = sum(running.future is None for running in self._running)
            if not on_loop and busy >= self._at_once:
                passed.append(job)
            elif self.begin(job):
                job.started = self._clock.monotonic()
                self._running.append(job)
                self._launch(job, contextvars.copy_context(), on_loop=on_loop)
        self._waiting.extend(passed)

    def _launch(self, job: J, context: contextvars.Context, *, on_loop: bool) -> None:
        try:
            if on_loop and job.task is not None:
                job.future = asyncio.ensure_future(context.run(job.task))
                job.future.add_done_callback(partial(self._task_done, job))
            else:
                self._workers.submit(partial(self._work, job, context))
        except Exception as error:
            self._report(job, error=error)

    def _work(self, job: J, context: contextvars.Context) -> None:
        try:
            value = context.run(job.work)
        except BaseException as error:
            self._report(job, error=error)
        else:
            self._report(job, value=value)

    def _task_done(self, job: J, future: asyncio.Future[Any]) -> None:
        if future.cancelled():
            self._report(job, error=asyncio.CancelledError())
        elif error := future.exception():
            self._report(job, error=error)
        else:
            self._report(job, value=future.result())

    def _report(self, job: J, *, value: Any = None, error: BaseException | None = None) -> None:
        seconds = self._clock.monotonic() - job.started
        with self._lock:
            if self._listening:
                self._reports.append((job, Ending(seconds=seconds, value=value, error=error)))
                with contextlib.suppress(RuntimeError):  # the event loop is gone
                    self._wake()
                return
        logger.info("%s ended after its round, %.3f s after its start", job.name, seconds)

    def _close(self) -> None:
        with self._lock:
            self._listening = False
        for job in self._running:
            job.given_up = True
            if job.future is not None:
                job.future.cancel()
            self.interrupted(job)
        self._running.clear()
