"""Plans and decisions as nodes of the graph: those that hold are there, with what they decide."""

from __future__ import annotations

import sqlite3

from acms_adapters.backends.sqlite.codec import dump_json
from acms_adapters.backends.sqlite.filters import Condition
from acms_adapters.backends.sqlite.node_rows import (
    clear_rows,
    drop_loose,
    give_ids,
    write_metadata,
    write_renderings,
    write_row,
)
from acms_adapters.backends.sqlite.records import Record, find, latest, visible
from acms_adapters.backends.sqlite.schema import PAST, PRESENT
from acms_adapters.models.base import repair_text
from acms_adapters.models.fragment import MAX_DEPTH

DECIDES = "decides"

_OWNER = 0
"""Owner of the edges of records, which no resource has."""


def mirror(connection: sqlite3.Connection, record: Record, before: Record | None) -> None:
    """Bring the graph in line with a record that was written."""
    if before is not None and before.uri != record.uri:
        _take_out(connection, before)
    _write(connection, record)
    for other in {record.supersedes, before.supersedes if before else None} - {None, record.id}:
        superseded = latest(connection, "decision", str(other))
        if superseded is not None:
            _write(connection, superseded)


def _write(connection: sqlite3.Connection, record: Record) -> None:
    node = give_ids(connection, [record.uri])[record.uri]
    named = Condition("r.kind = ? AND r.id = ?", (record.kind, record.id))
    holds = next(find(connection, named & visible(None)), None) is not None
    metadata = dump_json(record.metadata)
    row = (
        PRESENT if holds else PAST,
        None,
        record.kind,
        record.plan_uri,
        record.kind,
        "",
        record.tier,
        record.moment,
        MAX_DEPTH,
        None,
        metadata,
    )
    clear_rows(connection, [node])
    write_row(connection, node, row)
    write_renderings(connection, node, {MAX_DEPTH: (repair_text(record.content), None)})
    write_metadata(connection, node, metadata)
    if record.kind == "decision":
        _link(connection, node, list(map(repair_text, record.nodes)))


def _link(connection: sqlite3.Connection, node: int, decided: list[str]) -> None:
    loose = _unlink(connection, node)
    connection.executemany(
        "INSERT INTO edges VALUES (?, ?, ?, ?, 0)",
        [(node, DECIDES, target, _OWNER) for target in give_ids(connection, decided).values()],
    )
    drop_loose(connection, loose)


def _unlink(connection: sqlite3.Connection, node: int) -> list[int]:
    mine = "WHERE source = ? AND owner = ?"
    targets = connection.execute(f"SELECT target FROM edges {mine}", (node, _OWNER)).fetchall()
    connection.execute(f"DELETE FROM edges {mine}", (node, _OWNER))
    return [target for (target,) in targets]


def _take_out(connection: sqlite3.Connection, record: Record) -> None:
    node = give_ids(connection, [record.uri])[record.uri]
    loose = _unlink(connection, node)
    clear_rows(connection, [node])
    drop_loose(connection, [*loose, node])
