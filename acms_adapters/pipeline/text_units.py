"""Where a text may be cut: between sentences, list items and table rows, and between lines of code.

A line of code that stands deeper than another belongs to it; who reads the inner one has to see the
outer one as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_SENTENCE_END = re.compile(
    r"(?<![.!?])[.!?]++[\"'”’)\]]*+(?=\s++[^a-z])|(?<![。！？])[。！？]++[」』”’)）]*+"
)
_NO_END = re.compile(r"(?:\b(?:[A-Z]|[Dd]r|Mrs?|Ms|St|vs|[Ff]ig|[Nn]o|al|cf|e\.g|i\.e|etc))\.$")
_OWN_LINE = re.compile(
    r"\s*(?:#{1,6}\s|[-*+•]\s|\d+[.)]\s|\||>|[-=*_~]{3,}\s*$|:?\w[\w ]{0,30}: \S)"
)
_ENDS = re.compile(r"\s*(?:#{1,6}\s|\||[-=*_~]{3,}\s*$)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_CODE_LINE = re.compile(
    r"\s*(?:@\w|#include\b|//|/\*|[\])}]|<\w"
    r"|(?:async |export |public |private |static |protected )*"
    r"(?:def|class|import|from|return|raise|yield|assert|elif|else|except|finally|function|fn|func"
    r"|let|const|var|struct|enum|impl|interface|package|namespace|using|switch|case)\b)"
    r"|\s*[\w.\[\]]+(?:: [\w.\[\], |]+)? ?[-+*/|&:]?= ?\S"
    r"|\s*[\w.]+\("
)
_CODE_ENDS = tuple("{};,([:")
_JUDGED = 200
"""Characters of a line that are looked at to tell code from prose."""
_IMPORT = re.compile(r"(?:from\s+\S+\s+)?import\b|#include\b|using\s")
_IMPORT_DEPTH = 99
_CODE_SHARE = 0.5
_CONTINUED = 40
"""Most lines that open brackets hold together."""


class Unit(NamedTuple):
    """A stretch of a text that is kept whole or not at all.

    Attributes:
        start: Where it begins; of code at the beginning of its line.
        end: Where it ends, without blanks and line ends behind it.
        outer: Place in the list of the unit it stands in; None if it stands by itself.
        depth: How many it stands in; of an import more than of anything else, it tells least.
    """

    start: int
    end: int
    outer: int | None = None
    depth: int = 0


def units_of(text: str) -> list[Unit]:
    """Cut a text; what lies between units is blank."""
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text)]
    units: list[Unit] = []
    for start, end, is_code in _stretches(text, lines):
        part = lines[start:end]
        if is_code:
            _add_code(units, text, part)
        else:
            units.extend(_prose(text, part))
    return units


_Lines = list[tuple[int, int]]


def _stretches(text: str, lines: _Lines) -> Iterator[tuple[int, int, bool]]:
    """Runs of lines, and whether each is code: what is fenced, or everything that looks like it."""
    is_code = _looks_like_code([text[start:end] for start, end in lines])
    fence, begin = "", 0
    for index, (start, end) in enumerate(lines):
        marker = _FENCE.match(text, start, end)
        if marker is None or (fence and not marker[1].startswith(fence)):
            continue
        if fence:
            yield begin, index + 1, True
            fence, begin = "", index + 1
        else:
            yield begin, index, is_code
            fence, begin = marker[1], index
    yield begin, len(lines), is_code or bool(fence)


def _looks_like_code(lines: list[str]) -> bool:
    filled = [line[:_JUDGED].rstrip() for line in lines if line.strip()]
    alike = [line for line in filled if line.endswith(_CODE_ENDS) or _CODE_LINE.match(line)]
    return len(alike) > _CODE_SHARE * len(filled)


def _prose(text: str, lines: _Lines) -> Iterator[Unit]:
    begin: int | None = None
    for start, end in lines:
        is_blank, is_own = not text[start:end].strip(), _OWN_LINE.match(text, start, end)
        if begin is not None and (is_blank or is_own):
            yield from _sentences(text, begin, start)
            begin = None
        if begin is None and not is_blank:
            begin = start
        if is_own and _ENDS.match(text, start, end):
            yield from _sentences(text, start, end)
            begin = None
    if begin is not None:
        yield from _sentences(text, begin, lines[-1][1])


def _sentences(text: str, start: int, end: int) -> Iterator[Unit]:
    begin = start
    for match in _SENTENCE_END.finditer(text, start, end):
        if _NO_END.search(text, max(begin, match.end() - 8), match.end()):
            continue
        yield from _trimmed(text, begin, match.end())
        begin = match.end()
    yield from _trimmed(text, begin, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[Unit]:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    if left < len(piece):
        yield Unit(start + left, start + len(piece.rstrip()))


def _add_code(units: list[Unit], text: str, lines: _Lines) -> None:
    around: list[tuple[int, int]] = []  # indentation and place of the units that are still open
    for start, end in _statements(text, lines):
        line = text[start:end]
        indent = len(line) - len(line.lstrip())
        while around and around[-1][0] >= indent:
            around.pop()
        outer = around[-1][1] if around else None
        around.append((indent, len(units)))
        depth = _IMPORT_DEPTH if _IMPORT.match(line) else len(around) - 1
        units.append(Unit(start, start + len(line.rstrip()), outer, depth))


def _statements(text: str, lines: _Lines) -> Iterator[tuple[int, int]]:
    """Lines, with those that brackets or a decorator hold together as one."""
    begin, held, opened = -1, 0, 0
    for start, end in lines:
        line = text[start:end]
        if not line.strip() and not held:
            continue
        if not held:
            begin, opened = start, 0
        opened += sum(map(line.count, "([")) - sum(map(line.count, ")]"))
        held += 1
        if held < _CONTINUED and (opened > 0 or line.lstrip().startswith("@")):
            continue
        yield begin, end
        held = 0
    if held:
        yield begin, lines[-1][1]
