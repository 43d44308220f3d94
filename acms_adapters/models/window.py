"""Windows of time such as ``7d`` (ruling T1)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from acms_adapters.errors import RequestError
from acms_adapters.models.base import as_utc

_WINDOW = re.compile(r"(\d{1,6})([dwmy])", re.IGNORECASE)
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


def parse_window(window: str) -> timedelta | None:
    """Length of a window; None for ``all``.

    Raises:
        RequestError: Neither ``all`` nor a number of at least 1 with d, w, m (30 days) or y.
    """
    text = window.strip().lower()
    if text == "all":
        return None
    match = _WINDOW.fullmatch(text)
    if match is None or int(match[1]) < 1 or int(match[1]) * _DAYS[match[2]] > 999_999_999:
        raise RequestError(
            f"a time window is 'all' or a number with d, w, m or y, such as '7d', not {window!r}"
        )
    return timedelta(days=int(match[1]) * _DAYS[match[2]])


def window_start(window: str | None, now: datetime) -> datetime | None:
    """The earliest moment inside a window that ends at `now`; None when it has no start."""
    length = parse_window(window) if window else None
    if length is None:
        return None
    try:
        return as_utc(now) - length
    except OverflowError:
        return None
