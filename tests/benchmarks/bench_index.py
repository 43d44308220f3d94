"""Time to index a real code base, to index it again unchanged, and again with one file changed."""

import gc
import importlib.util
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from acms_adapters.indexing import ContextStore

PACKAGE = "langchain_core"
EMBEDDERS: tuple[str | None, ...] = ("wordllama", "character-frequency-v1", None)
REPEATS = 3


def package_folder(name: str) -> Path:
    """Where an installed package keeps its source."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"this benchmark reads the source of {name!r}: install it first")
    return Path(spec.origin).parent


def seconds(work: Callable[[], Any]) -> float:
    """Time of one run."""
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(source: Path, store_folder: Path, embedder: str | None) -> dict[str, Any]:
    """Figures of a store of its own for a copy of `source`."""
    with ContextStore.open(store_folder, embedder=embedder) as store:
        if (vectors := store.backends().embedder) is not None:
            vectors.embed_query("load the model before the clock runs")
        first = seconds(lambda: store.add_path(source))
        again = min(seconds(lambda: store.add_path(source)) for _ in range(REPEATS))
        changed = sorted(source.rglob("*.py"))[-1]
        changed.write_text(f"{changed.read_text(encoding='utf-8')}\n# changed\n", encoding="utf-8")
        one_changed = seconds(lambda: store.add_path(source))
        stats = store.stats()
    return {
        "embedder": embedder or "none",
        "files": stats.nodes.get("module", 0) + stats.nodes.get("file", 0),
        "nodes": stats.nodes,
        "edges": stats.edges,
        "first_s": first,
        "unchanged_s": again,
        "unchanged_ratio": first / again,
        "one_changed_s": one_changed,
        "bytes": sum(f.stat().st_size for f in store_folder.rglob("*") if f.is_file()),
    }


def rows(package: str = PACKAGE) -> Iterator[dict[str, Any]]:
    """One row for each embedder."""
    for embedder in EMBEDDERS:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / package
            shutil.copytree(package_folder(package), source)
            yield measure(source, Path(folder) / "store", embedder)


def main() -> None:
    """Print the rows as a table, and what was indexed."""
    print("| embedder | files | nodes | first (s) | unchanged (s) | ratio | 1 changed (s) | MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    row: dict[str, Any] = {}
    for row in rows():
        print(
            f"| {row['embedder']} | {row['files']} | {sum(row['nodes'].values()):,} "
            f"| {row['first_s']:.2f} | {row['unchanged_s']:.3f} | {row['unchanged_ratio']:.0f} "
            f"| {row['one_changed_s']:.2f} | {row['bytes'] / 1e6:.1f} |"
        )
    print("\nnodes:", ", ".join(f"{kind} {count:,}" for kind, count in row["nodes"].items()))
    print("edges:", ", ".join(f"{kind} {count:,}" for kind, count in row["edges"].items()))


if __name__ == "__main__":
    main()
