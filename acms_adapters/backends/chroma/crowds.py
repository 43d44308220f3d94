"""Answers from collections in which many vectors are equal.

Chroma finds by a graph in which each vector knows a few dozen neighbours. Where some hundred are
equal they know only each other: a search that comes upon them goes no further, and some of them,
or of what lies beside them, cannot be reached at all. Two signs tell of them: equal ones in a
sample of the collection, if it is small, and in the answer itself, at any size. Then all vectors
are compared.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence

from acms_adapters.backends.chroma.record import CollectionRecord
from acms_adapters.backends.vectors.records import Vector
from acms_adapters.backends.vectors.scan import Scan, has_equals
from acms_adapters.backends.vectors.search import Candidate

SMALL = 10_000
"""Most vectors of which a sample tells; reading all of them takes about 50 microseconds each."""

WIDTH = 100
"""How many vectors a search of the graph compares at least, so that more cost next to nothing."""

TIED = 32
"""Equally near ones among them that tell of a crowd: as many neighbours as a vector has."""


class Crowds:
    """What was last read of a collection; thread-safe, as what is read is never changed.

    What others wrote, who give no stamp, could not be told from what was read before; of that
    nothing is remembered.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tied = ""
        self._sampled: tuple[str, bool] = ("", False)
        self._scanned: tuple[str, Scan | None] = ("", None)

    def note(self, record: CollectionRecord) -> None:
        """Remember that an answer told of a crowd."""
        self._tied = record.stamp

    def is_crowded(
        self, record: CollectionRecord, vectors: Callable[[], Vector], *, count: Callable[[], int]
    ) -> bool:
        """Whether an answer told so, or some of the sample of a small collection are equal.

        Args:
            vectors: Reads the sample.
            count: Tells how large the collection is.
        """
        if record.stamp and self._tied == record.stamp:
            return True
        if not (record.whole and record.stamp and record.sample):
            return False
        stamp, crowded = self._sampled
        if stamp != record.stamp:
            crowded = has_equals(vectors()) and count() <= SMALL
            self._sampled = record.stamp, crowded
        return crowded

    def scan(self, record: CollectionRecord, read: Callable[[], Scan]) -> Scan:
        """All vectors; whoever asks while they are read waits for them."""
        with self._lock:
            stamp, scan = self._scanned
            if scan is None or not record.stamp or stamp != record.stamp:
                scan = read()
                self._scanned = record.stamp, scan
            return scan


def is_tied(candidates: Sequence[Candidate]) -> bool:
    """Whether so many are equally near that others may lie behind them."""
    near = Counter(round(cosine, 6) for _, cosine in candidates)
    return max(near.values(), default=0) >= TIED
