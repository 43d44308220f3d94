"""The words of a request, and how texts hold them."""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import snowballstemmer

from acms_adapters.models import ContextRequest

_SINGLE = re.compile(r"\w+")
_WORD = re.compile(r"\w+(?:[.'’-]\w+)*")

_STOP_TEXT = """
a about an and any are as at be been but by can could did do does for from had has have he her his
how i if in into is it its me my no not of on or our please she should so some such than that the
their them then there these they this those to us was we were what when where which while who whom
whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())

_stemmer = snowballstemmer.stemmer("english")
_stemming = threading.Lock()  # a stemmer keeps the word it works on


def question(request: ContextRequest) -> str:
    """The query, and behind it the keywords that it lacks; empty when there are neither."""
    query = (request.query or "").strip()
    missing = [word for word in request.keywords or () if not contains(query, word)]
    return " ".join(filter(None, (query, *missing)))


def keywords(request: ContextRequest) -> tuple[str, ...]:
    """The keywords, or else the words of the query that carry meaning, each once."""
    if request.keywords:
        return tuple(dict.fromkeys(request.keywords))
    words = dict.fromkeys(_WORD.findall(request.query or ""))
    return tuple(word for word in words if word.casefold() not in STOP_WORDS) or tuple(words)


def contains(text: str, word: str) -> bool:
    """Whether `word` stands in `text` as a whole, whatever its case.

    Writing without spaces between words has no whole words: there, any occurrence counts.
    """
    return _contains(fold(text), *_sought(word))


def matches(text: str, words: Sequence[str]) -> float:
    """The share of the words that stand in the text as wholes, 0 to 1."""
    if not words:
        return 0.0
    folded = fold(text)
    return sum(_contains(folded, *_sought(word)) for word in words) / len(words)


def fold(text: str) -> str:
    """The text without differences of case and of Unicode form."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=512)
def _sought(word: str) -> tuple[str, re.Pattern[str] | None]:
    """A word as it is looked for, and what it must match to stand as a whole."""
    folded = fold(word)
    if not folded.isascii():
        return folded, None
    # the word comes before what must not precede it, because such a pattern is searched fast
    whole = re.escape(folded)
    return folded, re.compile(rf"{whole}(?<!\w{whole})(?!\w)")


def _contains(text: str, word: str, whole: re.Pattern[str] | None) -> bool:
    return word in text and (whole is None or whole.search(text) is not None)


def overlaps(texts: Mapping[str, str], words: Iterable[str]) -> dict[str, float]:
    """How much of what the words say stands in each text, 0 to 1, whatever their endings.

    A word counts the more, the fewer of the texts hold it; one that none holds does not count.
    """
    terms = {stem(part) for word in words for part in _SINGLE.findall(fold(word))}
    held = {name: _held(fold(text), terms) for name, text in texts.items()}
    weights = {
        term: math.log1p(len(held) / holders)
        for term in sorted(terms)
        if (holders := sum(term in found for found in held.values()))
    }
    total = sum(weights.values())
    return {
        name: sum(weights[term] for term in sorted(found)) / total if found else 0.0
        for name, found in held.items()
    }


def _held(text: str, terms: set[str]) -> set[str]:
    stems = {stem(word) for word in _SINGLE.findall(text)}
    return {term for term in terms if term in stems or (not term.isascii() and term in text)}


@lru_cache(maxsize=1 << 14)
def stem(word: str) -> str:
    """The word without its English ending."""
    with _stemming:
        return str(_stemmer.stemWord(word))
