"""Periods that a question names, and texts that speak of them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_YEAR = re.compile(r"(?<![\w.-])(1\d{3}|20[0-4]\d)(s?)(?!\w)")
_SINCE = re.compile(r"\b(?:after|since)\b", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:before|until|till)\b", re.IGNORECASE)

OPEN_YEARS = 15
"""How far a period reaches whose other end is not named."""

NEAR_YEARS = 5.0
NEAR = 0.8
"""What a year just outside of the period is worth, and over how many years that fades by 1 / e."""


@dataclass(frozen=True, slots=True)
class Period:
    """Years, both ends included."""

    first: int
    last: int


def period_in(question: str) -> Period | None:
    """The period that a question names; None where it names no year.

    Years are four digits from 1000 to 2049. Several span what lies between them; one with ``since``
    or ``before`` is open to that side for 15 years; ``1990s`` are ten years.
    """
    found = [(int(year), bool(plural)) for year, plural in _YEAR.findall(question)]
    if not found:
        return None
    first = min(year for year, _ in found)
    last = max(year + 9 * (is_decade and year % 10 == 0) for year, is_decade in found)
    if len(found) == 1:
        if _SINCE.search(question):
            last += OPEN_YEARS
        elif _UNTIL.search(question):
            first -= OPEN_YEARS
    return Period(first, last)


def overlap(text: str, period: Period) -> float:
    """How much a text speaks of a period, 0 to 1: 1 where it names a year of it."""
    best = 0.0
    for year, _ in _YEAR.findall(text):
        distance = max(period.first - int(year), int(year) - period.last)
        if distance <= 0:
            return 1.0
        best = max(best, NEAR * math.exp(-distance / NEAR_YEARS))
    return best
