"""What a store holds, in figures."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from acms_adapters.backends.sqlite.schema import PRESENT


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """What a store holds.

    Attributes:
        resources: Files and documents.
        nodes: Nodes by kind, those of plans and decisions included.
        edges: Edges between nodes that are there, by relation.
        terms: Different words of the text index.
        bytes: Size of the database.
        generation: See `SQLiteStore.generation`.
    """

    resources: int
    terms: int
    bytes: int
    generation: int
    nodes: dict[str, int] = field(default_factory=dict)
    edges: dict[str, int] = field(default_factory=dict)


def count(connection: sqlite3.Connection) -> StoreStats:
    """Count it."""

    def number(sql: str) -> int:
        return int(connection.execute(sql).fetchone()[0])

    return StoreStats(
        resources=number("SELECT count(*) FROM resources"),
        terms=number("SELECT count(*) FROM terms"),
        bytes=number("PRAGMA page_count") * number("PRAGMA page_size"),
        generation=number("SELECT value FROM meta WHERE key = 'generation'"),
        nodes=dict(
            connection.execute(
                f"SELECT kind, count(*) FROM nodes WHERE state = {PRESENT}"
                " GROUP BY kind ORDER BY kind"
            )
        ),
        edges=dict(
            connection.execute(
                "SELECT relation, count(*) FROM (SELECT DISTINCT e.source, e.relation, e.target"
                f" FROM edges e JOIN nodes s ON s.id = e.source AND s.state = {PRESENT}"
                f" JOIN nodes t ON t.id = e.target AND t.state = {PRESENT})"
                " GROUP BY relation ORDER BY relation"
            )
        ),
    )
