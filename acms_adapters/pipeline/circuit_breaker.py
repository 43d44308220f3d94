"""Leaving a strategy alone that keeps failing (ruling S8)."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Literal

from acms_adapters.pipeline.bounds import whole

CircuitState = Literal["closed", "open", "half_open"]


class CircuitBreaker:
    """Counts failures in a row; opens at a threshold, lets one probe through after a while.

    Safe to share between threads.

    Args:
        threshold: Failures in a row that open it, at least 1.
        reset_timeout: Seconds until an open one lets a probe through, 0 or more.
        clock: Monotonic seconds.

    Raises:
        ValueError: A value outside its range.
    """

    def __init__(
        self,
        threshold: int = 3,
        reset_timeout: float = 60.0,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not (math.isfinite(reset_timeout) and reset_timeout >= 0.0):
            raise ValueError(f"reset_timeout must be seconds >= 0, not {reset_timeout!r}")
        self._threshold = whole(threshold, "threshold", least=1)
        self._reset_timeout = reset_timeout
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False
        self._era = 0

    @property
    def state(self) -> CircuitState:
        """``half_open`` once the reset time has passed, until the probe has its verdict."""
        with self._lock:
            if self._opened_at is None:
                return "closed"
            return "half_open" if self._is_due() else "open"

    @property
    def refuses(self) -> bool:
        """Whether a call would be refused now."""
        with self._lock:
            return self._opened_at is not None and (self._probing or not self._is_due())

    def acquire(self) -> Permit | None:
        """Leave to make one call; None while the circuit is open or a probe is under way."""
        with self._lock:
            if self._opened_at is None:
                return Permit(self, self._era, probe=False)
            if self._probing or not self._is_due():
                return None
            self._probing = True
            return Permit(self, self._era, probe=True)

    def _is_due(self) -> bool:
        assert self._opened_at is not None
        return self._clock() - self._opened_at >= self._reset_timeout

    def _settle(self, permit: Permit, verdict: bool | None) -> None:
        with self._lock:
            if permit.era != self._era:
                return  # given out before the circuit opened or closed: says nothing of now
            if permit.probe:
                self._probing = False
            if verdict:
                self._close()
            elif verdict is False:
                self._failures += 1
                if permit.probe or self._failures >= self._threshold:
                    self._open()

    def _close(self) -> None:
        self._failures = 0
        if self._opened_at is not None:
            self._opened_at = None
            self._era += 1

    def _open(self) -> None:
        self._opened_at = self._clock()
        self._era += 1


class Permit:
    """Leave to make one call; exactly the first of its three verdicts counts."""

    def __init__(self, breaker: CircuitBreaker, era: int, *, probe: bool) -> None:
        self.era = era
        self.probe = probe
        self._breaker: CircuitBreaker | None = breaker

    def succeed(self) -> None:
        """The call answered."""
        self._settle(True)

    def fail(self) -> None:
        """The call failed."""
        self._settle(False)

    def release(self) -> None:
        """The call was cancelled; that is neither a success nor a failure."""
        self._settle(None)

    def _settle(self, verdict: bool | None) -> None:
        breaker, self._breaker = self._breaker, None
        if breaker is not None:
            breaker._settle(self, verdict)
