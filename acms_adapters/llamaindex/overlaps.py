"""Windows around sentences that share sentences with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LEAST = 16
"""Characters below which an end that looks like a beginning is chance."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window that is read.

    Attributes:
        place: Whose it is.
        resource: What it is a part of.
        text: The window.
        core: The sentence it stands around.
    """

    place: int
    resource: str
    text: str
    core: str


def without_overlaps(windows: Sequence[Window]) -> Mapping[int, str]:
    """What is left of windows whose ends are read in a better one, by their places.

    Args:
        windows: Best first.
    """
    read: dict[str, list[str]] = {}
    shorter: dict[int, str] = {}
    for window in windows:
        others = read.setdefault(window.resource, [])
        text = window.text.strip()
        for other in others:
            text = _cut(text, other, window.core)
        others.append(text)
        if text != window.text.strip():
            shorter[window.place] = text
    return shorter


def _cut(text: str, other: str, core: str) -> str:
    """A text without the beginning that ends another one, and the end that begins it."""
    behind = text[_overlap(other, text) :].lstrip()
    if core in behind:
        text = behind
    if shared := _overlap(text, other):
        before = text[:-shared].rstrip()
        if core in before:
            text = before
    return text


def _overlap(left: str, right: str) -> int:
    """Characters at the end of one text that are the beginning of the other; 0 if few."""
    probe = right[:_LEAST]
    at = left.find(probe) if len(probe) == _LEAST else -1
    while at >= 0:
        if right.startswith(left[at:]):
            return len(left) - at
        at = left.find(probe, at + 1)
    return 0
