"""A process that is killed at any moment loses nothing that was committed (ruling B8)."""

import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acms_adapters.backends.chroma import ChromaVectorBackend
from acms_adapters.indexing import ContextStore

CHARACTERS = "character-frequency-v1"

# A process that has everything imported makes another one for each task. Small batches give many
# commits, and Chroma's files are written often.
WORKERS = """
import os, sys
from pathlib import Path
import chromadb
import acms_adapters.backends.chroma.opening as opening
import acms_adapters.indexing.vectors as vectors
import acms_adapters.indexing.writing as writing
from acms_adapters.indexing import ContextStore
writing.BATCH_CHARS = 1500
vectors._BATCH = 8
opening.HNSW.update(sync_threshold=20, batch_size=10)

def work(task, store, folder):
    with ContextStore.open(store, embedder="character-frequency-v1") as opened:
        if task == "remove":
            opened.remove(Path(folder) / "part0")
        else:
            opened.add_path(folder)

print("ready", flush=True)
for line in sys.stdin:
    process = os.fork()
    if not process:
        work(*line.split())
        os._exit(0)
    print(process, flush=True)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Workers:
    """Does tasks in processes of their own."""

    def __init__(self, patience: Any) -> None:
        self._patience = patience
        self._root = subprocess.Popen(
            [sys.executable, "-u", "-c", WORKERS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # threads of a linear algebra library would not survive a fork
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "OPENBLAS_NUM_THREADS": "1",
            },
        )
        assert self._line() == "ready"

    def run(self, task: str, store: Path, folder: Path, *, kill_after: float | None = None) -> int:
        """Do a task, or kill whoever does it after some seconds; its exit code."""
        self._say(f"{task} {store} {folder}\n")
        process = int(self._line())
        if kill_after is not None and not self._ends_within(kill_after):
            os.kill(process, signal.SIGKILL)
        word, code = self._line().split()
        assert word == "ended"
        return int(code)

    def close(self) -> None:
        self._root.stdin.close()
        self._patience.until(self._has_ended, self._root.pid)
        self._root.stdout.close()

    def _say(self, line: str) -> None:
        self._root.stdin.write(line.encode())
        self._root.stdin.flush()

    def _ends_within(self, seconds: float) -> bool:
        return bool(select.select([self._root.stdout], [], [], seconds)[0])

    def _has_ended(self, seconds: float) -> bool:
        try:
            self._root.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _line(self) -> str:
        self._patience.until(self._ends_within, self._root.pid)
        line = b""
        while not line.endswith(b"\n"):  # not buffered, so that `select` sees what waits
            one = os.read(self._root.stdout.fileno(), 1)
            assert one, "the processes are gone"
            line += one
        return line.decode().strip()


@pytest.fixture(scope="module")
def workers(patience: Any) -> Iterator[Workers]:
    workers = Workers(patience)
    yield workers
    workers.close()


def write_sources(folder: Path, *, files: int, version: int) -> None:
    """Files that mention each other; every third one has another text in another version."""
    for number in range(files):
        part = folder / f"part{number % 3}"
        part.mkdir(parents=True, exist_ok=True)
        said = version if number % 3 == 1 else 0
        neighbour = (number + 3) % files
        (part / f"m{number}.py").write_text(
            f"from m{neighbour} import step{neighbour}\n\n\n"
            f'def step{number}(x):\n    """Says {said} of {number}."""\n'
            f"    return step{neighbour}(x + {said})\n"
        )
        (part / f"n{number}.md").write_text(
            f"# Note {number}\n\nSee [code](m{number}.py).\n\n## More\n\nVersion {said}.\n"
        )
        for file in part.iterdir():
            os.utime(file, (1_700_000_000 + said, 1_700_000_000 + said))


def rows(place: Path) -> list[str]:
    """Everything a store keeps, by URI, as numbers depend on what was there before."""
    with closing(sqlite3.connect(place / "store.sqlite3")) as connection:
        queries = (
            "SELECT uri, content_hash, seal FROM resources",
            "SELECT n.uri, r.uri, state, kind, resource_uri, resource_type, location, tier,"
            " created_at, searched_depth, text_hash, metadata, n.seal"
            " FROM nodes n LEFT JOIN resources r ON r.id = n.owner",
            "SELECT n.uri, depth, token_count, content FROM renderings JOIN nodes n ON n.id = node",
            "SELECT s.uri, relation, t.uri, r.uri, derived FROM edges JOIN nodes s ON s.id = source"
            " JOIN nodes t ON t.id = target LEFT JOIN resources r ON r.id = edges.owner",
            "SELECT n.uri, name, title FROM names JOIN nodes n ON n.id = node",
            "SELECT n.uri, fact FROM facts JOIN nodes n ON n.id = node",
            "SELECT n.uri, text FROM tokens JOIN nodes n ON n.id = node",
            "SELECT * FROM terms",
            "SELECT * FROM totals",
            "SELECT * FROM dirty",
            "SELECT * FROM touched",
        )
        return [line for query in queries for line in sorted(map(str, connection.execute(query)))]


def vectors(place: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """Hashes and vectors by node."""
    backend = ChromaVectorBackend(place / "chroma")
    with backend._access.table() as table:
        nodes = sorted(table.nodes())
        page = table.collection.get(ids=nodes, include=["embeddings"])
    hashes = backend.hashes()
    backend.close()
    return hashes, dict(zip(page["ids"], page["embeddings"], strict=True))


def same_vectors(one: Path, other: Path) -> bool:
    hashes, found = vectors(one)
    wanted_hashes, wanted = vectors(other)
    return hashes == wanted_hashes and all(
        np.allclose(found[node], wanted[node], atol=1e-6) for node in wanted
    )


def every_vector_is_found(place: Path) -> bool:
    _, held = vectors(place)
    backend = ChromaVectorBackend(place / "chroma")
    answers = (
        max(hit.score for hit in backend.similarity_search(row, top_k=1, min_similarity=0.999))
        for row in held.values()
        if np.any(row)
    )
    found = all(score > 0 for score in answers)
    backend.close()
    return found


def hashes(place: Path) -> dict[str, str]:
    if not (place / "store.sqlite3").is_file():
        return {}
    with closing(
        sqlite3.connect(f"file:{place / 'store.sqlite3'}?mode=ro", uri=True)
    ) as connection:
        try:
            return dict(connection.execute("SELECT uri, content_hash FROM resources"))
        except sqlite3.OperationalError:  # killed before there was a table
            return {}


def kill_again_and_again(workers: Workers, folder: Path, *, files: int, kills: int) -> None:
    """Index, re-index and remove by turns; kill each at some moment, then look and finish it."""
    chance = random.Random(7)
    sources, place = folder / "sources", folder / "store"
    turns = (("index", 0), ("re-index", 1), ("remove", 1), ("re-index", 0))
    wanted: list[tuple[Path, float]] = []
    undisturbed = folder / "undisturbed"
    for number, (task, version) in enumerate(turns):
        write_sources(sources, files=files, version=version)
        started = time.monotonic()
        assert workers.run(task, undisturbed, sources) == 0
        wanted.append((folder / f"wanted{number}", time.monotonic() - started))
        subprocess.run(["cp", "-r", str(undisturbed), str(wanted[-1][0])], check=True)
    ends: list[int] = []
    for number in range(kills):
        task, version = turns[number % len(turns)]
        model, seconds = wanted[number % len(turns)]
        write_sources(sources, files=files, version=version)
        before, after = hashes(place), hashes(model)
        ends.append(workers.run(task, place, sources, kill_after=chance.uniform(0.0, seconds)))
        for uri, content_hash in hashes(place).items():
            assert content_hash in (before.get(uri), after.get(uri)) or uri == "project://sources"
        assert hashes(place).keys() >= before.keys() & after.keys()
        with ContextStore.open(place, embedder=CHARACTERS) as store:
            assert store.check(repair=False).findings == ()
        assert workers.run(task, place, sources) == 0
        assert rows(place) == rows(model)
        assert same_vectors(place, model)
    assert every_vector_is_found(place)
    assert set(ends) <= {0, -signal.SIGKILL}
    assert -signal.SIGKILL in ends


def test_b8_ten_kills_lose_nothing_and_finishing_gives_what_an_undisturbed_run_gives(
    workers: Workers, tmp_path: Path
) -> None:
    """B8.kill."""
    kill_again_and_again(workers, tmp_path, files=12, kills=10)


@pytest.mark.slow
def test_b8_a_hundred_kills_lose_nothing(workers: Workers, tmp_path: Path) -> None:
    """B8.kill."""
    kill_again_and_again(workers, tmp_path, files=60, kills=100)
