"""Ids that sort by the time they were made."""

from __future__ import annotations

import os
import random
import time

from ulid import ULID

# asking the system for each would let other threads run first, for milliseconds
_CHANCE = random.Random()
if hasattr(os, "register_at_fork"):  # there is none on Windows, where nothing forks
    os.register_at_fork(after_in_child=_CHANCE.seed)


def new_id() -> str:
    """A new ULID; the same in no other thread or forked process."""
    moment = time.time_ns() // 1_000_000
    return str(ULID(moment.to_bytes(6, "big") + _CHANCE.randbytes(10)))
