"""The embedded store at two sizes: time to index and to answer, size on disk, memory.

Nodes look like functions, thirty to a file, with words by a Zipf law and calls inside the file.
Times are processor time, so that what else runs beside hardly counts.
"""

import random
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.models import Edge, IndexedNode, IndexedResource

SIZES = (10_000, 100_000)
QUESTIONS = 60
NODES_PER_FILE = 30
FILES_PER_TRANSACTION = 50
VOCABULARY = 30_000

Kind = Callable[["Words"], str]


class Words:
    """Draws identifiers and words by a Zipf law."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        made = random.Random(0)
        syllables = [a + b for a in "bcdfgklmnprstvz" for b in "aeiou"]
        self._words = ["".join(made.choices(syllables, k=3)) for _ in range(VOCABULARY)]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))

    def draw(self, count: int) -> list[str]:
        return self._chance.choices(self._words, cum_weights=self._weights, k=count)

    def rare(self) -> str:
        return self._words[self._chance.randrange(500, 5_000)]

    def number(self, low: int, high: int) -> int:
        return self._chance.randint(low, high)


def function(words: Words, *, uri: str, file: str) -> IndexedNode:
    """A function of some ten lines with a name, a signature and a docstring."""
    name = "_".join(words.draw(2))
    signature = f"def {name}({', '.join(words.draw(3))}):"
    doc = " ".join(words.draw(12))
    lines = [f"    {a}.{b}({c}_{d})" for a, b, c, d in _fours(words, words.number(4, 16))]
    text = "\n".join([signature, f'    """{doc}."""', *lines])
    path = file.removeprefix("project://bench/")
    return IndexedNode(
        uko_node=uri,
        kind="function",
        resource_uri=file,
        resource_type="source_file",
        parent=file,
        names=(name, f"{path}.{name}"),
        fields={
            "path": path,
            "name": name,
            "signature": signature,
            "doc": doc,
            "body": "\n".join(lines),
        },
        renderings={0: name, 2: signature, 9: text},
        metadata={"path": path, "kind": "function"},
    )


def _fours(words: Words, count: int) -> Iterator[tuple[str, ...]]:
    drawn = iter(words.draw(4 * count))
    return zip(drawn, drawn, drawn, drawn, strict=True)


def files(size: int) -> Iterator[IndexedResource]:
    """Files with `size` nodes in all, the files themselves not counted."""
    words = Words(seed=1)
    count = size // NODES_PER_FILE
    for number in range(count):
        uri = f"project://bench/src/{'/'.join(words.draw(1))}/file{number}.py"
        node = IndexedNode(
            uko_node=uri, kind="module", resource_uri=uri, resource_type="source_file"
        )
        members = [
            function(words, uri=f"{uri}#f{place}", file=uri) for place in range(NODES_PER_FILE)
        ]
        calls = [
            Edge(source=a.uko_node, target=members[words.number(0, 29)].uko_node, relation="calls")
            for a in members
        ]
        yield IndexedResource(
            resource_uri=uri, content_hash=str(number), nodes=(node, *members), edges=tuple(calls)
        )


def index(store: SQLiteStore, size: int) -> float:
    """Seconds to write the files, making them not counted."""
    spent = 0.0
    batch: list[IndexedResource] = []
    for file in files(size):
        batch.append(file)
        if len(batch) == FILES_PER_TRANSACTION:
            spent += _write(store, batch)
            batch = []
    return spent + _write(store, batch)


def _write(store: SQLiteStore, batch: list[IndexedResource]) -> float:
    started = time.process_time()
    with store.transaction():
        for file in batch:
            store.replace(file)
    return time.process_time() - started


def questions(kind: str) -> list[str]:
    """Questions of common and rare words, of common ones alone, or of one rare word."""
    words = Words(seed=2)
    made: dict[str, Kind] = {
        "mixed": lambda w: " ".join([*w.draw(5), w.rare(), w.rare()]),
        "common": lambda w: " ".join(w.draw(3)),
        "rare": lambda w: w.rare(),
    }
    return [made[kind](words) for _ in range(QUESTIONS)]


def median_ms(ask: Callable[[str], Any], asked: list[str]) -> float:
    """Median milliseconds of the better of two runs of each question."""
    times = []
    for question in asked:
        runs = []
        for _ in range(2):
            started = time.process_time()
            ask(question)
            runs.append(time.process_time() - started)
        times.append(min(runs) * 1e3)
    return statistics.median(times)


def peak_mb(ask: Callable[[str], Any], asked: list[str]) -> float:
    """Most memory that Python allocated during a question, in megabytes."""
    tracemalloc.start()
    for question in asked[:20]:
        ask(question)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return peak


def row(size: int, folder: Path) -> dict[str, float]:
    """Everything measured at one size."""
    path = folder / f"{size}.db"
    with SQLiteStore(path) as store:
        seconds = index(store, size)
    with SQLiteStore(path, read_only=True) as store:
        found: dict[str, float] = {"nodes": size, "index_s": seconds}
        for kind in ("mixed", "common", "rare"):
            found[f"{kind}_ms"] = median_ms(store.text.search, questions(kind))
        mixed = questions("mixed")
        scoped = ["project://bench/src"]
        found["scoped_ms"] = median_ms(lambda q: store.text.search(q, scope=scoped), mixed)
        found["resolve_ms"] = median_ms(store.graph.resolve, mixed)
        found["peak_mb"] = peak_mb(store.text.search, mixed)
    found["disk_mb"] = path.stat().st_size / 1e6
    return found


def rows(sizes: tuple[int, ...] = SIZES) -> Iterator[dict[str, float]]:
    """One row for each size, and last the ratio of the last to the first."""
    made = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            made.append(row(size, Path(folder)))
        yield made[-1]
    yield {name: made[-1][name] / made[0][name] for name in made[0]}


def main() -> None:
    """Print the rows as a table as they come; the last one holds ratios."""
    for number, measured in enumerate(rows()):
        if not number:
            print(f"| {' | '.join(measured)} |")
            print(f"|{'---:|' * len(measured)}")
        print(f"| {' | '.join(f'{value:,.2f}' for value in measured.values())} |", flush=True)


if __name__ == "__main__":
    main()
