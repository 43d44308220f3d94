"""Rows of `nodes` and what hangs on them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from acms_adapters.backends.sqlite.codec import load_json
from acms_adapters.backends.sqlite.filters import facts_of, one_of
from acms_adapters.backends.sqlite.hits import batches
from acms_adapters.backends.sqlite.schema import POINTED_AT

NODE_COLUMNS = (
    "state",
    "owner",
    "kind",
    "resource_uri",
    "resource_type",
    "location",
    "tier",
    "created_at",
    "searched_depth",
    "text_hash",
    "metadata",
    "seal",
)
_EMPTY = (POINTED_AT, *[None] * (len(NODE_COLUMNS) - 1))


def give_ids(connection: sqlite3.Connection, uris: Iterable[str]) -> dict[str, int]:
    """Numbers of URIs; one that has none gets the next, as a node that is only pointed at."""
    wanted = list(dict.fromkeys(uris))
    found: dict[str, int] = {}
    for batch in batches(wanted):
        named = one_of("uri", batch)
        found |= dict(
            connection.execute(f"SELECT uri, id FROM nodes WHERE {named.sql}", named.params)
        )
    for uri in wanted:
        if uri not in found:
            made = connection.execute("INSERT INTO nodes (uri) VALUES (?)", (uri,))
            found[uri] = int(made.lastrowid or 0)
    return found


def write_row(connection: sqlite3.Connection, node: int, values: Sequence[Any]) -> None:
    """Write the columns of a node, from its state to its seal."""
    columns = ", ".join(f"{column} = ?" for column in NODE_COLUMNS)
    connection.execute(f"UPDATE nodes SET {columns} WHERE id = ?", (*values, node))


def write_renderings(
    connection: sqlite3.Connection, node: int, texts: Mapping[int, tuple[str, int | None]]
) -> None:
    """Write texts with their tokens by depth, for a node that has none."""
    connection.executemany(
        "INSERT INTO renderings (node, depth, content, token_count) VALUES (?, ?, ?, ?)",
        [(node, depth, text, count) for depth, (text, count) in texts.items()],
    )


def write_metadata(connection: sqlite3.Connection, node: int, metadata: bytes) -> None:
    """Write what metadata filters look for, for a node that has none."""
    connection.executemany(
        "INSERT INTO facts (fact, node) VALUES (?, ?)",
        [(fact, node) for fact in facts_of(load_json(metadata))],
    )


def write_edges(
    connection: sqlite3.Connection, edges: Iterable[tuple[int, str, int, int]], *, derived: bool
) -> None:
    """Write edges that are not there yet: source, relation, target and owner of each.

    Args:
        derived: They follow from mentions.
    """
    connection.executemany(
        "INSERT OR IGNORE INTO edges"
        " SELECT s.id, ?2, acms_lot(t.uri), t.id, ?4, ?5, acms_lot(s.uri)"
        " FROM nodes s, nodes t WHERE s.id = ?1 AND t.id = ?3",
        [(*edge, derived) for edge in edges],
    )


def lot_of(uri: str | None) -> int:
    """The SQL function ``acms_lot``: where among the ends of a hub a node comes."""
    digest = blake2b((uri or "").encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big")


def clear_rows(connection: sqlite3.Connection, nodes: Sequence[int]) -> None:
    """Leave nothing of nodes but their URIs, which edges may name."""
    for batch in batches(nodes):
        named = one_of("node", batch)
        for table in ("renderings", "facts", "names", "entities"):
            connection.execute(f"DELETE FROM {table} WHERE {named.sql}", named.params)
    for node in nodes:
        write_row(connection, node, _EMPTY)


def drop_loose(connection: sqlite3.Connection, nodes: Iterable[int]) -> None:
    """Drop the rows of nodes that are gone and that no edge names."""
    for batch in batches(nodes):
        named = one_of("id", batch)
        connection.execute(
            f"DELETE FROM nodes WHERE {named.sql} AND state = {POINTED_AT}"
            " AND NOT EXISTS (SELECT 1 FROM edges WHERE source = nodes.id)"
            " AND NOT EXISTS (SELECT 1 FROM edges WHERE target = nodes.id)",
            named.params,
        )
