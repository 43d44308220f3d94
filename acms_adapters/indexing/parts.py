"""Long text in parts of about 400 tokens, cut where a reader would cut it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from acms_adapters.indexing.lines import lines_between, split_lines, trim

PART_TOKENS = 400
"""About how large a part is."""

OUTLINE_TOKENS = 1000
"""Up to how large an outline stands for its node."""

WHOLE_TOKENS = 1500
"""What is larger than this also gets parts, so that something of it fits a small budget."""

_BYTES_PER_TOKEN = 4
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a text, verbatim, with its place."""

    text: str
    location: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is not cut again: some lines, or a stretch of one very long line."""

    text: str
    first: int
    last: int
    start: int | None = None  # first character in its line, where the line was cut

    @property
    def size(self) -> int:
        return rough_tokens(self.text)


def rough_tokens(text: str) -> int:
    """Tokens as a quarter of the bytes: cheap, the same everywhere, and near enough for cutting."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // _BYTES_PER_TOKEN)


def split_parts(text: str, *, first_line: int = 1, limit: int = PART_TOKENS) -> list[Part]:
    """Cut a text into parts of at most about `limit` tokens (ruling M6).

    Cut between paragraphs where possible, else between lines, else between words; a fenced block is
    one paragraph. The parts hold the whole text but for empty lines around them.

    Args:
        first_line: Number of the text's first line in its resource.
    """
    groups: list[list[_Piece]] = []
    filled = 0
    for piece in _pieces(text, first_line, limit):
        if groups and filled + piece.size <= limit:
            groups[-1].append(piece)
            filled += piece.size
        else:
            groups.append([piece])
            filled = piece.size
    if len(groups) > 1 and filled < limit // 4:  # a short rest stays with what it follows
        groups[-2:] = [groups[-2] + groups[-1]]
    parts = [_join(group) for group in groups]
    return [part for part in parts if part.text]


def _join(group: list[_Piece]) -> Part:
    text = "".join(piece.text for piece in group)
    while len(group) > 1 and not group[-1].text.strip():
        group = group[:-1]
    while len(group) > 1 and not group[0].text.strip():
        group = group[1:]
    first, last = group[0], group[-1]
    if first.start is not None and first.first == last.last:
        end = (last.start or 0) + len(last.text.rstrip("\r\n"))
        return Part(trim(text), f"line {first.first}, characters {first.start + 1}-{end}")
    return Part(trim(text), lines_between(first.first, last.last))


def _pieces(text: str, first_line: int, limit: int) -> Iterator[_Piece]:
    lines = split_lines(text)
    for start, end in _paragraphs(lines):
        block = "".join(lines[start:end])
        if rough_tokens(block) <= limit:
            yield _Piece(block, first_line + start, first_line + end - 1)
            continue
        for index in range(start, end):
            yield from _cut_line(lines[index], first_line + index, limit)


def _paragraphs(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Runs of lines up to and without the empty lines behind them; empty lines go by themselves."""
    start, fence = 0, ""
    for index, line in enumerate(lines):
        marker = _FENCE.match(line)
        if fence:
            closes = marker and marker[1].startswith(fence) and not line[marker.end() :].strip()
            fence = "" if closes else fence
        elif marker:
            fence = marker[1]
        elif not line.strip():
            if start < index:
                yield start, index
            yield index, index + 1
            start = index + 1
    if start < len(lines):
        yield start, len(lines)


def _cut_line(line: str, number: int, limit: int) -> Iterator[_Piece]:
    if rough_tokens(line) <= limit:
        yield _Piece(line, number, number)
        return
    start = 0
    while start < len(line):
        end = _cut_at(line, start, limit)
        yield _Piece(line[start:end], number, number, start)
        start = end


def _cut_at(line: str, start: int, limit: int) -> int:
    """Where a stretch that begins at `start` ends: behind a blank if there is one, else full."""
    end = min(len(line), start + limit * _BYTES_PER_TOKEN)
    while end - start > 1 and rough_tokens(line[start:end]) > limit:
        end = start + (end - start) // 2
    if end == len(line):
        return end
    blank = max(line.rfind(mark, start + (end - start) // 2, end) for mark in " \t。、，")
    return blank + 1 if blank > start else end
