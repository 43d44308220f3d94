"""Words of a text, as the text index keeps and looks for them (rulings B2, B9).

Text is folded (compatibility forms, accents, case). An identifier gives its parts, split at case,
underscore, hyphen and digits, and all of them joined, so that ``getUserName``, ``get_user_name``
and ``get-user-name`` meet. English parts are stemmed. Scripts written without blanks (Chinese,
Japanese, Korean, Thai, Lao, Myanmar, Khmer) give single characters, and questions ask for each
pair of neighbours as a phrase. Emoji and other symbols beyond ASCII stand for themselves.

A token holds ASCII letters and digits and characters beyond ASCII, nothing else.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby, pairwise

import snowballstemmer

ANALYZER = "acms-1"
"""Name of the analysis; an index made with another one has to be made again."""

Term = tuple[str, ...]
"""A token, or several that must stand side by side."""

_LONGEST_TOKEN = 100
_LONGEST_WORD = 400  # a longer run without blanks is data, not words
_MOST_PARTS = 24
_CACHED_WORDS = 1 << 16

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3007\u3040-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0dff"
)
_LETTER = rf"(?:[^\W{_UNSPACED}]|[{_MARKS}])"
_ASCII_RUN = re.compile(r"\w+(?:-\w+)*", re.ASCII)
_RUN = re.compile(
    rf"(?P<word>{_LETTER}+(?:[-\u2010]{_LETTER}+)*)"
    rf"|(?P<unspaced>[{_UNSPACED}]+)"
    r"|(?P<symbols>[^\x00-\x7f\w\s]+)"
)
_HYPHENS = re.compile("[-\u2010]")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_DROPPED = re.compile("[\u00ad\u0300-\u036f\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]")
_DRAWING = re.compile("[\u2500-\u259f\ufffc\ufffd]")

_STOP_TEXT = """
a about after all also am an and any are as at be because been before being between both but by
can could d did do does doing don done during each few for from further had has have having he
her here hers him his how i if in into is it its itself just ll m may me might more most must my
no nor not of off on once only or other our ours out over own re s same shall she should so some
such t than that the their theirs them then there these they this those through to too under
until up us ve very was we were what when where which while who whom whose why will with would
you your yours
"""

_stemmer = snowballstemmer.stemmer("english")
_stemming = threading.Lock()  # a stemmer keeps the word it works on


def fold(text: str) -> str:
    """Give compatibility forms and accents up: ``ﬁ`` and ``fi``, ``é`` and ``e`` become one."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _DROPPED.sub("", unicodedata.normalize("NFKD", text)))


def tokens(text: str) -> list[str]:
    """Tokens of a text that is kept, in order and with repeats."""
    return [token for run in _runs(fold(text)) for token in run]


def query_terms(text: str) -> tuple[Term, ...]:
    """What a question asks for: each term once, without stop words unless there is nothing else.

    A word is asked for as it is and as its stem, because others may join what is one word here.
    """
    found: dict[Term, None] = {}
    for match in _RUN.finditer(fold(text)):
        run = _tokens_of(match)
        if match.lastgroup == "unspaced" and len(run) > 1:
            found.update(dict.fromkeys(pairwise(run)))
        else:
            spelt = _joined_forms(match[0]) if run and match.lastgroup == "word" else ()
            found.update(dict.fromkeys((token,) for token in (*run, *spelt)))
    telling = tuple(term for term in found if term[0] not in _stop_tokens())
    return telling or tuple(found)


def _joined_forms(word: str) -> tuple[str, ...]:
    whole = re.sub("[-_\u2010]", "", word).casefold()
    return (_cut(whole), _cut(stem(whole)))


def words(text: str) -> list[tuple[str, int, int]]:
    """Words as titles are compared by: folded, in lower case, hyphens apart, with start and end.

    Offsets count in the folded text. A character of a script without blanks is a word.
    """
    found: list[tuple[str, int, int]] = []
    for match in _RUN.finditer(fold(text)):
        if match.lastgroup == "symbols":
            continue
        pieces = match[0] if match.lastgroup == "unspaced" else _HYPHENS.split(match[0])
        at = match.start()
        for piece in pieces:
            found.append((piece.casefold(), at, at + len(piece)))
            at += len(piece) + (match.lastgroup == "word")
    return found


def is_stop_word(word: str) -> bool:
    """Whether a word says nothing by itself, in any case."""
    return stem(word.casefold()) in _stop_tokens()


@lru_cache(maxsize=_CACHED_WORDS)
def stem(word: str) -> str:
    """Stem of a word in lower case; what is not English letters stays as it is."""
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word
    with _stemming:
        return str(_stemmer.stemWord(word))


def _runs(folded: str) -> Iterator[tuple[str, ...]]:
    if folded.isascii():
        return map(_word_tokens, _ASCII_RUN.findall(folded))
    return map(_tokens_of, _RUN.finditer(folded))


def _tokens_of(match: re.Match[str]) -> tuple[str, ...]:
    if match.lastgroup == "word":
        return _word_tokens(match[0])
    if match.lastgroup == "unspaced":
        return tuple(match[0])
    return tuple(symbol for symbol, _ in groupby(match[0]) if _is_telling(symbol))


def _is_telling(symbol: str) -> bool:
    return unicodedata.category(symbol) in ("So", "Sm", "Sc") and not _DRAWING.match(symbol)


def _word_tokens(word: str) -> tuple[str, ...]:
    if len(word) <= _LONGEST_WORD:
        return _split(word)
    pieces = _HYPHENS.split(word)
    if len(pieces) > 1:
        return tuple(token for piece in pieces for token in _word_tokens(piece))
    return tuple(filter(None, [_cut(word.replace("_", ""))]))


@lru_cache(maxsize=_CACHED_WORDS)
def _split(word: str) -> tuple[str, ...]:
    """Tokens of a word: all of it, then its parts; one token when it has one part."""
    parts: list[str] = []
    for piece in _HYPHENS.split(word):
        inside = [part for half in piece.split("_") for part in _parts(half)]
        parts.extend(inside if len(inside) <= _MOST_PARTS else ["".join(inside)])
    stems = [_cut(stem(part)) for part in parts]
    if not 1 < len(parts) <= _MOST_PARTS:
        return tuple(stems)
    return (_cut("".join(parts)), *stems)


def _parts(word: str) -> list[str]:
    shape = word if word.isascii() else "".join(map(_letter_case, word))
    return [word[match.start() : match.end()].casefold() for match in _PART.finditer(shape)]


def _letter_case(letter: str) -> str:
    return "0" if letter.isdecimal() else "A" if letter.isupper() else "a"


def _cut(token: str) -> str:
    return token[:_LONGEST_TOKEN]


@lru_cache(maxsize=1)
def _stop_tokens() -> frozenset[str]:
    words = _STOP_TEXT.split()
    return frozenset((*words, *map(stem, words)))
