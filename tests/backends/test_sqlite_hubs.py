"""A look at a hub reads a bounded number of rows, whatever it grows to (ruling B6)."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acms_adapters.backends.sqlite import SQLiteStore, hubs
from acms_adapters.backends.sqlite.hubs import FAN, MOST_READ
from acms_adapters.backends.sqlite.node_rows import lot_of, write_edges
from acms_adapters.backends.sqlite.schema import PRESENT

STEPS = 100
"""Instructions of SQLite's machine between two counts."""


def grow(path: Path, spokes: int, *, prefix: str = "project://app/", both: bool = True) -> None:
    """Give the hub spokes that call it and that it contains, numbered backwards by URI."""
    with SQLiteStore(path), closing(sqlite3.connect(path)) as connection:
        connection.create_function("acms_lot", 1, lot_of)
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM nodes").fetchone()
        rows = [(last + 2 + n, f"{prefix}{last + spokes - n:06d}", PRESENT) for n in range(spokes)]
        connection.execute(
            "INSERT OR IGNORE INTO nodes (id, uri, state) VALUES (1, 'hub', ?)", (PRESENT,)
        )
        connection.executemany("INSERT INTO nodes (id, uri, state) VALUES (?, ?, ?)", rows)
        write_edges(connection, [(1, "contains", node, 5) for node, _, _ in rows], derived=False)
        if both:
            write_edges(connection, [(node, "calls", 1, 5) for node, _, _ in rows], derived=False)
        connection.commit()


@contextmanager
def counted(store: SQLiteStore) -> Iterator[list[int]]:
    """Counts what SQLite does, in hundreds of instructions."""
    steps: list[int] = []
    with store.graph._database.reading() as connection:
        connection.set_progress_handler(lambda: steps.append(1), STEPS)
    try:
        yield steps
    finally:
        connection.set_progress_handler(None, 0)


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("hubs")
    for size in (2_000, 40_000):
        grow(folder / f"{size}.db", size)
    return [folder / "2000.db", folder / "40000.db"]


@pytest.mark.parametrize("scope", [None, ["project://app"], ["project://nobody"]])
def test_b6_a_hub_of_twenty_times_the_edges_is_as_much_work(sizes: list[Path], scope: Any) -> None:
    work = []
    for path in sizes:
        with SQLiteStore(path, read_only=True) as store, counted(store) as steps:
            store.graph.neighbors(["hub", "project://app/000001"], limit=50, scope=scope)
            work.append(len(steps) * STEPS)
    assert work[0] > 0, "nothing was counted"
    if scope == ["project://nobody"]:  # none of those that are read are wanted
        assert work[1] < work[0] + 40 * 2 * MOST_READ
    else:
        assert work[1] <= 1.1 * work[0]


def test_of_a_hub_those_are_chosen_that_come_first_by_lot(sizes: list[Path]) -> None:
    drawn = sorted(sorted((f"project://app/{n:06d}" for n in range(1, 40_001)), key=lot_of)[:FAN])
    with SQLiteStore(sizes[1], read_only=True) as store:
        found = store.graph.neighbors(["hub"], limit=4)
        assert found == store.graph.neighbors(["hub"], limit=4)
        assert [(edge.relation, edge.source, edge.target) for edge in found] == [
            ("calls", drawn[0], "hub"),
            ("contains", "hub", drawn[0]),
            ("calls", drawn[1], "hub"),
            ("contains", "hub", drawn[1]),
        ]
        only = store.graph.neighbors(["hub"], limit=2, relations=["calls", "unknown"])
        assert only == [found[0], found[2]]
        assert store.graph.neighbors(["hub"], limit=0) == []
        assert len(store.graph.neighbors(["hub"], limit=3 * FAN, direction="out")) == 3 * FAN
        assert len(store.graph.neighbors(["hub"], direction="out")) == 40_000


def test_b5_what_is_wanted_is_looked_for_behind_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    grow(path, 3 * FAN)
    grow(path, 5, prefix="project://other/", both=False)
    with SQLiteStore(path, read_only=True) as store:
        assert len(store.graph.neighbors(["hub"], limit=50, scope=["project://other"])) == 5


@pytest.mark.parametrize("limit", [1, 3, 50, FAN])
def test_a_hub_none_of_whose_relations_is_too_large_answers_as_any_node(
    wide: SQLiteStore, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    for options in WAYS:
        found = wide.graph.neighbors(["hub", "project://a/0"], limit=limit, **options)
        with monkeypatch.context() as patched:
            patched.setattr(hubs, "HUB", 10**9)
            plain = wide.graph.neighbors(["hub", "project://a/0"], limit=limit, **options)
        assert found == plain
        assert found


WAYS: list[dict[str, Any]] = [
    {},
    {"scope": ["project://a"]},
    {"relations": ["links", ""]},
    {"direction": "in"},
    {"direction": "out", "relations": ["calls"], "scope": ["project://b"]},
]


@pytest.fixture(scope="module")
def wide(make: Any) -> Iterator[SQLiteStore]:
    """Edges of several owners, to itself, to what is missing, and of a relation without a name."""
    with SQLiteStore(None) as store:
        inside = [f"project://a/{n}" for n in range(600)]
        edges = [("hub", kind, one) for kind in ("links", "calls") for one in inside]
        edges += [(one, "links", "hub") for one in inside[::2]]
        edges += [("hub", kind, "project://b/x") for kind in ("calls", "links", "")]
        make.link(store, *edges, ("hub", "links", "hub"))
        store.replace(make.resource(uri="other", edges=(*edges[::3], ("hub", "links", "gone"))))
        yield store


SPOKES = [f"project://{'ab'[number % 2]}/{number}" for number in range(20)]


@given(
    st.permutations(SPOKES),
    st.permutations(SPOKES),
    st.lists(st.sampled_from(SPOKES), max_size=5),
    st.sampled_from([1, 3, 7, 20]),
    st.sampled_from([None, ["project://a"], ["project://b/7", "project://a/2"]]),
    st.sampled_from(["out", "in", "both"]),
)
@settings(max_examples=12)
def test_b6_what_was_written_first_does_not_decide_what_is_kept_of_a_hub(
    make: Any,
    first: list[str],
    second: list[str],
    again: list[str],
    limit: int,
    scope: list[str] | None,
    direction: Any,
) -> None:
    """B6.lots: every spoke comes as a resource of its own, in two orders, some twice."""
    answers = []
    with pytest.MonkeyPatch.context() as patched:
        for name, value in (("HUB", 3), ("FAN", 5), ("MOST_READ", 12)):
            patched.setattr(hubs, name, value)
        for order, twice in ((first, []), (second, again)):
            with SQLiteStore(None) as store, store.transaction():
                for spoke in [*twice, *order]:
                    edges = (("hub", "contains", spoke), (spoke, "calls", "hub"))
                    store.replace(make.resource(make.node(spoke, "text"), edges=edges))
                    if spoke in twice:
                        store.remove(spoke)
                        store.replace(make.resource(make.node(spoke, "text"), edges=edges))
                store.replace(make.document("hub", "text"))
                found = store.graph.neighbors(
                    ["hub"], limit=limit, scope=scope, direction=direction
                )
                answers.append(found)
    assert answers[0] == answers[1]
    assert answers[0] or scope
