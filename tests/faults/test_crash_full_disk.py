"""No room left: a clear error, and the store as it was before (ruling B8)."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from acms_adapters.errors import StoreError
from acms_adapters.indexing import ContextStore

CHARACTERS = "character-frequency-v1"
MUCH = [Document(id=f"n{n}", page_content=f"word{n} " * 400) for n in range(40)]


@contextmanager
def at_most_its_pages(store: ContextStore) -> Iterator[None]:
    """The database may not grow any more."""
    with store._texts._database.writing() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    yield
    with store._texts._database.writing() as connection:
        connection.execute("PRAGMA max_page_count = 1073741823")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with ContextStore.open(tmp_path / "store", embedder=CHARACTERS) as store:
        store.add_documents([Document(id="x", page_content="millet", metadata={"v": 1})])
    return tmp_path / "store"


def rows(place: Path) -> list[str]:
    with (
        closing(sqlite3.connect(place / "store.sqlite3")) as connection,
        closing(sqlite3.connect(":memory:")) as copy,
    ):
        connection.backup(copy)
        copy.execute("DROP TABLE words")
        return list(copy.iterdump())


def test_without_room_a_write_is_an_error_and_the_store_as_before(place: Path) -> None:
    """B8.full."""
    before = rows(place)
    with ContextStore.open(place) as store:
        with (
            at_most_its_pages(store),
            pytest.raises(StoreError, match=r"no room left .*store\.sqlite3.*free some space"),
        ):
            store.add_documents([Document(id="x", page_content="barley"), *MUCH])
        assert [hit.uko_node for hit in store.backends().text.search("millet")] == ["x"]
        assert store.backends().text.search("barley") == []
        assert store.check(repair=False).is_clean
    assert rows(place) == before
    with ContextStore.open(place) as store:
        store.add_documents([Document(id="x", page_content="barley"), *MUCH])
        assert store.check(repair=False).is_clean
        assert store.stats().vectors == 1 + len(MUCH)


def test_without_room_to_replace_or_remove_nothing_is_half_done(place: Path) -> None:
    with ContextStore.open(place) as store:
        store.add_documents(MUCH)
        with at_most_its_pages(store):
            longer = [
                Document(id=one.id, page_content=one.page_content * 5, metadata={"v": 2})
                for one in MUCH
            ]
            with pytest.raises(StoreError, match="no room left"):
                store.add_documents(longer)
            hits = store.backends().graph.get([one.id for one in MUCH])
            assert {hit.metadata.get("v") for hit in hits} == {None}
            assert store.check(repair=False).is_clean
            assert store.remove("n1") == 1
        assert store.check(repair=False).is_clean


# A process that may not write more than so many bytes into any file.
LIMITED = """
import resource, sys
from langchain_core.documents import Document
from acms_adapters.errors import ACMSError
from acms_adapters.indexing import ContextStore
with ContextStore.open(sys.argv[1]) as store:
    size = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        for n in range(3000):
            text = f"number {n} " * 60
            store.add_documents([Document(id=f"{n}-{m}", page_content=text) for m in range(40)])
            print(n, flush=True)
    except ACMSError as error:
        print("said", error)
        sys.exit(3)
"""


@pytest.mark.parametrize("more", [0, 60_000, 400_000])
def test_files_that_may_not_grow_are_a_clear_error_and_nothing_is_lost(
    place: Path, patience: Any, more: int
) -> None:
    largest = max(file.stat().st_size for file in place.rglob("*") if file.is_file())
    process = subprocess.Popen(
        [sys.executable, "-c", LIMITED, str(place), str(largest + more)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, error = patience.outcome(process)
    *written, said = out.splitlines()
    assert process.returncode == 3, error
    assert said.startswith("said ")
    assert str(place) in said
    with ContextStore.open(place) as store:
        assert store.check(repair=False).is_clean
        graph = store.backends().graph
        assert len(graph.get(["x"])) == 1
        for number in written:
            assert len(graph.get([f"{number}-{m}" for m in range(40)])) == 40
        store.add_documents(MUCH)
        assert store.check(repair=False).is_clean
        assert store.stats().vectors == store.stats().resources
