"""Files of other ages: an older one is lifted, a newer one refused and left as it is."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acms_adapters.backends.analysis import ANALYZER
from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.backends.sqlite.schema import MIGRATIONS, SCHEMA_VERSION
from acms_adapters.cli.app import run
from acms_adapters.errors import SchemaVersionError, StoreError
from acms_adapters.indexing import ContextStore

VERSION_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE resources (
    id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, content_hash TEXT NOT NULL
);
CREATE TABLE nodes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uri TEXT NOT NULL UNIQUE,
    state INTEGER NOT NULL DEFAULT 0,
    owner INTEGER, kind TEXT, resource_uri TEXT, resource_type TEXT, location TEXT, tier TEXT,
    created_at INTEGER, searched_depth INTEGER, text_hash TEXT, metadata BLOB
);
CREATE INDEX nodes_owner ON nodes (owner);
CREATE TABLE renderings (
    node INTEGER NOT NULL, depth INTEGER NOT NULL, token_count INTEGER, content TEXT NOT NULL,
    PRIMARY KEY (node, depth)
);
CREATE TABLE facts (fact INTEGER, node INTEGER, PRIMARY KEY (fact, node)) WITHOUT ROWID;
CREATE INDEX facts_node ON facts (node);
CREATE VIRTUAL TABLE words USING fts5 (
    path, name, signature, doc, body, content='', tokenize='ascii'
);
CREATE TABLE tokens (
    node INTEGER PRIMARY KEY, prose INTEGER NOT NULL, path INTEGER NOT NULL, name INTEGER NOT NULL,
    signature INTEGER NOT NULL, doc INTEGER NOT NULL, body INTEGER NOT NULL, text TEXT NOT NULL
);
CREATE TABLE terms (term TEXT PRIMARY KEY, nodes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE totals (
    prose INTEGER PRIMARY KEY, nodes INTEGER NOT NULL, path INTEGER NOT NULL, name INTEGER NOT NULL,
    signature INTEGER NOT NULL, doc INTEGER NOT NULL, body INTEGER NOT NULL
);
CREATE TABLE edges (
    source INTEGER, relation TEXT, target INTEGER, owner INTEGER, derived INTEGER,
    PRIMARY KEY (source, relation, target, owner, derived)
) WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target, relation, source);
CREATE INDEX edges_owner ON edges (owner);
CREATE TABLE names (
    name TEXT, node INTEGER, title TEXT, PRIMARY KEY (name, node)
) WITHOUT ROWID;
CREATE INDEX names_node ON names (node);
CREATE INDEX names_title ON names (title) WHERE title IS NOT NULL;
CREATE TABLE mentions (
    owner INTEGER NOT NULL, source INTEGER NOT NULL, name TEXT NOT NULL, relation TEXT NOT NULL,
    tail TEXT NOT NULL
);
CREATE INDEX mentions_owner ON mentions (owner);
CREATE INDEX mentions_tail ON mentions (tail);
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
PRAGMA application_id = 1094929747;

INSERT INTO resources VALUES (1, 'farm', 'entry-1:old');
INSERT INTO nodes VALUES
    (1, 'farm', 2, 1, 'document', 'farm', 'document', '', 'warm', NULL, 9, 'old', '{"n": null}'),
    (2, 'mill', 2, 1, 'document', 'farm', 'document', '', 'hot', NULL, 9, 'older', NULL);
INSERT INTO renderings VALUES (1, 9, 2, 'millet rye'), (2, 9, 1, 'stone');
INSERT INTO tokens VALUES
    (1, 1, 0, 0, 0, 0, 2, char(10, 10, 10, 10) || ' millet  rye '),
    (2, 1, 0, 0, 0, 0, 1, char(10, 10, 10, 10) || ' stone ');
INSERT INTO words (rowid, path, name, signature, doc, body) VALUES
    (1, '', '', '', '', ' millet  rye '), (2, '', '', '', '', ' stone ');
INSERT INTO terms VALUES ('millet', 1), ('rye', 1), ('stone', 1);
INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0, 0), (1, 2, 0, 0, 0, 0, 3);
INSERT INTO edges VALUES (1, 'links', 2, 1, 0);
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file that the first version wrote."""
    from acms_adapters.backends.sqlite.filters import facts_of

    path = tmp_path / "store.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1)
        meta = [("schema_version", 1), ("analyzer", ANALYZER), ("generation", 7)]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", meta)
        facts = [(fact, 1) for fact in facts_of(json.loads('{"n": null}'))]
        connection.executemany("INSERT INTO facts VALUES (?, ?)", facts)
        connection.execute("UPDATE nodes SET metadata = CAST(metadata AS BLOB)")
        connection.commit()
    return path


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT value FROM meta WHERE key = 'schema_version'"
        return int(connection.execute(query).fetchone()[0])


def schema_of(path: Path) -> set[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        names = "SELECT name FROM sqlite_master WHERE type = 'table'"
        return {
            (table, column)
            for (table,) in connection.execute(names).fetchall()
            for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")
        }


def test_a_store_of_the_first_version_is_lifted_with_all_it_holds(old: Path, make: Any) -> None:
    """B8.migration."""
    with SQLiteStore(old) as store:
        assert version_of(old) == SCHEMA_VERSION
        (hit,) = store.text.search("millet")
        assert (hit.uko_node, hit.content, hit.metadata) == ("farm", "millet rye", {"n": None})
        (edge,) = store.graph.neighbors(["farm"])
        assert (edge.relation, edge.target) == ("links", "mill")
        assert store.hashes() == {"farm": "entry-1:old"}
        assert store.generation == 7
        assert store.check() == []
        store.replace(make.document("farm", "barley"))
        assert store.text.search("millet") == store.text.search("stone") == []
        assert store.check() == []
    SQLiteStore(old, read_only=True).close()


def test_a_lifted_store_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    SQLiteStore(old).close()
    SQLiteStore(tmp_path / "new.db").close()
    assert schema_of(old) == schema_of(tmp_path / "new.db")


def test_a_lifted_store_gets_the_vectors_of_what_it_holds(old: Path) -> None:
    with ContextStore.open(old.parent, embedder="character-frequency-v1") as store:
        assert store.stats().vectors == 2
        assert store.check().is_clean


def test_an_older_store_cannot_be_read_before_it_is_lifted(old: Path) -> None:
    with pytest.raises(StoreError, match=r"version 1, older than .*open it once to write"):
        SQLiteStore(old, read_only=True)
    assert version_of(old) == 1


def test_a_lift_that_fails_leaves_the_older_store_as_it_was(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = "acms_adapters.backends.sqlite.schema"
    broken = "CREATE TABLE half (x);\nINSERT INTO nowhere VALUES (1);\n"
    monkeypatch.setattr(f"{schema}.MIGRATIONS", (*MIGRATIONS, broken))
    monkeypatch.setattr(f"{schema}.SCHEMA_VERSION", SCHEMA_VERSION + 1)
    before = schema_of(old)
    with pytest.raises(StoreError, match="nowhere"):
        SQLiteStore(old)
    assert schema_of(old) == before
    assert version_of(old) == 1


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file()
    }


def test_a_newer_store_is_refused_by_name_and_left_untouched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """B8.newer."""
    place = tmp_path / "store"
    ContextStore.open(place, embedder=None).close()
    with closing(sqlite3.connect(place / "store.sqlite3")) as connection:
        connection.execute("UPDATE meta SET value = 99 WHERE key = 'schema_version'")
        connection.commit()
        connection.execute("PRAGMA journal_mode = DELETE")  # what another version may prefer
    before = digests(place)
    for read_only in (False, True):
        with pytest.raises(SchemaVersionError, match=r"store\.sqlite3.*version 99.*upgrade"):
            ContextStore.open(place, read_only=read_only)
    for command in ("check", "stats"):
        assert run(["store", command, "--store", str(place)]) == 2
        assert "version 99" in capsys.readouterr().err
    assert digests(place) == before
