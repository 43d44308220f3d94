"""Which nodes a question names."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from acms_adapters.backends.analysis import fold, is_stop_word, words
from acms_adapters.backends.sqlite.filters import Condition, one_of
from acms_adapters.backends.sqlite.hits import batches
from acms_adapters.backends.sqlite.naming import TITLE_WORDS
from acms_adapters.errors import RequestError

_MOST_WORDS = 500
_QUOTED = re.compile(r"`+[^`\n]+`+")
_SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*")
_INNER_CASE = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d")
_SENTENCE_START = re.compile(r"(?:^|[.!?。！？\n])[^\w.!?。！？\n]*\Z")

_Name = tuple[str, str]
"""A column of `names`, and what stands in it."""


@dataclass(frozen=True, slots=True)
class _Mention:
    """Names that a piece of the question may mean, the likeliest first."""

    start: int
    end: int
    names: tuple[_Name, ...]

    def known(self, shared: Mapping[_Name, int]) -> _Mention | None:
        """The same with the first name that a node has."""
        first = next((name for name in self.names if name in shared), None)
        return None if first is None else _Mention(self.start, self.end, (first,))

    def lies_in(self, other: _Mention) -> bool:
        """Whether another mention spans this one and more."""
        inside = other.start <= self.start and self.end <= other.end
        return inside and other.end - other.start > self.end - self.start


def resolve_names(
    connection: sqlite3.Connection, text: str, wanted: Condition, *, limit: int
) -> list[tuple[str, int]]:
    """Nodes by the names in a text; see `SQLiteGraphBackend.resolve`."""
    if limit < 0:
        raise RequestError(f"limit must be >= 0, not {limit!r}")
    folded = fold(text)
    mentions = [*_symbols(folded), *_titles(folded)]
    shared = _count(connection, mentions, wanted)
    known = [one for mention in mentions if (one := mention.known(shared))]
    whole = [one for one in known if not any(one.lies_in(other) for other in known)]
    whole.sort(key=lambda one: (shared[one.names[0]], one.start, one.names))
    found: dict[str, int] = {}
    for mention in whole:
        if len(found) >= limit:
            break
        (name,) = mention.names
        for uri in _nodes(connection, name, wanted, limit):
            found.setdefault(uri, shared[name])
    return list(found.items())[:limit]


def _symbols(folded: str) -> Iterator[_Mention]:
    """Words that are written as code, and single capitalised words within a sentence."""
    quoted = [match.span() for match in _QUOTED.finditer(folded)]
    for number, match in enumerate(_SYMBOL.finditer(folded)):
        if number >= _MOST_WORDS:
            return
        start, end = match.span()
        called = folded[end : end + 1] == "("
        if (
            called
            or _looks_like_code(match[0])
            or any(first <= start and end <= last for first, last in quoted)
        ):
            yield _Mention(start, end, tuple(_spellings(match[0], called=called)))
        elif _is_named_in_sentence(match[0], folded, start):
            yield _Mention(start, end, (("name", match[0]),))


def _looks_like_code(word: str) -> bool:
    return "." in word or ":" in word or "_" in word or bool(_INNER_CASE.search(word))


def _is_named_in_sentence(word: str, folded: str, start: int) -> bool:
    if not word[0].isupper() or is_stop_word(word):
        return False
    return not _SENTENCE_START.search(folded, max(0, start - 40), start)


def _spellings(symbol: str, *, called: bool) -> Iterator[_Name]:
    """A dotted symbol whole, then without what leads to it, down to its last two names.

    The last one alone only where it is written as code by itself.
    """
    names = symbol.replace("::", ".").split(".")
    for skipped in range(max(1, len(names) - 1)):
        yield "name", ".".join(names[skipped:])
    if len(names) > 1 and (called or _looks_like_code(names[-1])):
        yield "name", names[-1]


def _titles(folded: str) -> Iterator[_Mention]:
    """Every run of two words and more that may be a title."""
    found = words(folded)[:_MOST_WORDS]
    telling = [not is_stop_word(word) for word, _, _ in found]
    for first, (key, start, _) in enumerate(found):
        tells = telling[first]
        for last in range(first + 1, min(first + TITLE_WORDS, len(found))):
            word, _, end = found[last]
            key, tells = f"{key} {word}", tells or telling[last]
            if tells:
                yield _Mention(start, end, (("title", key),))


def _count(
    connection: sqlite3.Connection, mentions: Iterable[_Mention], wanted: Condition
) -> dict[_Name, int]:
    """How many wanted nodes have each name; without those that none has."""
    shared: dict[_Name, int] = {}
    names = sorted({name for mention in mentions for name in mention.names})
    for column, group in groupby(names, key=lambda name: name[0]):
        for batch in batches(key for _, key in group):
            chosen = one_of(f"m.{column}", batch) & wanted
            rows = connection.execute(
                f"SELECT m.{column}, count(DISTINCT n.id) FROM names m JOIN nodes n"
                f" ON n.id = m.node WHERE {chosen.sql} GROUP BY m.{column}",
                chosen.params,
            )
            shared |= {(column, key): count for key, count in rows}
    return shared


def _nodes(
    connection: sqlite3.Connection, name: _Name, wanted: Condition, limit: int
) -> Sequence[str]:
    column, key = name
    chosen = one_of(f"m.{column}", [key]) & wanted
    rows = connection.execute(
        f"SELECT DISTINCT n.uri FROM names m JOIN nodes n ON n.id = m.node WHERE {chosen.sql}"
        " ORDER BY n.uri LIMIT ?",
        (*chosen.params, limit),
    )
    return [uri for (uri,) in rows]
