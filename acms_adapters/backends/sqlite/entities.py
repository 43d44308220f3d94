"""Names that stand in prose.

A name is a run of capitalised words, joined by `of` and its like (``University of Leeds``).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from hashlib import blake2b

from acms_adapters.backends.analysis import fold, is_stop_word

MOST_NAMES = 64
"""Names kept of a node."""

_WORD = r"[A-Z][\w'’-]*"
_NAME = re.compile(
    rf"\b{_WORD}(?:\s+(?:of(?:\s+the)?|de(?:\s+la)?|del|di|du|la|le|van(?:\s+der)?|von)(?=\s+[A-Z])|\s+{_WORD})*"
)
_SHORTEST = 4


def names_in(text: str) -> tuple[str, ...]:
    """Names in a text, folded and in lower case, in the order they first come."""
    found: dict[str, None] = {}
    for match in _NAME.finditer(fold(text)):
        words = match[0].split()
        while words and is_stop_word(words[0]):
            words = words[1:]
        if len(words) > 1 or (words and len(words[0]) >= _SHORTEST):
            found[" ".join(words).lower()] = None
            if len(found) == MOST_NAMES:
                break
    return tuple(found)


def write_entities(connection: sqlite3.Connection, node: int, texts: Iterable[str]) -> None:
    """Write the names of a node that has none yet."""
    names = names_in(". ".join(filter(None, texts)))
    connection.executemany(
        "INSERT OR IGNORE INTO entities VALUES (?, ?)", [(_number(name), node) for name in names]
    )


def fill_entities(connection: sqlite3.Connection) -> None:
    """Write the names of all prose there is."""
    rows = connection.execute(
        "SELECT n.id, (SELECT title FROM names WHERE node = n.id AND title IS NOT NULL), r.content"
        " FROM nodes n JOIN tokens t ON t.node = n.id AND t.prose"
        " JOIN renderings r ON r.node = n.id AND r.depth = n.searched_depth"
    ).fetchall()
    for node, title, text in rows:
        write_entities(connection, node, (title, text))


def _number(name: str) -> int:
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
