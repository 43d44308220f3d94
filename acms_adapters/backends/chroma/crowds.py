"""Answers from collections in which many vectors are equal.

Chroma finds by a graph in which each vector knows a few dozen neighbours. Where some hundred are
equal they know only each other, and neither they nor what lies beside them can be reached for
sure, however wide the graph is made. A sample of the collection tells whether that is so; if it
is, and the collection is small, all vectors are compared.
"""

from __future__ import annotations

from collections.abc import Callable

from acms_adapters.backends.chroma.record import CollectionRecord
from acms_adapters.backends.vectors.records import Vector
from acms_adapters.backends.vectors.scan import Scan, has_equals

LARGEST = 10_000
"""Most vectors that are compared one by one; reading them takes about 50 microseconds each."""


class Crowds:
    """What was last read of a collection; thread-safe, as what is read is never changed."""

    def __init__(self) -> None:
        self._sampled: tuple[str, bool] = ("", False)
        self._scanned: tuple[str, Scan | None] = ("", None)

    def is_crowded(self, record: CollectionRecord, vectors: Callable[[], Vector]) -> bool:
        """Whether some of the sample are equal.

        What others wrote, who give no stamp, could not be told from what was read before.
        """
        if not (record.whole and record.stamp and record.sample):
            return False
        stamp, crowded = self._sampled
        if stamp != record.stamp:
            crowded = has_equals(vectors())
            self._sampled = record.stamp, crowded
        return crowded

    def scan(
        self, record: CollectionRecord, *, count: int, read: Callable[[], Scan]
    ) -> Scan | None:
        """All vectors; None where they are too many."""
        if count > LARGEST:
            return None
        stamp, scan = self._scanned
        if scan is None or stamp != record.stamp or len(scan.nodes) != count:
            scan = read()
            self._scanned = record.stamp, scan
        return scan
