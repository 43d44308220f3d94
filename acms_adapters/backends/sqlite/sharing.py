"""Which nodes have rare names in common.

Names in 2 to 20 nodes tell what belongs together where nobody made a link; commoner ones tell
nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from acms_adapters.backends.sqlite.filters import Condition, one_of
from acms_adapters.backends.sqlite.hits import batches
from acms_adapters.backends.sqlite.kept import Kept

MOST_HOLDERS = 20
"""Nodes that hold a name, beyond which it says nothing."""

MOST_READ = 2_000
"""Nodes in and out of scope that hold a name, beyond which it says nothing anywhere."""


def shared_names(
    connection: sqlite3.Connection,
    uris: Sequence[str],
    wanted: Condition,
    *,
    limit: int,
    kept: Kept,
) -> dict[str, dict[str, float]]:
    """Nodes that have rare names in common with some, with how much: the sum of 1 / holders.

    Args:
        wanted: What the other nodes must be, of `nodes n`.
        limit: Most of them for each node.
        kept: What is known of the same `wanted`.
    """
    named = _names_of(connection, uris, kept)
    holders = {
        name: _holders(connection, name, wanted, kept) for names in named.values() for name in names
    }
    shared: dict[str, dict[str, float]] = {}
    for uri, names in named.items():
        weights: dict[str, float] = {}
        for name in names:
            for other in holders[name]:
                if other != uri:
                    weights[other] = weights.get(other, 0.0) + 1.0 / len(holders[name])
        best = sorted(weights, key=lambda other: (-weights[other], other))[:limit]
        if best:
            shared[uri] = {other: weights[other] for other in best}
    return shared


def _names_of(
    connection: sqlite3.Connection, uris: Sequence[str], kept: Kept
) -> dict[str, tuple[int, ...]]:
    """Names of the nodes that have some, by URI."""
    found = {uri: names for uri in uris if (names := kept.names.get(uri)) is not None}
    missing = [uri for uri in uris if uri not in found]
    read: dict[str, tuple[int, ...]] = dict.fromkeys(missing, ())
    for batch in batches(missing):
        asked = one_of("n.uri", batch)
        rows = connection.execute(
            "SELECT n.uri, e.name FROM nodes n JOIN entities e ON e.node = n.id"
            f" WHERE {asked.sql} ORDER BY n.uri, e.name",
            asked.params,
        )
        for uri, pairs in groupby(rows.fetchall(), key=itemgetter(0)):
            read[uri] = tuple(name for _, name in pairs)
    kept.charge(0, len(read))
    kept.names.update(read)
    found |= read
    return {uri: found[uri] for uri in sorted(found) if found[uri]}


def _holders(
    connection: sqlite3.Connection, name: int, wanted: Condition, kept: Kept
) -> tuple[str, ...]:
    """Nodes in scope that hold a name; none where there are too many."""
    known = kept.holders.get(name)
    if known is None:
        rows = connection.execute(
            "SELECT n.uri FROM (SELECT node FROM entities WHERE name = ? LIMIT ?) e"
            f" CROSS JOIN nodes n ON n.id = e.node WHERE {wanted.sql} LIMIT ?",
            (name, MOST_READ, *wanted.params, MOST_HOLDERS + 1),
        ).fetchall()
        is_rare = len(rows) <= MOST_HOLDERS and not _is_everywhere(connection, name)
        known = tuple(uri for (uri,) in rows) if is_rare else ()
        kept.charge(0, 1 + len(known))
        kept.holders[name] = known
    return known


def _is_everywhere(connection: sqlite3.Connection, name: int) -> bool:
    """Whether more nodes hold a name than are read, of which some might be wanted."""
    beyond = "SELECT 1 FROM entities WHERE name = ? LIMIT 1 OFFSET ?"
    return connection.execute(beyond, (name, MOST_READ)).fetchone() is not None
