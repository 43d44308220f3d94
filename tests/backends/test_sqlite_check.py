"""A store held against itself: what is damaged is found, what follows from the rest is repaired."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.models import Decision, Plan

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path, make: Any) -> Path:
    """A store with texts, links given and found, plans and decisions."""
    path = tmp_path / "store.db"
    with SQLiteStore(path) as store:
        store.replace(
            make.resource(
                make.node("a", "alpha beta", metadata={"tags": ["x", "y"]}, names=("Alpha One",)),
                make.node("a#1", "beta gamma", resource="a", parent="a"),
                edges=(("a", "next", "a#1"), ("a", "links", "elsewhere")),
            )
        )
        store.replace(
            make.resource(
                make.node("prose", "It was built at the University of Leeds by Ada Brunswick."),
                make.code("prose#code", "run", resource="prose", body="Ada Brunswick"),
                make.node("prose#unsearched", "Leeds Castle", resource="prose", fields={}),
            )
        )
        store.replace(
            make.resource(make.node("b", "gamma delta"), references=(("b", "links", "Alpha One"),))
        )
        store.resolve_references()
        store.temporal.record(Plan(title="p", plan_id="p", focus_nodes=("a",), created_at=NOON))
        for name, replaces in (("one", None), ("two", "one")):
            store.temporal.record(
                Decision(
                    plan_id="p",
                    text=f"decided {name}",
                    decision_id=name,
                    nodes=("a", "gone"),
                    decided_at=NOON,
                    supersedes=replaces,
                )
            )
    return path


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(statement).rowcount
        connection.commit()


def rows(path: Path) -> list[str]:
    """Everything in the file but what counts its writes."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM meta WHERE key = 'generation'")
        vocabulary = "CREATE VIRTUAL TABLE temp.v USING fts5vocab ('main', 'words', 'instance')"
        connection.execute(vocabulary)
        words = connection.execute("SELECT * FROM temp.v ORDER BY 1, 2, 3, 4").fetchall()
        connection.execute("DROP TABLE temp.v")
        kept = [line for line in connection.iterdump() if "words" not in line.split("(")[0]]
        return sorted(map(str, [*kept, *words]))


def schema_edit(path: Path, statement: str, *rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        if rows:
            connection.executemany(statement, rows)
        found = [] if rows else connection.execute(statement).fetchall()
        connection.commit()
        return found


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(path) as opened:
        yield opened


def test_a_store_in_order_has_no_findings_and_is_not_written_to(store: SQLiteStore) -> None:
    before = store.generation
    assert store.check() == store.check(repair=True) == []
    assert store.generation == before


def test_an_empty_store_is_in_order() -> None:
    with SQLiteStore(None) as store:
        assert store.check() == []


FOLLOWS = {
    "a derived edge is missing": ("edges", "DELETE FROM edges WHERE derived = 1"),
    "a derived edge leads astray": (
        "edges",
        "UPDATE edges SET target = (SELECT id FROM nodes WHERE uri = 'a#1') WHERE derived = 1",
    ),
    "an edge has no end": ("edges", "INSERT INTO edges VALUES (1, 'links', 0, 999, 1, 0, 0)"),
    "an edge has no owner": ("edges", "INSERT INTO edges VALUES (1, 'links', 0, 2, 77, 0, 0)"),
    "an edge was drawn by another lot": (
        "edges",
        "UPDATE edges SET target_lot = target_lot + 1 WHERE relation = 'contains'",
    ),
    "an edge was drawn by two lots": (
        "edges",
        "INSERT INTO edges SELECT source, relation, target_lot - 1, target, owner, derived, 0"
        " FROM edges",
    ),
    "a metadata filter misses a node": ("metadata", "DELETE FROM facts"),
    "a metadata filter finds too much": ("metadata", "INSERT INTO facts VALUES (5, 1)"),
    "a term is counted wrong": ("words", "UPDATE terms SET nodes = 9 WHERE term = 'beta'"),
    "a term is not counted": ("words", "DELETE FROM terms WHERE term = 'beta'"),
    "a sum is wrong": ("words", "UPDATE totals SET body = 3"),
    "the index lost its words": ("words", "INSERT INTO words (words) VALUES ('delete-all')"),
    "the index has a word too many": ("words", "INSERT INTO words (rowid, body) VALUES (99, 'x')"),
    "a name of a text is not kept": (
        "words",
        "DELETE FROM entities WHERE name = (SELECT min(name) FROM entities WHERE node ="
        " (SELECT id FROM nodes WHERE uri = 'prose'))",
    ),
    "a text is said to hold another name": ("words", "INSERT INTO entities VALUES (5, 1)"),
    "a plan is said to hold a name": (
        "words",
        "INSERT INTO entities SELECT 5, id FROM nodes WHERE uri = 'plan://p'",
    ),
    "code is said to hold names": (
        "words",
        "INSERT INTO entities SELECT DISTINCT name, (SELECT id FROM nodes WHERE uri = 'prose#code')"
        " FROM entities",
    ),
    "names of nobody are left": ("texts", "INSERT INTO entities VALUES (5, 99)"),
    "texts of nobody are left": ("texts", "INSERT INTO renderings VALUES (99, 9, 1, 'x')"),
    "words of nobody are left": (
        "texts",
        "INSERT INTO tokens VALUES (99, 1, 0, 0, 0, 0, 1, '\n\n\n\n x ')",
    ),
    "a decision is not in the graph": (
        "records",
        "UPDATE nodes SET state = 0, seal = NULL WHERE uri = 'plan://p#two'",
    ),
    "a superseded decision is shown": (
        "records",
        "UPDATE nodes SET state = 2 WHERE uri = 'plan://p#one'",
    ),
    "a decision's text is another": (
        "records",
        "UPDATE renderings SET content = 'x' WHERE content = 'decided two'",
    ),
    "a decision leads nowhere": ("records", "DELETE FROM edges WHERE relation = 'decides'"),
}


@pytest.mark.parametrize("case", FOLLOWS)
def test_b8_what_follows_from_the_rest_is_found_and_made_anew(path: Path, case: str) -> None:
    whole = rows(path)
    part, damage = FOLLOWS[case]
    edit(path, damage)
    with SQLiteStore(path) as store:
        found = store.check()
        assert part in {finding.part for finding in found}
        assert not any(finding.repaired for finding in found)
        assert store.check() == found
        repaired = store.check(repair=True)
        assert repaired == [finding.as_repaired() for finding in found]
        assert store.check() == []
    assert rows(path) == whole


WRITTEN = {
    "a text is another": ("texts", "UPDATE renderings SET content = 'alpha betX' WHERE node = 1"),
    "a text is gone": ("texts", "DELETE FROM renderings WHERE node = 1"),
    "a text is no text": ("texts", "UPDATE renderings SET content = X'00ff' WHERE node = 1"),
    "its hash is another": ("texts", "UPDATE nodes SET text_hash = 'x' WHERE id = 1"),
    "its metadata are others": ("texts", "UPDATE nodes SET metadata = '{}' WHERE id = 1"),
    "its metadata are none": ("texts", "UPDATE nodes SET metadata = X'7b' WHERE id = 1"),
    "its tier is another": ("texts", "UPDATE nodes SET tier = 'hot' WHERE id = 1"),
    "its name is gone": ("texts", "DELETE FROM names WHERE node = 1"),
    "its words are others": ("texts", "UPDATE tokens SET text = ' x ' WHERE node = 1"),
    "it is taken for missing": ("texts", "UPDATE nodes SET state = 0 WHERE id = 1"),
    "a given edge is gone": ("edges", "DELETE FROM edges WHERE relation = 'contains'"),
    "an edge was not given": ("edges", "INSERT INTO edges VALUES (1, 'links', 0, 2, 1, 0, 0)"),
    "a mention is another": ("edges", "UPDATE mentions SET name = 'Beta One'"),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_b8_what_cannot_be_told_from_the_rest_is_marked_until_written_again(
    path: Path, make: Any, case: str
) -> None:
    part, damage = WRITTEN[case]
    edit(path, damage)
    with SQLiteStore(path) as store:
        hashes = store.hashes()
        (left,) = [found for found in store.check(repair=True) if not found.repaired]
        assert left.part == part
        (uri,) = left.names
        assert store.hashes() == hashes | {uri: f"{hashes[uri]} damaged"}
        assert [found.names for found in store.check(repair=True)] == [(uri,)]
        assert store.hashes()[uri] == f"{hashes[uri]} damaged"
        store.replace(make.document(uri, "written again"))
        store.resolve_references()
        assert store.check() == []


def test_a_node_without_its_resource_is_removed(path: Path) -> None:
    edit(path, "DELETE FROM resources WHERE uri = 'b'")
    with SQLiteStore(path) as store:
        assert all(found.repaired for found in store.check(repair=True))
        assert store.check() == []
        assert store.text.search("delta") == []
        assert [hit.uko_node for hit in store.text.search("gamma")] == ["a#1"]


def test_a_store_that_is_only_read_can_be_checked(path: Path) -> None:
    edit(path, "DELETE FROM facts")
    with SQLiteStore(path, read_only=True) as store:
        assert [found.part for found in store.check()] == ["metadata"]


def test_a_damaged_index_of_the_file_is_made_anew(path: Path) -> None:
    kept = schema_edit(path, "SELECT * FROM sqlite_master WHERE name = 'edges_target'")
    schema_edit(path, "DELETE FROM sqlite_master WHERE name = 'edges_target'")
    edit(path, "UPDATE edges SET target = source WHERE relation = 'next'")
    edit(
        path,
        "UPDATE edges SET target = (SELECT id FROM nodes WHERE uri = 'a#1')"
        " WHERE relation = 'next'",
    )
    edit(path, "INSERT INTO edges VALUES (1, 'links', 0, 999, 1, 0, 0)")
    schema_edit(path, "INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", *kept)
    with SQLiteStore(path) as store:
        assert [one.part for one in store.check()] == ["file"]
        assert [one.part for one in store.check(repair=True)] == ["file", "edges"]
        assert store.check() == []


@pytest.fixture
def change() -> Callable[[SQLiteStore, Any], None]:
    def apply(store: SQLiteStore, make: Any) -> None:
        store.replace(make.document("c", "new", names=("Alpha One",)))
        store.remove("a")

    return apply


def test_mentions_that_were_not_looked_up_yet_are_looked_up(
    store: SQLiteStore, make: Any, change: Callable[[SQLiteStore, Any], None]
) -> None:
    change(store, make)
    assert [found.part for found in store.check(repair=True)] == ["edges"]
    assert store.check() == []
    (edge,) = store.graph.neighbors(["b"], direction="out")
    assert (edge.relation, edge.target) == ("links", "c")
