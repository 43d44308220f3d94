"""Plans and decisions as nodes of the graph: those that hold are there, with what they decide."""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable
from typing import Any

from acms_adapters.backends.sqlite.codec import dump_json
from acms_adapters.backends.sqlite.filters import Condition
from acms_adapters.backends.sqlite.node_rows import (
    NODE_COLUMNS,
    clear_rows,
    drop_loose,
    give_ids,
    write_edges,
    write_metadata,
    write_renderings,
    write_row,
)
from acms_adapters.backends.sqlite.records import Record, find, latest, visible
from acms_adapters.backends.sqlite.schema import PAST, PRESENT
from acms_adapters.backends.sqlite.seals import node_seal
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


def mirror_again(connection: sqlite3.Connection, records: Iterable[Record]) -> None:
    """Write the nodes of records as if they had just been recorded."""
    for record in records:
        _write(connection, record)


def unmirrored(connection: sqlite3.Connection, damaged: Container[int]) -> list[Record]:
    """Records whose node is missing, damaged or another one, or does not lead where it should."""
    held = list(find(connection, Condition("r.valid_to IS NULL")))
    shown = {record.uri for record in find(connection, visible(None))}
    return [one for one in held if not _is_mirrored(connection, one, one.uri in shown, damaged)]


def _is_mirrored(
    connection: sqlite3.Connection, record: Record, holds: bool, damaged: Container[int]
) -> bool:
    columns = ", ".join(NODE_COLUMNS)
    stored = connection.execute(
        f"SELECT id, {columns} FROM nodes WHERE uri = ?", (record.uri,)
    ).fetchone()
    if stored is None or stored[0] in damaged or stored[1:-1] != _row(record, holds):
        return False
    decided = connection.execute(
        "SELECT t.uri FROM edges e JOIN nodes t ON t.id = e.target"
        " WHERE e.source = ? AND e.owner = ? AND e.relation = ?",
        (stored[0], _OWNER, DECIDES),
    )
    wanted = record.nodes if record.kind == "decision" else []
    return {uri for (uri,) in decided} == set(map(repair_text, wanted))


def _row(record: Record, holds: bool) -> tuple[Any, ...]:
    return (
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
        dump_json(record.metadata),
    )


def _write(connection: sqlite3.Connection, record: Record) -> None:
    node = give_ids(connection, [record.uri])[record.uri]
    named = Condition("r.kind = ? AND r.id = ?", (record.kind, record.id))
    row = _row(record, next(find(connection, named & visible(None)), None) is not None)
    texts = {MAX_DEPTH: (repair_text(record.content), None)}
    seal = node_seal(record.uri, row[2:], renderings=texts, names={}, tokens=None)
    clear_rows(connection, [node])
    write_row(connection, node, (*row, seal))
    write_renderings(connection, node, texts)
    write_metadata(connection, node, row[-1])
    if record.kind == "decision":
        _link(connection, node, list(map(repair_text, record.nodes)))


def _link(connection: sqlite3.Connection, node: int, decided: list[str]) -> None:
    loose = _unlink(connection, node)
    targets = give_ids(connection, decided).values()
    write_edges(connection, [(node, DECIDES, one, _OWNER) for one in targets], derived=False)
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
