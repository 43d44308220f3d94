"""How often the words of a question stand in texts, without reading every word of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from acms_adapters.backends.analysis import fold, query_terms, tokens

_BEGINNING = 3


class Occurrences:
    """Counts what a question asks for, by the analysis of the text index.

    Only words, and parts of identifiers, that begin like one of the question are looked at.

    Args:
        query: The question.
    """

    def __init__(self, query: str) -> None:
        terms = query_terms(query)
        self._words = {term[0] for term in terms if len(term) == 1 and term[0].isascii()}
        self._others = sorted({"".join(term) for term in terms} - self._words)
        self._pattern = _beginning_like(self._words) if self._words else None
        self._known: dict[str, tuple[str, ...]] = {}

    def __bool__(self) -> bool:
        """Whether the question asks for anything."""
        return bool(self._words or self._others)

    def within(self, text: str) -> dict[str, int]:
        """How often each term stands in a text; those that do not are left out."""
        folded = fold(text)
        found: dict[str, int] = {}
        if self._pattern is not None:
            for run in self._pattern.findall(folded):
                for term in self._terms(run):
                    found[term] = found.get(term, 0) + 1
        if self._others:
            plain = folded.casefold()
            found.update({term: n for term in self._others if (n := plain.count(term))})
        return found

    def _terms(self, run: str) -> tuple[str, ...]:
        known = self._known.get(run)
        if known is None:
            known = self._known[run] = tuple(t for t in tokens(run) if t in self._words)
        return known


def _beginning_like(words: Iterable[str]) -> re.Pattern[str]:
    """What finds runs of letters, digits and underscores from where they begin like a word.

    A run may begin inside an identifier, at an underscore, a capital or a change between letters
    and digits. First letters stand first in the pattern because those are found fastest.
    """
    rests = defaultdict(set)
    for word in words:
        rests[word[0]].add(_rest(word))
    letters = "".join(sorted(rests))
    branches = "|".join(
        rf"(?<=[{letter}{letter.upper()}])(?i:{'|'.join(sorted(rests[letter]))})"
        for letter in letters
    )
    inside = r"(?<![A-Za-z][a-z])(?<![0-9][0-9])"
    return re.compile(rf"[{letters}{letters.upper()}]{inside}(?:{branches})\w*", re.ASCII)


def _rest(word: str) -> str:
    """A pattern for what stands behind the first letter wherever a word has this stem."""
    if len(word) == 1:
        return r"(?!\d)" if word.isdigit() else "(?-i:(?![a-z]))"
    # using has the stem `use`, skies `sky`
    return word[1:-1] if len(word) <= _BEGINNING and word[-1] in "eiy" else word[1:_BEGINNING]
