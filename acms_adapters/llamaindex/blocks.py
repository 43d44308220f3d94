"""Cutting a block down, fragment by fragment."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from acms_adapters.models.layout import HEADER, SEPARATOR
from acms_adapters.pipeline.fencing import fenced, unfenced
from acms_adapters.pipeline.shortening import shorten
from acms_adapters.protocols import TokenCounter

_BEGINNING = re.compile(rf"{re.escape(SEPARATOR)}(?={re.escape(HEADER)})")
_WORTH_READING = 16
"""Tokens below which a shortened fragment is not worth reading."""


def truncate_block(
    block: str, tokens: int, *, counter: TokenCounter, around: Sequence[str] = ()
) -> str | None:
    """A block of at most so many tokens: its last fragments go, and one may lose sentences.

    Args:
        block: A block whose fragments have headers, most important first.
        tokens: Most tokens of the result, its fence included.
        counter: Counts.
        around: Tags between which the block will stand.

    Returns:
        None when not even a part of the first fragment fits.
    """
    text = unfenced(block)
    if text is None:
        return None

    def whole(parts: Sequence[str]) -> str:
        return fenced(SEPARATOR.join(parts), around=around)

    parts = _BEGINNING.split(text)
    if not parts[0].startswith(HEADER):
        parts = parts[1:]  # a preamble gives way first (ruling S4)
    kept: list[str] = []
    for part in parts:
        if counter.count(whole([*kept, part])) <= tokens:
            kept.append(part)
            continue
        shorter = _shorter(part, lambda text: counter.count(whole([*kept, text])), tokens)
        return whole([*kept, shorter]) if shorter else whole(kept) if kept else None
    return whole(kept) if kept else None


def _shorter(part: str, count: Callable[[str], int], tokens: int) -> str | None:
    """A fragment below its header with fewer sentences; None where that is not worth reading."""
    header, _, body = part.partition("\n")
    frame = count(f"{header}\n")
    if frame + _WORTH_READING > tokens:
        return None
    excerpt = shorten(body, tokens, count=lambda text: count(f"{header}\n{text}"))
    return f"{header}\n{excerpt.text}" if excerpt else None
