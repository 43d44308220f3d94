"""Candidates that the packer left out, noted cheaply and written up when somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from acms_adapters.models import ContextFragment, LedgerEntry, LeftOut


class _Batch(NamedTuple):
    reason: LeftOut
    bound: int
    places: list[int]


class Departures:
    """Notes for a ledger.

    Of 100,000 candidates nearly all are passed over, and entries for them take as long as all the
    rest of the work.

    Args:
        fragments: All candidates; they are noted by their places.
        separator: Tokens between two fragments, which the rooms given to `pass_over` include.
    """

    def __init__(self, fragments: Sequence[ContextFragment] = (), separator: int = 0) -> None:
        self._fragments = fragments
        self._separator = separator
        self._entries: list[LedgerEntry] = []
        self._batches: list[_Batch] = []

    def write(self, entry: LedgerEntry) -> None:
        """Note a candidate with an entry."""
        self._entries.append(entry)

    def pass_over(self, places: Iterable[int], room: int) -> None:
        """Note candidates whose declared tokens are too many for the room there is."""
        self._note(LeftOut.OVER_BUDGET, room, places)

    def refuse(self, places: Iterable[int], limit: int) -> None:
        """Note candidates beyond the number that is wanted."""
        self._note(LeftOut.BEYOND_LIMIT, limit, places)

    def entries(self) -> Iterator[LedgerEntry]:
        """All of them: written ones first, then those noted, each in order."""
        yield from self._entries
        for reason, bound, places in self._batches:
            for place in places:
                fragment = self._fragments[place]
                if reason is LeftOut.BEYOND_LIMIT:
                    yield LedgerEntry.of(fragment, reason, threshold=bound)
                else:
                    missing = fragment.token_count + self._separator - bound
                    yield self.over_budget(fragment, missing, bound)

    def over_budget(
        self, fragment: ContextFragment, missing: int, room: int, *, other: str | None = None
    ) -> LedgerEntry:
        """An entry for a candidate that missed by some tokens."""
        had = max(0, room - self._separator)
        return LedgerEntry.of(
            fragment, LeftOut.OVER_BUDGET, other=other, needed=had + missing, had=had
        )

    def _note(self, reason: LeftOut, bound: int, places: Iterable[int]) -> None:
        last = self._batches[-1] if self._batches else None
        if last is None or (last.reason, last.bound) != (reason, bound):
            last = _Batch(reason, bound, [])
            self._batches.append(last)
        last.places.extend(places)
