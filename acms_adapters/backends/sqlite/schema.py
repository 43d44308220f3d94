"""Tables of a store, and how a file of another age is brought up to them."""

from __future__ import annotations

import sqlite3
from typing import Any

from acms_adapters.backends.analysis import ANALYZER
from acms_adapters.backends.sqlite.entities import fill_entities
from acms_adapters.errors import SchemaVersionError, StoreError

APPLICATION_ID = 0x41434D53  # "ACMS" in the header of the file

POINTED_AT, PAST, PRESENT = 0, 1, 2
"""State of a row of `nodes`: only named by an edge; a superseded record; there."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE resources (
    id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, content_hash TEXT NOT NULL, seal BLOB
);
-- an edge may name a node before it comes, so that every URI has its row and number
CREATE TABLE nodes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uri TEXT NOT NULL UNIQUE,
    state INTEGER NOT NULL DEFAULT 0,
    owner INTEGER, kind TEXT, resource_uri TEXT, resource_type TEXT, location TEXT, tier TEXT,
    created_at INTEGER, searched_depth INTEGER, text_hash TEXT, metadata BLOB,
    seal BLOB
);
CREATE INDEX nodes_owner ON nodes (owner);
CREATE TABLE renderings (
    node INTEGER NOT NULL, depth INTEGER NOT NULL, token_count INTEGER, content TEXT NOT NULL,
    PRIMARY KEY (node, depth)
);
-- hashes of a key and a value each, to narrow a metadata filter down
CREATE TABLE facts (fact INTEGER, node INTEGER, PRIMARY KEY (fact, node)) WITHOUT ROWID;
CREATE INDEX facts_node ON facts (node);

CREATE VIRTUAL TABLE words USING fts5 (
    path, name, signature, doc, body, content='', tokenize='ascii'
);
-- the tokens once more: to take them out of `words`, and to score exactly
CREATE TABLE tokens (
    node INTEGER PRIMARY KEY, prose INTEGER NOT NULL, path INTEGER NOT NULL, name INTEGER NOT NULL,
    signature INTEGER NOT NULL, doc INTEGER NOT NULL, body INTEGER NOT NULL, text TEXT NOT NULL
);
CREATE TABLE terms (term TEXT PRIMARY KEY, nodes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE totals (
    prose INTEGER PRIMARY KEY, nodes INTEGER NOT NULL, path INTEGER NOT NULL, name INTEGER NOT NULL,
    signature INTEGER NOT NULL, doc INTEGER NOT NULL, body INTEGER NOT NULL
);
INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0, 0);

-- an edge that was found by a reference is derived; records have owner 0; the ends of a hub come
-- by lot, a hash of the URI, which does not tell what was written first. Columns stand in the order
-- of the key: SQLite's own check of a file mistakes them otherwise
CREATE TABLE edges (
    source INTEGER, relation TEXT, target_lot INTEGER NOT NULL, target INTEGER, owner INTEGER,
    derived INTEGER, source_lot INTEGER NOT NULL,
    PRIMARY KEY (source, relation, target_lot, target, owner, derived)
) WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target, relation, source_lot, source);
CREATE INDEX edges_owner ON edges (owner);
CREATE TABLE names (
    name TEXT, node INTEGER, title TEXT, PRIMARY KEY (name, node)
) WITHOUT ROWID;
CREATE INDEX names_node ON names (node);
CREATE INDEX names_title ON names (title) WHERE title IS NOT NULL;
-- names that stand in prose, as hashes, to see which nodes have rare ones in common
CREATE TABLE entities (name INTEGER, node INTEGER, PRIMARY KEY (name, node)) WITHOUT ROWID;
CREATE INDEX entities_node ON entities (node);
CREATE TABLE mentions (
    owner INTEGER NOT NULL, source INTEGER NOT NULL, name TEXT NOT NULL, relation TEXT NOT NULL,
    tail TEXT NOT NULL
);
CREATE INDEX mentions_owner ON mentions (owner);
CREATE INDEX mentions_tail ON mentions (tail);
-- whose mentions to look up again: all of a resource, and those that end in a name
CREATE TABLE dirty (owner INTEGER PRIMARY KEY);
CREATE TABLE touched (tail TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE records (
    version INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, plan_id TEXT NOT NULL,
    sequence INTEGER NOT NULL, parent TEXT, supersedes TEXT, tier TEXT NOT NULL,
    moment INTEGER NOT NULL, valid_from INTEGER NOT NULL, valid_to INTEGER, data BLOB NOT NULL
);
CREATE INDEX records_id ON records (kind, id, valid_from);
CREATE INDEX records_plan ON records (plan_id, kind);
CREATE INDEX records_tier ON records (tier, moment);
CREATE INDEX records_supersedes ON records (supersedes) WHERE supersedes IS NOT NULL;
"""

MIGRATIONS: tuple[str, ...] = (
    # rows without a seal are taken as they are; each gets one when it is next written
    """
    ALTER TABLE resources ADD COLUMN seal BLOB;
    ALTER TABLE nodes ADD COLUMN seal BLOB;
    """,
    """
    CREATE TABLE entities (name INTEGER, node INTEGER, PRIMARY KEY (name, node)) WITHOUT ROWID;
    CREATE INDEX entities_node ON entities (node);
    """,
    """
    ALTER TABLE edges RENAME TO edges_before;
    DROP INDEX edges_target;
    DROP INDEX edges_owner;
    CREATE TABLE edges (
        source INTEGER, relation TEXT, target_lot INTEGER NOT NULL, target INTEGER, owner INTEGER,
        derived INTEGER, source_lot INTEGER NOT NULL,
        PRIMARY KEY (source, relation, target_lot, target, owner, derived)
    ) WITHOUT ROWID;
    INSERT INTO edges SELECT
        e.source, e.relation, acms_lot(t.uri), e.target, e.owner, e.derived, acms_lot(s.uri)
        FROM edges_before e
        LEFT JOIN nodes s ON s.id = e.source LEFT JOIN nodes t ON t.id = e.target;
    DROP TABLE edges_before;
    CREATE INDEX edges_target ON edges (target, relation, source_lot, source);
    CREATE INDEX edges_owner ON edges (owner);
    """,
)
"""Scripts, each from one schema version to the next; the first lifts version 1 to 2."""

SCHEMA_VERSION = 1 + len(MIGRATIONS)

_BEFORE_ENTITIES = 2


def prepare(connection: sqlite3.Connection, *, name: str, read_only: bool) -> None:
    """Make the tables of an empty file, or check and lift those that are there.

    Raises:
        SchemaVersionError: Written by a newer version.
        StoreError: Another program's file, one to be lifted but not written to, or text that
            was analysed in another way.
    """
    if read_only:
        check_owner(connection, name, may_be_empty=False)
    else:
        _create_or_lift(connection, name)
    version = _read(connection, "schema_version")
    if version < SCHEMA_VERSION:
        raise StoreError(
            f"the store {name!r} has schema version {version!r}, older than {SCHEMA_VERSION!r}: "
            "open it once to write, which brings it up to date"
        )
    if (analyzer := _read(connection, "analyzer")) != ANALYZER:
        raise StoreError(
            f"the text of the store {name!r} was analysed by {analyzer!r}, this version reads "
            f"{ANALYZER!r}: remove the store and index again"
        )


def _create_or_lift(connection: sqlite3.Connection, name: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if check_owner(connection, name, may_be_empty=True):
            _run(connection, _TABLES)
            connection.executemany(
                "INSERT INTO meta VALUES (?, ?)",
                [("schema_version", SCHEMA_VERSION), ("analyzer", ANALYZER), ("generation", 0)],
            )
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for version in range(_read(connection, "schema_version"), SCHEMA_VERSION):
            _run(connection, MIGRATIONS[version - 1])
            if version == _BEFORE_ENTITIES:
                fill_entities(connection)
            connection.execute(
                "UPDATE meta SET value = ? WHERE key = 'schema_version'", (version + 1,)
            )
        # tells a file from another one that is made later in its place
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('identity', hex(randomblob(16)))")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def check_owner(connection: sqlite3.Connection, name: str, *, may_be_empty: bool) -> bool:
    """Whether the file is empty; errors where it is not ours or too new."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    if mark != APPLICATION_ID:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if mark == 0 and tables == 0 and may_be_empty:
            return True
        raise StoreError(
            f"{name!r} is not a store of this library: choose another path, or index into it first"
        )
    version = _read(connection, "schema_version")
    if version > SCHEMA_VERSION:
        raise SchemaVersionError(
            f"the store {name!r} has schema version {version!r}, this version of the library "
            f"reads up to {SCHEMA_VERSION!r}: upgrade acms-adapters, or index into another path"
        )
    return False


def _run(connection: sqlite3.Connection, script: str) -> None:
    # not `executescript`, which would commit first
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


def _read(connection: sqlite3.Connection, key: str) -> Any:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else 0
