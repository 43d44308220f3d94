"""One writer, many readers, over threads and processes (ruling B8)."""

import gc
import importlib.util
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from acms_adapters.errors import StoreLockedError
from acms_adapters.indexing import ContextStore
from acms_adapters.pipeline.workers import Workers

CHARACTERS = "character-frequency-v1"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

# Each round of the writer replaces one document of many parts and adds another, whose vector
# points where no other does. It tells a round's number once it is done with it.
ROLES = """
import math, os, sys, time
from pathlib import Path
from langchain_core.documents import Document
from acms_adapters.indexing import ContextStore

place, told, stop = (Path(name) for name in sys.argv[2:5])

def direction(text):
    # all parts alike: Chroma's graph by itself may lose what lies beside many equal vectors
    kind, number, *rest = text.split()
    if kind == "round":
        return [math.cos(int(number) / 50), math.sin(int(number) / 50), 0.0]
    return [-1.0, 0.0, 0.0]

def embed(texts):
    return [direction(text) for text in texts]

def tell(number):
    new = told.with_suffix(".new")
    new.write_text(str(number))
    os.replace(new, told)

def last_told():
    return int(told.read_text())

def write():
    rounds, seconds = int(sys.argv[5]), float(sys.argv[6])
    end = time.monotonic() + seconds
    with ContextStore.open(place, embedder=embed) as store:
        number = 0
        while number < rounds or time.monotonic() < end:
            parts = [f"part {n} of version {number} " * 20 for n in range(60)]
            store.add_documents([
                Document(
                    id="long", page_content="\\n\\n".join(parts), metadata={"version": number}
                ),
                Document(id=f"round-{number}", page_content=f"round {number} word{number}"),
            ])
            if number > 2:
                store.remove(f"round-{number - 3}")
            tell(number)
            number += 1
    print(number)

def read():
    asked = 0
    with ContextStore.open(place, embedder=embed, read_only=True) as store:
        backends = store.backends()
        while not stop.exists():
            number = last_told()
            near = backends.vector.similarity_search(
                direction(f"round {number}"), top_k=1, min_similarity=0.99999
            )
            found = {hit.uko_node for hit in near}
            assert f"round-{number}" in found or last_told() >= number + 2, (number, found)
            number = last_told()
            words = {hit.uko_node for hit in backends.text.search(f"word{number}")}
            assert f"round-{number}" in words or last_told() >= number + 2, (number, words)
            number = last_told()
            edges = backends.graph.neighbors(["long"], direction="out", relations=["contains"])
            hits = backends.graph.get(["long", *(edge.target for edge in edges)])
            versions = {hit.metadata["version"] for hit in hits}
            assert len(hits) == 1 + len(edges) > 5, len(hits)
            assert len(versions) == 1, versions
            assert versions.pop() >= number
            asked += 1
    print(asked)

{"write": write, "read": read}[sys.argv[1]]()
"""


def run_readers_beside_a_writer(
    folder: Path, patience: Any, *, rounds: int, seconds: float
) -> None:
    place, told, stop = folder / "store", folder / "told", folder / "stop"

    def start(role: str, *options: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", ROLES, role, place, told, stop, *options]
        return subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )

    first, _ = patience.outcome(start("write", 1, 0.0))
    assert first.strip() == "1"
    readers = [start("read") for _ in range(4)]
    writer = start("write", rounds, seconds)
    try:
        wrote, said = patience.outcome(writer, *readers)
        assert writer.returncode == 0, said
        assert int(wrote) >= rounds
    finally:
        stop.touch()
        outcomes = [patience.outcome(reader, *readers) for reader in readers]
    for reader, (out, error) in zip(readers, outcomes, strict=True):
        assert reader.returncode == 0, error
        assert int(out) > 0
    with ContextStore.open(place, embedder=None) as store:
        assert store.check(repair=False).is_clean


def test_b8_four_readers_beside_a_writer_see_every_commit_whole(
    tmp_path: Path, patience: Any
) -> None:
    """B8.readers."""
    run_readers_beside_a_writer(tmp_path, patience, rounds=8, seconds=0.0)


@pytest.mark.slow
def test_b8_four_readers_beside_a_writer_for_half_a_minute(tmp_path: Path, patience: Any) -> None:
    """B8.readers."""
    run_readers_beside_a_writer(tmp_path, patience, rounds=12, seconds=30.0)


# a second writer

HOLDER = """
import sys
from acms_adapters.indexing import ContextStore
with ContextStore.open(sys.argv[1], embedder=None) as store:
    with store._texts.transaction():
        print("holds", flush=True)
        sys.stdin.readline()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with ContextStore.open(tmp_path / "store", embedder=CHARACTERS) as store:
        store.add_documents([Document(id="x", page_content="millet and rye")])
    return tmp_path / "store"


@contextmanager
def another_writer(place: Path) -> Iterator[Callable[[], None]]:
    """A process that has begun to write; calling what is given lets it end."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stdout.readline() == "holds\n"
    try:
        yield lambda: (process.stdin.write("go on\n"), process.stdin.flush())
    finally:
        process.communicate(timeout=600)


def test_b8_a_second_writer_waits_and_then_says_for_whom(place: Path) -> None:
    """B8.writers."""
    with ContextStore.open(place, busy_timeout_seconds=0.2) as store:
        with another_writer(place):
            with pytest.raises(StoreLockedError, match=r"another writer .*0\.2 seconds: try again"):
                store.add_documents([Document(id="y", page_content="barley")])
            with pytest.raises(StoreLockedError, match="another writer"):
                ContextStore.open(place, busy_timeout_seconds=0.2)
            assert [hit.uko_node for hit in store.backends().text.search("millet")] == ["x"]
            with ContextStore.open(place, read_only=True) as reader:
                assert reader.stats().vectors == 1
        assert store.check(repair=False).is_clean
        store.add_documents([Document(id="y", page_content="barley")])
        assert store.stats().vectors == 2


def test_b8_a_second_writer_goes_on_as_soon_as_the_first_is_done(place: Path) -> None:
    with (
        ContextStore.open(place, busy_timeout_seconds=120) as store,
        another_writer(place) as let_it_end,
        ThreadPoolExecutor(1) as pool,
    ):
        waiting = pool.submit(store.add_documents, [Document(id="y", page_content="barley")])
        assert not waiting.done()
        let_it_end()
        assert waiting.result(timeout=600).added == ("y",)


# a folder that may only be read

# Administrators may write everywhere, so that one becomes somebody else, after it has read once
# what is loaded when it is needed, which others may not read.
READER = """
import json, os, sys, tempfile
from langchain_core.documents import Document
from acms_adapters.indexing import ContextStore

def ask(store):
    backends = store.backends()
    vector = backends.embedder.embed_query("millet")
    return [
        [hit.uko_node for hit in backends.text.search("millet")],
        [hit.uko_node for hit in backends.vector.similarity_search(vector)],
        len(store.pipeline().assemble("millet", budget=100).fragments),
        store.check().is_clean,
    ]

with tempfile.TemporaryDirectory() as folder:
    with ContextStore.open(folder, embedder="character-frequency-v1") as store:
        store.add_documents([Document(id="x", page_content="millet")])
        ask(store)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
with ContextStore.open(sys.argv[1], read_only=True) as store:
    print(json.dumps(ask(store)))
"""


def test_b8_a_folder_that_may_only_be_read_is_read_with_its_vectors() -> None:
    """B8.readonly."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "store"
        with ContextStore.open(place, embedder=CHARACTERS) as store:
            store.add_documents([Document(id="x", page_content="millet and rye")])
        for one in [*place.rglob("*"), place, Path(folder)]:
            one.chmod(0o555 if one.is_dir() else 0o444)
        before = {one: one.stat().st_mtime_ns for one in place.rglob("*")}
        done = subprocess.run(
            [sys.executable, "-c", READER, str(place)],
            env={**ENVIRONMENT, "HOME": folder},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        after = {one: one.stat().st_mtime_ns for one in place.rglob("*")}
        for one in [Path(folder), place, *place.rglob("*")]:
            one.chmod(one.stat().st_mode | stat.S_IRWXU)
    assert done.stdout.strip() == '[["x"], ["x"], 1, true]', done.stderr
    assert after == before


# vectors in memory


@pytest.fixture
def without_chroma(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "chromadb" else find(name)
    )


@pytest.mark.usefixtures("without_chroma")
def test_b8_a_reader_with_vectors_in_memory_sees_what_another_wrote(tmp_path: Path) -> None:
    with ContextStore.open(tmp_path, embedder=CHARACTERS) as writer:
        writer.add_documents([Document(id="x", page_content="millet")])
        with ContextStore.open(tmp_path, embedder=CHARACTERS, read_only=True) as reader:
            writer.add_documents([Document(id="y", page_content="barley")])
            writer.remove("x")
            backends = reader.backends()
            vector = backends.embedder.embed_query("barley")
            assert [h.uko_node for h in backends.vector.similarity_search(vector)] == ["y"]


# threads


def answers(store: ContextStore, questions: range) -> list[Any]:
    backends = store.backends()
    found: list[Any] = []
    for number in questions:
        vector = backends.embedder.embed_query(f"number {number % 40} of many")
        found.append(
            [
                [(h.uko_node, h.score) for h in backends.text.search(f"number {number % 40}")],
                [(h.uko_node, h.score) for h in backends.vector.similarity_search(vector)],
                backends.graph.neighbors([f"n{number % 40}"]),
                backends.renderings.at(f"n{number % 40}", 9),
            ]
        )
    return found


def ask_from_threads(folder: Path, *, threads: int, questions: int) -> None:
    with ContextStore.open(folder, embedder=CHARACTERS) as store:
        store.add_documents(
            Document(
                id=f"n{n}",
                page_content=f"number {n} of many " + "word " * n,
                metadata={"links": [f"n{(n + 1) % 40}"]},
            )
            for n in range(40)
        )
        alone = answers(store, range(questions))
        payload = store.pipeline().assemble("number 7", budget=300)
        together = threading.Barrier(threads)
        pipeline = store.pipeline()

        def ask() -> tuple[list[Any], str]:
            together.wait(600)
            found = answers(store, range(questions))
            return found, pipeline.assemble("number 7", budget=300).context_hash

        with ThreadPoolExecutor(threads) as pool:
            asked = [pool.submit(ask) for _ in range(threads)]
            for one in asked:
                assert one.result(timeout=600) == (alone, payload.context_hash)


def test_b8_eight_threads_get_the_answers_of_one(tmp_path: Path) -> None:
    """B8.threads."""
    ask_from_threads(tmp_path, threads=8, questions=40)


@pytest.mark.slow
def test_b8_eight_threads_of_500_questions_get_the_answers_of_one(tmp_path: Path) -> None:
    """B8.threads."""
    ask_from_threads(tmp_path, threads=8, questions=500)


# what is given back


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def clients() -> int:
    from chromadb.api.shared_system_client import SharedSystemClient

    return len(SharedSystemClient._identifier_to_system)


def use_and_close(place: Path, number: int) -> None:
    with ContextStore.open(place, embedder=CHARACTERS) as store:
        store.add_documents([Document(id=f"d{number}", page_content=f"text {number} of rye")])
        pipeline = store.pipeline()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: answers(store, range(2)), range(4)))
        pipeline.assemble("rye", budget=100)
        with ContextStore.open(place, read_only=True) as reader:
            assert reader.backends().text.search("rye")
            store.add_documents([Document(id=f"e{number}", page_content=f"more {number}")])
            answers(reader, range(2))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_no_thread_file_or_client_is_left_behind(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B8.leaks."""
    # threads of a pipeline end when they had nothing to do for some seconds
    monkeypatch.setitem(Workers.__init__.__kwdefaults__, "idle_seconds", 0.01)
    others = set(threading.enumerate())

    def counted() -> tuple[int, int]:
        for thread in set(threading.enumerate()) - others:
            thread.join(600)
            assert not thread.is_alive()
        gc.collect()
        return open_files(), clients()

    for number in range(2):  # what is opened once for the whole process
        use_and_close(place, number)
    before = counted()
    for number in range(2, 7):
        use_and_close(place, number)
    assert counted() == before
