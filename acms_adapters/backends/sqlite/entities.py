"""Names that stand in the prose of a store."""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable
from hashlib import blake2b

from acms_adapters.backends.names import names_in

_TEXTS = (
    "SELECT n.id, t.prose, r.content FROM nodes n LEFT JOIN tokens t ON t.node = n.id"
    " LEFT JOIN renderings r ON r.node = n.id AND r.depth = n.searched_depth"
    " WHERE n.state > 0"
)


def write_entities(connection: sqlite3.Connection, node: int, text: str | None) -> None:
    """Write the names of a node that has none yet."""
    connection.executemany(
        "INSERT OR IGNORE INTO entities VALUES (?, ?)",
        [(number, node) for number in _numbers(text)],
    )


def fill_entities(connection: sqlite3.Connection) -> None:
    """Write the names of all prose there is."""
    for node, prose, text in connection.execute(_TEXTS).fetchall():
        if prose:
            write_entities(connection, node, text)


def misnamed(connection: sqlite3.Connection, damaged: Container[int]) -> list[int]:
    """Nodes, but for damaged ones, of which other names are kept than stand in their texts.

    What is not searched may have its names or none: nothing tells whether it is prose.
    """
    found = []
    for node, prose, text in connection.execute(_TEXTS):
        if node in damaged:
            continue
        rows = connection.execute("SELECT name FROM entities WHERE node = ?", (node,))
        kept = {name for (name,) in rows}
        if prose is None and not kept:
            continue
        if kept != (set() if prose == 0 else _numbers(text)):
            found.append(node)
    return found


def write_entities_again(connection: sqlite3.Connection, nodes: Iterable[int]) -> None:
    """Replace the names of nodes by those that stand in their texts."""
    for node in nodes:
        connection.execute("DELETE FROM entities WHERE node = ?", (node,))
        for _, prose, text in connection.execute(f"{_TEXTS} AND n.id = ?", (node,)).fetchall():
            if prose:
                write_entities(connection, node, text)


def _numbers(text: str | None) -> set[int]:
    return set(map(_number, names_in(text or "")))


def _number(name: str) -> int:
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
