"""Waiting for processes that may get little of a busy machine."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

IDLE = 120.0
"""Seconds in which a process that does not hang gets something done."""


class Patience:
    """Waits as long as somebody works; a process hangs if nobody does."""

    def until(self, done: Callable[[float], bool], *processes: int) -> None:
        """Wait.

        Args:
            done: Waits so many seconds at most, and tells whether that was enough.
            processes: Those that are waited for, and whom they wait for.
        """
        since, seen = time.monotonic(), -1
        while not done(1.0):
            work = sum(map(_ticks, processes))
            if work != seen:
                since, seen = time.monotonic(), work
            assert time.monotonic() - since < IDLE, "a process hangs"

    def outcome(
        self, process: subprocess.Popen[str], *others: subprocess.Popen[str]
    ) -> tuple[str, str]:
        """What a process said until it ended, while it or others work."""
        said: list[tuple[str, str]] = []

        def ended(seconds: float) -> bool:
            try:
                said.append(process.communicate(timeout=seconds))
            except subprocess.TimeoutExpired:
                return False
            return True

        self.until(ended, process.pid, *(other.pid for other in others))
        return said[0]


def _ticks(process: int) -> int:
    """Time a process and its children had of the processor; 0 where nobody tells."""
    try:
        said = Path(f"/proc/{process}/stat").read_text()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return 0
    own = sum(map(int, said.rpartition(")")[2].split()[11:15]))
    return own + sum(_ticks(int(child)) for child in children)


@pytest.fixture(scope="session")
def patience() -> Patience:
    return Patience()
