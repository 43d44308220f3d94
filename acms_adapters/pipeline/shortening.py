"""Shortening a text to a number of tokens by leaving out sentences or lines of code.

Nothing is rewritten: what is kept is verbatim and in its order, and a dot leader stands where
something was left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from acms_adapters.backends.analysis import query_terms, tokens
from acms_adapters.pipeline.text_units import Unit, units_of

GAP = "…"
"""Stands where something was left out, on a line of its own unless it is within a line."""

_WORD = re.compile(r"\w")

Count = Callable[[str], int]
Span = tuple[int, int]

_NEARNESS = 0.3  # what a sentence is worth beside one that answers the question
_ATTEMPTS = 6


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is kept of a text.

    Attributes:
        text: The kept parts, with `GAP` between those that were apart.
        spans: Where each of them begins and ends in the text, in order.
        tokens: Tokens of `text`.
    """

    text: str
    spans: tuple[Span, ...]
    tokens: int


class Shortening:
    """A text and what in it matters most.

    With a question that is what shares words with it, rare ones first, and its neighbours; else
    the beginning of prose and the outer lines of code.

    Args:
        text: The text.
        count: Counts tokens, and what will stand around the text.
        tokens: What it counts for the text, where that is known.
        query: The question.
    """

    def __init__(
        self, text: str, *, count: Count, tokens: int | None = None, query: str = ""
    ) -> None:
        self._text = text
        self._count = count
        self._query = query
        self._frame = count("")
        whole = count(text) if tokens is None else tokens
        self._rate = max(1, whole - self._frame) / max(1, len(text))

    @cached_property
    def units(self) -> Sequence[Unit]:
        """What is kept whole or not at all."""
        return units_of(self._text)

    @cached_property
    def _texts(self) -> Sequence[str]:
        return [self._text[unit.start : unit.end] for unit in self.units]

    @cached_property
    def _ranked(self) -> Sequence[int]:
        worth = _worth(self._texts, self._query)
        telling = [i for i, text in enumerate(self._texts) if _WORD.search(text)]
        return sorted(telling, key=lambda i: (-worth[i], self.units[i].depth, i))

    @cached_property
    def _marks(self) -> Sequence[int]:
        """Units that say nothing by themselves: closing brackets and the like."""
        return [i for i, text in enumerate(self._texts) if not _WORD.search(text)]

    def within(self, tokens: float) -> Excerpt | None:
        """Keep as much as fits.

        A larger number keeps the same and more, unless units differ much in size.

        Returns:
            None when not even one unit fits, or nothing would be left out.
        """
        wanted = tokens - self._frame
        for _ in range(_ATTEMPTS):
            kept = self._chosen(wanted)
            if not kept or len(kept) == len(self.units):
                return None
            spans = _spans([self.units[i] for i in sorted(kept)], self.units)
            text = _joined(self._text, spans)
            used = self._count(text)
            if used <= tokens:
                return Excerpt(text, spans, used)
            wanted = min(wanted - 1, wanted * tokens / used)
        return None

    def _chosen(self, tokens: float) -> set[int]:
        """The units that matter most within a number of tokens, by estimate."""
        kept: set[int] = set()
        left = tokens
        for index in self._ranked:
            needed = self._with_outer(index, kept)
            cost = sum(self._cost(self.units[i]) for i in needed)
            if cost <= left and needed:
                kept.update(needed)
                left -= cost
        for index in self._marks:
            beside = kept.issuperset({index - 1, min(index + 1, len(self.units) - 1)} - {index})
            if beside and (cost := self._cost(self.units[index])) <= left:
                kept.add(index)
                left -= cost
        return kept

    def _cost(self, unit: Unit) -> float:
        return self._rate * (unit.end - unit.start) + 1

    def _with_outer(self, index: int, kept: Iterable[int]) -> list[int]:
        needed = []
        place: int | None = index
        while place is not None and place not in kept:
            needed.append(place)
            place = self.units[place].outer
        return needed


def shorten(text: str, tokens: int, *, count: Count, query: str = "") -> Excerpt | None:
    """Shorten a text to at most a number of tokens.

    Where not even one sentence or line fits, it is cut behind a word, or within one that is larger.

    Args:
        text: The text.
        tokens: Most tokens of the result.
        count: Counts them.
        query: The question that the text is to answer.

    Returns:
        The whole text where it fits; None when nothing of it does.
    """
    whole = count(text)
    if whole <= tokens:
        return Excerpt(text, ((0, len(text)),), whole) if text else None
    shortening = Shortening(text, count=count, tokens=whole, query=query)
    return shortening.within(tokens) or _cut(text, tokens, count)


def _cut(text: str, tokens: int, count: Count) -> Excerpt | None:
    start = len(text) - len(text.lstrip())
    size = len(text) - start
    while size > 0:
        end = _word_end(text, start, start + size)
        shown = f"{text[start:end]} {GAP}"
        used = count(shown)
        if used <= tokens:
            return Excerpt(shown, ((start, end),), used)
        size = min(size - 1, max(size // 8, (end - start) * tokens // used))
    return None


def _word_end(text: str, start: int, end: int) -> int:
    """The end of the last whole word, unless that leaves out more than half."""
    if end >= len(text):
        return len(text.rstrip())
    words = text[start : end + 1].rsplit(None, 1)[0]
    cut = start + len(words)
    return cut if cut - start > (end - start) // 2 else end


def _spans(kept: Sequence[Unit], units: Sequence[Unit]) -> tuple[Span, ...]:
    """Where the kept parts are; neighbours are one part, with what lies between them."""
    following = {left.end: right.start for left, right in pairwise(units)}
    spans: list[Span] = []
    for unit in kept:
        if spans and following.get(spans[-1][1]) == unit.start:
            spans[-1] = (spans[-1][0], unit.end)
        else:
            spans.append((unit.start, unit.end))
    return tuple(spans)


def _joined(text: str, spans: Sequence[Span]) -> str:
    parts = [text[start:end] for start, end in spans]
    for index, (left, right) in enumerate(pairwise(spans)):
        between = text[left[1] : right[0]]
        is_line = "\n" in between or "\r" in between
        parts[index] += f"\n{GAP}\n" if is_line else f" {GAP} "
    return "".join(parts)


def _worth(texts: Sequence[str], query: str) -> Sequence[float]:
    asked = {token for term in query_terms(query) for token in term} if query else set()
    if not asked:
        return [0.0] * len(texts)
    found = [asked.intersection(tokens(text)) for text in texts]
    holders = {token: sum(token in words for words in found) for token in asked}
    own = [sum(math.log1p(len(texts) / holders[token]) for token in words) for words in found]
    near = [max(own[max(0, i - 1) : i + 2]) for i in range(len(own))]
    return [mine + _NEARNESS * beside for mine, beside in zip(own, near, strict=True)]
