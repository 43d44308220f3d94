"""Nodes with so many edges that not all of them can be looked at (ruling B6).

Whatever a hub grows to, a look at it reads a bounded number of rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from acms_adapters.backends.sqlite.filters import Condition, one_of
from acms_adapters.backends.sqlite.schema import PAST

HUB = 100
"""Edges of a node, one way, above which it is looked at relation by relation."""

FAN = 1_000
"""Other ends of a relation, one way, that are chosen from."""

MOST_READ = 10 * FAN
"""Other ends of a relation, one way, that are read to find those which are wanted."""


def find_hubs(connection: sqlite3.Connection, uris: Sequence[str], near: str) -> dict[str, int]:
    """Which of some nodes are hubs, with their numbers.

    Args:
        near: Their end of the edges, ``source`` or ``target``.
    """
    asked = one_of("a.uri", uris)
    rows = connection.execute(
        f"SELECT a.uri, a.id FROM nodes a WHERE {asked.sql} AND a.state >= {PAST} AND"
        f" (SELECT 1 FROM edges e WHERE e.{near} = a.id LIMIT 1 OFFSET {HUB}) IS NOT NULL",
        asked.params,
    )
    return dict(rows.fetchall())


def hub_edges(
    connection: sqlite3.Connection,
    hub: int,
    ends: tuple[str, str],
    *,
    relations: Sequence[str],
    wanted: Condition,
    limit: int,
) -> Iterator[tuple[str, str, int]]:
    """Relation, other end and its place among those of the relation, from 1 to the limit.

    Chosen from are the ends that come first by lot and are wanted: as many as `FAN` or the limit,
    of the first `MOST_READ`. Where there are no more, all are. Lots are hashes of URIs, so that it
    does not matter what was written first.

    Args:
        hub: Its number.
        ends: The hub's end of the edges and the other one, ``source`` and ``target`` or reverse.
        relations: The only ones that count; none for all.
        wanted: What other ends must be, of `nodes n`.
        limit: Most of each relation.
    """
    near, far = ends
    for relation in relations or _relations(connection, hub, near):
        rows = connection.execute(
            "SELECT n.uri FROM ("
            f" SELECT DISTINCT e.{far}_lot, e.{far} AS far FROM edges e"
            f" WHERE e.{near} = ? AND e.relation = ? ORDER BY 1, 2 LIMIT ?"
            f") CROSS JOIN nodes n ON n.id = far WHERE {wanted.sql} LIMIT ?",
            (hub, relation, max(MOST_READ, limit), *wanted.params, max(FAN, limit)),
        )
        others = sorted(uri for (uri,) in rows)[:limit]
        yield from ((relation, other, place) for place, other in enumerate(others, 1))


def _relations(connection: sqlite3.Connection, hub: int, near: str) -> Iterator[str]:
    """Relations of a hub, each by a jump in the index."""
    least = f"SELECT min(relation) FROM edges WHERE {near} = ?"
    (relation,) = connection.execute(least, (hub,)).fetchone()
    while relation is not None:
        yield relation
        after = connection.execute(f"{least} AND relation > ?", (hub, relation))
        (relation,) = after.fetchone()
