"""The file itself: opening, writing, threads, processes (rulings B3, B8)."""

import asyncio
import gc
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.backends.sqlite.schema import MIGRATIONS, SCHEMA_VERSION
from acms_adapters.errors import SchemaVersionError, StoreError, StoreLockedError
from acms_adapters.models import IndexedResource
from acms_adapters.protocols import (
    GraphBackend,
    RenderingSource,
    ResolvesNames,
    TemporalBackend,
    TextBackend,
)


def found(store: SQLiteStore, query: str, **options: Any) -> list[str]:
    return [hit.uko_node for hit in store.text.search(query, **options)]


def write_and_crash(store: SQLiteStore, resource: IndexedResource) -> None:
    with store.transaction():
        store.replace(resource)
        raise KeyError


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_its_parts_keep_the_protocols(store: SQLiteStore) -> None:
    """B1."""
    assert isinstance(store.text, TextBackend)
    assert isinstance(store.graph, GraphBackend)
    assert isinstance(store.graph, ResolvesNames)
    assert isinstance(store.temporal, TemporalBackend)
    assert isinstance(store.renderings, RenderingSource)


def test_b3_writing_twice_is_writing_once(store: SQLiteStore, make: Any) -> None:
    one = make.resource(make.node("d", "apples", metadata={"a": 1}), edges=(("d", "links", "d"),))
    store.replace(one)
    before = store.stats(), store.text.search("apples"), store.graph.neighbors(["d"])
    store.replace(one)
    stats, *rest = store.stats(), store.text.search("apples"), store.graph.neighbors(["d"])
    assert rest == list(before[1:])
    assert (stats.nodes, stats.terms, stats.edges) == (
        before[0].nodes,
        before[0].terms,
        before[0].edges,
    )


def test_b3_content_and_metadata_are_replaced_whole(store: SQLiteStore, make: Any) -> None:
    store.replace(make.document("d", "apples", metadata={"a": 1, "b": 2}, title="Fruit"))
    store.replace(make.document("d", "pears", metadata={"b": 3}))
    assert found(store, "apples fruit") == []
    (hit,) = store.text.search("pears")
    assert (hit.content, hit.metadata) == ("pears", {"b": 3})
    assert found(store, "pears", metadata_filter={"a": 1}) == []
    assert store.graph.resolve("about the Fruit") == []
    assert store.stats().terms == 1


def test_what_a_resource_brought_goes_with_it(store: SQLiteStore, make: Any) -> None:
    node = make.code("r#run_it", "run_it", names=("run_it",), metadata={"k": 1})
    empty = store.stats()
    store.replace(make.resource(node, edges=(("r#run_it", "calls", "elsewhere"),)))
    assert store.remove("r")
    assert not store.remove("r")
    after = store.stats()
    assert (after.resources, after.nodes, after.edges, after.terms) == (0, {}, {}, 0)
    assert after.generation == empty.generation + 2
    assert found(store, "run_it") == []
    assert store.graph.get(["r#run_it"]) == []
    assert store.graph.resolve("`run_it`") == []
    assert store.renderings.at("r#run_it", 9) is None
    assert store.renderings.depths("r#run_it") == []
    assert store.hashes() == {}
    assert list(store.vector_inputs()) == []


def test_the_last_node_of_a_uri_counts(store: SQLiteStore, make: Any) -> None:
    store.replace(make.resource(make.node("d", "first"), make.node("d", "second"), uri="r"))
    assert found(store, "first second") == ["d"]
    store.replace(make.resource(make.node("d", "third"), uri="other"))
    assert found(store, "first second") == []
    assert found(store, "third") == ["d"]
    store.remove("r")
    assert found(store, "third") == ["d"]


def test_hashes_name_every_resource(store: SQLiteStore, make: Any) -> None:
    store.replace(make.resource(make.node("a", "x"), content_hash="1"))
    store.replace(make.resource(uri="empty", content_hash="2"))
    store.replace(make.resource(make.node("a", "y"), content_hash="3"))
    assert store.hashes() == {"a": "3", "empty": "2"}


@pytest.mark.parametrize(
    "fault",
    [
        {"tier": "lukewarm"},
        {"renderings": {10: "x"}},
        {"searched_depth": -1},
        {"fields": {"titel": "x"}},
        {"resource": "", "uri": ""},
    ],
)
def test_a_node_out_of_range_is_refused_and_nothing_written(
    store: SQLiteStore, make: Any, fault: dict[str, Any]
) -> None:
    fault = {"uri": "d", **fault}
    bad = make.node(fault.pop("uri"), "text", **fault)
    with pytest.raises(ValueError, match=r"'d'|titel|non-empty"):
        store.replace(make.resource(make.node("good", "text"), bad, uri="r"))
    assert store.stats().resources == 0
    assert found(store, "text") == []


def test_renderings_are_the_deepest_at_or_below(store: SQLiteStore, make: Any) -> None:
    texts = {2: "outline", 0: "name", 9: "full text"}
    node = make.node("d", renderings=texts, searched_depth=4, fields={"body": "full text"})
    store.replace(make.resource(node), token_counts={("d", 2): 7, ("d", 9): 11, ("e", 0): 1})
    assert store.renderings.depths("d") == [0, 2, 9]
    shown = [store.renderings.at("d", depth) for depth in (0, 1, 3, 9)]
    assert [(r.detail_depth, r.content, r.token_count) for r in shown if r] == [
        (0, "name", None),
        (0, "name", None),
        (2, "outline", 7),
        (9, "full text", 11),
    ]
    assert store.renderings.at("nobody", 9) is None
    (hit,) = store.text.search("full")
    assert (hit.detail_depth, hit.content, hit.token_count) == (2, "outline", 7)


def test_a_node_without_shallow_renderings_shows_its_shallowest(
    store: SQLiteStore, make: Any
) -> None:
    store.replace(make.document("d", "text", searched_depth=0))
    assert store.renderings.at("d", 3) is None
    assert store.text.search("text")[0].detail_depth == 9


def test_vector_inputs_are_the_searched_texts_with_their_hashes(
    store: SQLiteStore, make: Any
) -> None:
    deep = make.node("c", renderings={4: "outline", 9: "all"}, searched_depth=4)
    store.replace(make.resource(make.node("b", "text"), deep, make.node("a"), uri="r"))
    inputs = list(store.vector_inputs())
    assert [(i.uko_node, i.text) for i in inputs] == [("b", "text"), ("c", "outline")]
    assert {i.uko_node: i.text_hash for i in inputs} == store.vector_hashes()
    before = store.vector_hashes()
    store.replace(make.resource(make.node("b", "text"), make.node("c", "new"), uri="r"))
    after = store.vector_hashes()
    assert before["b"] == after["b"]
    assert before["c"] != after["c"]
    assert [i.text for i in store.vector_inputs(["c", "nobody"])] == ["new"]


def test_vector_inputs_may_be_written_between(store: SQLiteStore, make: Any) -> None:
    nodes = [make.node(f"n{i:04d}", f"text {i}") for i in range(1200)]
    store.replace(make.resource(*nodes, uri="r"))
    seen = 0
    for item in store.vector_inputs():
        seen += 1
        if seen == 1:
            store.replace(make.document("other", item.text))
    assert seen == 1200


# transactions


def test_a_transaction_is_all_or_nothing(store: SQLiteStore, make: Any) -> None:
    store.replace(make.document("kept", "apples"))
    before = store.stats()
    seen: list[str] = []

    def crash() -> None:
        with store.transaction():
            store.replace(make.document("kept", "pears"))
            store.replace(make.document("new", "apples"))
            seen.extend(found(store, "pears"))
            raise KeyError("crash")

    with pytest.raises(KeyError):
        crash()
    assert seen == ["kept"]
    assert store.stats() == before
    assert found(store, "apples") == ["kept"]
    assert found(store, "pears") == []


def test_a_failed_write_leaves_the_transaction_around_it_whole(
    store: SQLiteStore, make: Any
) -> None:
    with store.transaction():
        store.replace(make.document("good", "apples"))
        with pytest.raises(ValueError, match="titel"):
            store.replace(make.document("bad", "apples", fields={"titel": "x"}))
        with pytest.raises(KeyError):
            write_and_crash(store, make.document("worse", "apples"))
        store.replace(make.document("better", "apples"))
    assert found(store, "apples") == ["better", "good"]
    assert store.stats().terms == 1


def test_generation_rises_with_each_committed_write_and_with_nothing_else(
    store: SQLiteStore, make: Any
) -> None:
    assert store.generation == 0
    store.replace(make.document("a", "x"))
    assert store.generation == 1
    with store.transaction():
        store.replace(make.document("b", "x"))
        store.replace(make.document("c", "x"))
    assert store.generation == 2
    store.remove("nobody")
    store.resolve_references()
    after_resolving = store.generation
    store.resolve_references()
    store.text.search("x")
    with pytest.raises(KeyError):
        write_and_crash(store, make.document("d", "x"))
    assert store.generation == after_resolving


def test_a_process_that_dies_in_a_transaction_leaves_nothing(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "store.db"
    with SQLiteStore(path) as store:
        store.replace(make.document("d", "apples"))
    code = f"""
import os
from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.models import IndexedNode, IndexedResource
node = IndexedNode(uko_node="d", kind="document", resource_uri="d", fields={{"body": "pears"}})
with SQLiteStore({str(path)!r}) as store, store.transaction():
    store.replace(IndexedResource(resource_uri="d", content_hash="h", nodes=(node,)))
    assert store.text.search("pears")
    os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    with SQLiteStore(path) as store:
        assert found(store, "apples pears") == ["d"]
        assert store.text.search("apples")[0].content == "apples"
        assert store.generation == 1


# opening and closing


def test_what_was_written_is_there_after_reopening(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "a folder" / "stöре#1?.db"
    with SQLiteStore(path) as store:
        store.replace(make.document("d", "apples"))
    with SQLiteStore(str(path)) as again:
        assert found(again, "apples") == ["d"]
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with SQLiteStore(path, read_only=True) as reader:
        assert found(reader, "apples") == ["d"]


def test_b8_a_reader_sees_what_another_wrote(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "store.db"
    with SQLiteStore(path) as writer, SQLiteStore(path, read_only=True) as reader:
        assert reader.generation == 0
        writer.replace(make.document("d", "apples"))
        assert reader.generation == 1
        assert found(reader, "apples") == ["d"]
        with writer.transaction():
            writer.remove("d")
            assert found(reader, "apples") == ["d"]
        assert found(reader, "apples") == []


def test_two_stores_in_memory_never_leak_into_each_other(make: Any) -> None:
    with SQLiteStore(None) as one, SQLiteStore(None) as other:
        one.replace(make.document("d", "apples"))
        assert found(one, "apples") == ["d"]
        assert found(other, "apples") == []
        assert other.stats().resources == 0


def test_two_files_never_leak_into_each_other(tmp_path: Path, make: Any) -> None:
    with SQLiteStore(tmp_path / "one") as one, SQLiteStore(tmp_path / "other") as other:
        one.replace(make.document("d", "apples"))
        assert found(other, "apples") == []


def test_a_closed_store_says_so(store: SQLiteStore, make: Any) -> None:
    store.close()
    store.close()
    for use in (
        lambda: store.text.search("x"),
        lambda: store.replace(make.document("d", "x")),
        lambda: store.generation,
        lambda: store.temporal.plan("p"),
    ):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_reading_only_refuses_to_write(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "store.db"
    with pytest.raises(StoreError, match="no store at"):
        SQLiteStore(path, read_only=True)
    assert not path.exists()
    SQLiteStore(path).close()
    with SQLiteStore(path, read_only=True) as reader:
        with pytest.raises(StoreError, match="opened to read"):
            reader.replace(make.document("d", "x"))
        with pytest.raises(StoreError, match="opened to read"), reader.transaction():
            pass
    with pytest.raises(ValueError, match="read_only"):
        SQLiteStore(None, read_only=True)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"no database at all, but longer than a header" * 200),
        lambda path: path.write_text("x"),
        lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 8192),
    ],
)
def test_a_damaged_file_is_an_error_that_says_what_to_do(
    tmp_path: Path, spoil: Callable[[Path], Any], read_only: bool
) -> None:
    path = tmp_path / "store.db"
    SQLiteStore(path).close()
    spoil(path)
    spoilt = path.read_bytes()
    with pytest.raises(StoreError, match=r"store\.db.*(index again|choose another path)"):
        SQLiteStore(path, read_only=read_only)
    assert path.read_bytes() == spoilt


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    edit(path, "CREATE TABLE customers (name)")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="not a store of this library"):
            SQLiteStore(path, read_only=read_only)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("customers",)]
    assert len(before) == path.stat().st_size


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    with SQLiteStore(path) as store:
        assert store.stats().resources == 0


def test_paths_that_cannot_be_are_errors_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        SQLiteStore(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be made"):
        SQLiteStore(tmp_path / "file" / "store.db")
    with pytest.raises(ValueError, match="busy_timeout_seconds"):
        SQLiteStore(None, busy_timeout_seconds=-1)


def test_a_newer_schema_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    SQLiteStore(path).close()
    edit(path, "UPDATE meta SET value = 99 WHERE key = 'schema_version'")
    for read_only in (False, True):
        with pytest.raises(SchemaVersionError, match=r"store\.db.*99.*upgrade"):
            SQLiteStore(path, read_only=read_only)


def test_text_analysed_in_another_way_has_to_be_indexed_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    SQLiteStore(path).close()
    edit(path, "UPDATE meta SET value = 'acms-0' WHERE key = 'analyzer'")
    with pytest.raises(StoreError, match=r"acms-0.*index again"):
        SQLiteStore(path)


def test_migrations_lift_an_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    SQLiteStore(path).close()
    schema = "acms_adapters.backends.sqlite.schema"
    script = "CREATE TABLE added (x);\nINSERT INTO added VALUES ('a;b');\n"
    monkeypatch.setattr(f"{schema}.MIGRATIONS", (*MIGRATIONS, script))
    monkeypatch.setattr(f"{schema}.SCHEMA_VERSION", SCHEMA_VERSION + 1)
    with pytest.raises(StoreError, match="open it once to write"):
        SQLiteStore(path, read_only=True)
    SQLiteStore(path).close()
    SQLiteStore(path, read_only=True).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT x FROM added").fetchall() == [("a;b",)]


# writers, threads, tasks


def test_a_second_writer_gives_up_after_its_time(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "store.db"
    with SQLiteStore(path) as one, SQLiteStore(path, busy_timeout_seconds=0) as other:
        with one.transaction():
            one.replace(make.document("a", "x"))
            with pytest.raises(StoreLockedError, match="busy_timeout_seconds"):
                other.replace(make.document("b", "x"))
            assert found(other, "x") == []
        other.replace(make.document("b", "x"))
        assert found(one, "x") == ["a", "b"]


def test_a_thread_that_waits_for_a_transaction_in_memory_gives_up(make: Any) -> None:
    with SQLiteStore(None, busy_timeout_seconds=0) as store, ThreadPoolExecutor(1) as pool:
        with store.transaction(), pytest.raises(StoreLockedError, match="transaction"):
            pool.submit(store.replace, make.document("a", "x")).result()
        pool.submit(store.replace, make.document("a", "x")).result()


def test_eight_threads_get_the_same_answers(store: SQLiteStore, make: Any) -> None:
    with store.transaction():
        for i in range(60):
            text = f"common words {'rare' if i % 7 == 0 else ''} number{i}"
            store.replace(make.document(f"d{i:02d}", text, names=(f"name_{i}",)))
        links = tuple((f"d{i:02d}", "links", f"d{(i * 7) % 60:02d}") for i in range(60))
        store.replace(make.resource(uri="links", edges=links))
    barrier = threading.Barrier(8)

    def ask(_: int) -> list[Any]:
        barrier.wait()
        return [
            (
                store.text.search("common rare words"),
                store.graph.neighbors([f"d{i:02d}"]),
                store.graph.get([f"d{i:02d}"]),
                store.graph.resolve(f"what does name_{i} do"),
                store.renderings.at(f"d{i:02d}", 9),
            )
            for i in range(20)
        ]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert answers[0][0][0]
    assert all(answer == answers[0] for answer in answers)


def test_tasks_may_ask_from_workers(store: SQLiteStore, make: Any) -> None:
    store.replace(make.document("d", "apples"))

    async def ask() -> list[list[Any]]:
        jobs = [asyncio.to_thread(store.text.search, "apples") for _ in range(20)]
        return await asyncio.gather(*jobs)

    answers = asyncio.run(ask())
    assert all(answer == answers[0] and answer for answer in answers)


def test_threads_that_write_take_turns(store: SQLiteStore, make: Any) -> None:
    def write(i: int) -> None:
        store.replace(make.document(f"d{i}", "same words"))
        store.text.search("words")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert len(found(store, "same words", max_results=100)) == 40
    assert store.generation == 40


def test_readers_see_whole_writes_only(tmp_path: Path, make: Any) -> None:
    with SQLiteStore(tmp_path / "store.db") as store:
        store.replace(make.resource(make.node("a", "even"), make.node("b", "even"), uri="r"))
        done = threading.Event()

        def read() -> bool:
            whole = True
            while not done.is_set():
                hits = store.text.search("even odd")
                whole = whole and len(hits) == 2 and len({hit.content for hit in hits}) == 1
            return whole

        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            for i in range(30):
                word = "odd" if i % 2 else "even"
                nodes = (make.node("a", word), make.node("b", word))
                store.replace(make.resource(*nodes, uri="r"))
            done.set()
            assert all(reader.result() for reader in readers)


def test_a_thread_that_ends_takes_its_connection_along(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store.db") as store:
        for _ in range(5):
            thread = threading.Thread(target=lambda: store.generation)
            thread.start()
            thread.join()
        gc.collect()
        assert len(store._database._handles) == 1


def test_closing_closes_the_connections_of_all_threads(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    begun, ended = threading.Barrier(2), threading.Event()

    def hold() -> None:
        assert store.generation == 0
        begun.wait()
        ended.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    handles = list(store._database._handles)
    store.close()
    ended.set()
    thread.join()
    assert len(handles) == 2
    for handle in handles:
        with pytest.raises(sqlite3.ProgrammingError):
            handle.connection.execute("SELECT 1")


def test_many_may_open_a_new_file_at_once(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "store.db"
    barrier = threading.Barrier(6)

    def work(i: int) -> None:
        barrier.wait()
        with SQLiteStore(path) as store:
            store.replace(make.document(f"d{i}", "apples"))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    with SQLiteStore(path) as store:
        assert len(found(store, "apples")) == 6


def test_b8_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    with (
        SQLiteStore(tmp_path / "store.db") as store,
        store._database.writing() as connection,
    ):
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
