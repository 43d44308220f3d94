"""Lines of a text, with their ends, as Python's own tokenizer counts them."""

from __future__ import annotations

import re

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def split_lines(text: str) -> list[str]:
    """Split at line feeds and carriage returns alone, so that the lines join to the text.

    `str.splitlines` also splits at form feeds and Unicode separators, which Python source and
    Markdown do not count as line ends.
    """
    return _LINE.findall(text)


def lines_between(first: int, last: int) -> str:
    """How a place is written: `lines 3-9`, or `line 3`; both ends count, from 1."""
    return f"line {first}" if first == last else f"lines {first}-{last}"


def trim(text: str) -> str:
    """Drop empty lines around a text; indentation stays."""
    lines = split_lines(text)
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return "".join(lines[first:last]).rstrip("\r\n")


def indent_of(line: str) -> int:
    """Number of blanks and tabs in front of a line."""
    return len(line) - len(line.lstrip(" \t\f"))
