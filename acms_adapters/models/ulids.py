"""ULIDs: ids of 26 letters that sort by the time they were made."""

from __future__ import annotations

import os
import random
import threading
import time

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in _LETTERS for second in _LETTERS)
_SHIFTS = range(120, -1, -10)
_RANDOM_BITS = 80


class Ulids:
    """Makes ULIDs, each larger than the one before; thread-safe, and apart in forked processes."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()
        self._chance = random.Random()
        self._begin()
        if hasattr(os, "register_at_fork"):  # there is none on Windows, where nothing forks
            os.register_at_fork(after_in_child=self._begin)

    def make(self) -> str:
        """A new one."""
        moment = time.time_ns() // 1_000_000
        with self._lock:
            if moment > self._last >> _RANDOM_BITS:
                # one bit is left for those that follow in the same millisecond
                self._last = moment << _RANDOM_BITS | self._chance.getrandbits(_RANDOM_BITS - 1)
            else:
                self._last += 1
            number = self._last
        return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        # asking the system each time would let other threads run first, for milliseconds
        self._chance = random.Random(os.urandom(32))


ULIDS = Ulids()
