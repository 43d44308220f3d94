"""A clock for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2024, 6, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The moment it shows."""
        return self.now

    def move(self, *, days: float) -> datetime:
        """Go on, and give the moment after."""
        self.now += timedelta(days=days)
        return self.now
