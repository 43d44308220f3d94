"""Comparing everything a store keeps with itself, and repairing what the rest of it tells.

Texts, their words and given links are held against their seals: what is damaged there can only be
read again from where it came. Everything else follows from them and is made anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from acms_adapters.backends.sqlite.entities import misnamed, write_entities_again
from acms_adapters.backends.sqlite.filters import one_of
from acms_adapters.backends.sqlite.hits import batches
from acms_adapters.backends.sqlite.mirror import mirror_again, unmirrored
from acms_adapters.backends.sqlite.node_rows import clear_rows, drop_loose, write_metadata
from acms_adapters.backends.sqlite.references import misled, resolve_mentions
from acms_adapters.backends.sqlite.scanning import NodeScan, damaged_links
from acms_adapters.backends.sqlite.schema import POINTED_AT
from acms_adapters.backends.sqlite.word_counts import rebuild_words

DAMAGED = " damaged"
"""Ends the content hash of a resource that has to be written again."""

_MOST_FAULTS = 20
_LOOSE = (
    "(owner <> 0 AND owner NOT IN (SELECT id FROM resources))"
    " OR source NOT IN (SELECT id FROM nodes) OR target NOT IN (SELECT id FROM nodes)"
)
_LOT = "(SELECT acms_lot(uri) FROM nodes WHERE id = {})"
_MISDRAWN = (
    f"NOT ({_LOOSE}) AND (source_lot <> {_LOT.format('source')}"
    f" OR target_lot <> {_LOT.format('target')})"
)
_GONE = f"node NOT IN (SELECT id FROM nodes WHERE state <> {POINTED_AT})"
_PARTS = ("renderings", "facts", "names", "tokens", "entities")
_LEFT = f"state <> {POINTED_AT} AND owner NOT IN (SELECT id FROM resources)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        part: ``file``, ``texts``, ``words``, ``metadata``, ``edges``, ``records`` or ``vectors``.
        what: What is wrong with it.
        names: Where: URIs, words, or what SQLite says.
        repaired: Whether it is in order now.
    """

    part: str
    what: str
    names: tuple[str, ...]
    repaired: bool = False

    def as_repaired(self) -> Finding:
        """The same, in order now."""
        return replace(self, repaired=True)


Repair = Callable[[sqlite3.Connection], None]


@dataclass(frozen=True, slots=True)
class _Fault:
    finding: Finding
    repair: Repair
    heals: bool = True


def check(connection: sqlite3.Connection, *, repair: bool) -> list[Finding]:
    """Everything that is not as it should be.

    Args:
        repair: Put in order what can be, and mark the resources that must be written again.
    """
    said = _integrity(connection)
    found: list[Finding] = []
    if said:
        if repair:
            connection.execute("REINDEX")
        left = _integrity(connection)
        what = "damaged: remove the store and index again" if left else "had a damaged index"
        found = [Finding(part="file", what=what, names=said, repaired=not left)]
        if left:
            return found
    for fault in _faults(connection):
        if repair:
            fault.repair(connection)
        done = repair and fault.heals
        found.append(fault.finding.as_repaired() if done else fault.finding)
    return found


def _integrity(connection: sqlite3.Connection) -> tuple[str, ...]:
    rows = connection.execute(f"PRAGMA integrity_check({_MOST_FAULTS})")
    return tuple(row for (row,) in rows if row != "ok")


def _faults(connection: sqlite3.Connection) -> list[_Fault]:
    """All of them, in the order in which they are to be repaired."""
    scan = NodeScan(connection)
    owners = {owner for owner in scan.damaged.values() if owner is not None}
    bad_links = damaged_links(connection)
    left = [node for (node,) in connection.execute(f"SELECT id FROM nodes WHERE {_LEFT}")]
    misnamed_nodes = misnamed(connection, scan.damaged.keys())
    lost = unmirrored(connection, scan.damaged.keys())
    found = [
        _fault(
            "texts",
            "not what was written: index again",
            _uris(connection, "resources", owners),
            lambda c: _mark(c, owners),
            heals=False,
        ),
        _fault(
            "edges",
            "not what was given: index again",
            _uris(connection, "resources", bad_links),
            lambda c: _mark(c, bad_links),
            heals=False,
        ),
        _fault(
            "texts",
            "of a resource that is gone",
            _uris(connection, "nodes", left),
            lambda c: _drop_nodes(c, left),
        ),
        _fault("texts", "rows of nodes that are gone", _orphans(connection), _drop_orphans),
        _fault(
            "metadata",
            "not found by filters",
            _uris(connection, "nodes", scan.unfiltered),
            lambda c: _write_facts(c, scan.unfiltered),
        ),
        _fault(
            "words",
            "counted in another way than they stand in the texts",
            scan.words.contradicted(connection),
            rebuild_words,
        ),
        _fault(
            "words",
            "other names kept than stand in the texts",
            _uris(connection, "nodes", misnamed_nodes),
            lambda c: write_entities_again(c, misnamed_nodes),
        ),
        _fault(
            "records",
            "not in the graph as they were recorded",
            [r.uri for r in lost],
            lambda c: mirror_again(c, lost),
        ),
        _fault("edges", "from or to what is gone", _edges(connection, _LOOSE), _drop_loose_edges),
        _fault("edges", "out of the order of lots", _edges(connection, _MISDRAWN), _draw_again),
        _fault("edges", "other than mentions tell", misled(connection), _resolve_all),
    ]
    return [fault for fault in found if fault.finding.names]


def _fault(
    part: str, what: str, names: Iterable[str], repair: Repair, *, heals: bool = True
) -> _Fault:
    return _Fault(Finding(part=part, what=what, names=tuple(names)), repair, heals)


def _uris(connection: sqlite3.Connection, table: str, numbers: Iterable[int]) -> list[str]:
    found: list[str] = []
    for batch in batches(numbers):
        named = one_of("id", batch)
        rows = connection.execute(f"SELECT uri FROM {table} WHERE {named.sql}", named.params)
        found += [uri for (uri,) in rows]
    return sorted(found)


def _mark(connection: sqlite3.Connection, owners: Iterable[int]) -> None:
    connection.executemany(
        "UPDATE resources SET content_hash = content_hash || ? WHERE id = ?"
        f" AND content_hash NOT LIKE '%{DAMAGED}'",
        [(DAMAGED, owner) for owner in owners],
    )


def _drop_nodes(connection: sqlite3.Connection, nodes: list[int]) -> None:
    for batch in batches(nodes):
        named = one_of("node", batch)
        connection.execute(f"DELETE FROM tokens WHERE {named.sql}", named.params)
    clear_rows(connection, nodes)
    drop_loose(connection, nodes)
    rebuild_words(connection)


def _orphans(connection: sqlite3.Connection) -> list[str]:
    counted = {
        table: connection.execute(f"SELECT count(*) FROM {table} WHERE {_GONE}").fetchone()[0]
        for table in _PARTS
    }
    return [f"{count} of {table}" for table, count in counted.items() if count]


def _drop_orphans(connection: sqlite3.Connection) -> None:
    for table in _PARTS:
        connection.execute(f"DELETE FROM {table} WHERE {_GONE}")
    rebuild_words(connection)


def _write_facts(connection: sqlite3.Connection, nodes: Iterable[int]) -> None:
    for node in nodes:
        connection.execute("DELETE FROM facts WHERE node = ?", (node,))
        row = connection.execute("SELECT metadata FROM nodes WHERE id = ?", (node,)).fetchone()
        write_metadata(connection, node, row[0])


def _edges(connection: sqlite3.Connection, which: str) -> list[str]:
    rows = connection.execute(f"SELECT source, relation, target FROM edges WHERE {which}")
    return [f"{source} {relation} {target}" for source, relation, target in rows]


def _drop_loose_edges(connection: sqlite3.Connection) -> None:
    connection.execute(f"DELETE FROM edges WHERE {_LOOSE}")


def _draw_again(connection: sqlite3.Connection) -> None:
    connection.execute(
        f"UPDATE OR REPLACE edges SET source_lot = {_LOT.format('source')},"
        f" target_lot = {_LOT.format('target')} WHERE {_MISDRAWN}"
    )


def _resolve_all(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM edges WHERE derived = 1")
    connection.execute("INSERT OR IGNORE INTO dirty SELECT DISTINCT owner FROM mentions")
    resolve_mentions(connection)
