"""A store at growing sizes: first index, again unchanged, again with 1 % changed, questions, room.

    python tests/benchmarks/bench_store.py [--sizes 10000 100000] [--largest] [--embedder NAME]

Files look like modules of thirty functions, with words by a Zipf law. Each size is indexed in a
process of its own and asked in another, so that the peak of memory is that of the work. With
matplotlib the figures are drawn to `.bench/store.png` too.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from bench_sqlite import NODES_PER_FILE, Words, questions

from acms_adapters.indexing import ContextStore

SIZES = (10_000, 100_000)
LARGEST = 300_000
CHANGED = 0.01
BUDGET = 2_000
PICTURE = Path(".bench") / "store.png"
WARM_UP = 5
SHOWN = {
    "fragments": "fragments",
    "first_s": "first (s)",
    "unchanged_s": "unchanged (s)",
    "changed_s": "1 % changed (s)",
    "faster": "first / unchanged",
    "words_ms": "words p50 (ms)",
    "p50_ms": "assemble p50 (ms)",
    "p99_ms": "assemble p99 (ms)",
    "disk_mb": "disk (MB)",
    "index_mb": "peak, indexing (MB)",
    "query_mb": "peak, asking (MB)",
}


def write_module(folder: Path, number: int, words: Words) -> None:
    """A file of thirty functions that call each other."""
    names = [f"{'_'.join(words.draw(2))}_{place}" for place in range(NODES_PER_FILE)]
    lines = []
    for name in names:
        a, b, c, d = words.draw(4)
        lines += [
            f"def {name}({a}_in, {b}_in):",
            f'    """{" ".join(words.draw(12)).capitalize()}."""',
            f"    {c} = {names[words.number(0, NODES_PER_FILE - 1)]}({a}_in, {b}_in)",
            *(f"    {c} = {' + '.join(words.draw(2))} + {d}_{n}" for n in range(6)),
            f"    return {c}\n\n",
        ]
    place = folder / f"part{number % 50}"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"module{number}.py").write_text("\n".join(lines), encoding="utf-8")


def seconds(work: Callable[[], Any]) -> float:
    """Time of one run."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak_mb() -> float:
    """Most memory that this process had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def measure_indexing(folder: Path, size: int, embedder: str | None) -> dict[str, float]:
    """Index a folder, again as it is, and again with one file in a hundred changed."""
    files, words = max(1, size // NODES_PER_FILE), Words(seed=1)
    sources = folder / "sources"
    for number in range(files):
        write_module(sources, number, words)
    with ContextStore.open(folder / "store", embedder=embedder) as store:
        first = seconds(lambda: store.add_path(sources))
        unchanged = min(seconds(lambda: store.add_path(sources)) for _ in range(3))
        for number in range(0, files, round(1 / CHANGED)):
            write_module(sources, number, words)
        changed = seconds(lambda: store.add_path(sources))
        fragments = sum(store.stats().nodes.values())
    kept = [file.stat().st_size for file in (folder / "store").rglob("*") if file.is_file()]
    return {
        "fragments": fragments,
        "first_s": first,
        "unchanged_s": unchanged,
        "faster": first / unchanged,
        "changed_s": changed,
        "disk_mb": sum(kept) / 1e6,
        "index_mb": peak_mb(),
    }


def measure_asking(folder: Path, _: int, embedder: str | None) -> dict[str, float]:
    """Ask a store that another process made."""
    asked = questions("mixed")
    with ContextStore.open(folder / "store", embedder=embedder, read_only=True) as store:
        pipeline, text = store.pipeline(), store.backends().text
        for question in asked[:WARM_UP]:
            pipeline.assemble(question, budget=BUDGET)
        words = [1e3 * seconds(lambda q=q: text.search(q)) for q in asked]
        whole = [1e3 * seconds(lambda q=q: pipeline.assemble(q, budget=BUDGET)) for q in asked]
    return {
        "words_ms": statistics.median(words),
        "p50_ms": statistics.median(whole),
        "p99_ms": statistics.quantiles(whole, n=100)[98],
        "query_mb": peak_mb(),
    }


PHASES = {"index": measure_indexing, "ask": measure_asking}


def row(size: int, embedder: str | None) -> dict[str, float]:
    """Everything measured at one size, each phase in a process of its own."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for phase in PHASES:
            command = [sys.executable, __file__, "--phase", phase, folder, str(size)]
            if embedder:
                command += ["--embedder", embedder]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
            found |= json.loads(done.stdout)
    return found


def rows(sizes: Sequence[int], embedder: str | None) -> Iterator[dict[str, float]]:
    """One row for each size, and last the ratios of the last to the first."""
    made = []
    for size in sizes:
        made.append(row(size, embedder))
        yield made[-1]
    if len(made) > 1:
        yield {name: made[-1][name] / made[0][name] for name in SHOWN}


def draw(measured: Sequence[dict[str, float]], path: Path) -> None:
    """How times and room grow with the number of fragments."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (times, room) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    sizes = [one["fragments"] for one in measured]
    for name, factor in (
        ("first_s", 1e3),
        ("changed_s", 1e3),
        ("unchanged_s", 1e3),
        ("p99_ms", 1),
        ("p50_ms", 1),
        ("words_ms", 1),
    ):
        label = SHOWN[name].replace("(s)", "").replace("(ms)", "").strip()
        times.loglog(sizes, [one[name] * factor for one in measured], marker="o", label=label)
    for name in ("disk_mb", "index_mb", "query_mb"):
        label = SHOWN[name].replace("(MB)", "").strip()
        room.loglog(sizes, [one[name] for one in measured], marker="o", label=label)
    for axes, unit in ((times, "milliseconds"), (room, "megabytes")):
        axes.set(xlabel="fragments", ylabel=unit)
        axes.grid(visible=True, which="both", alpha=0.2)
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="fragments")
    parser.add_argument("--largest", action="store_true", help=f"and {LARGEST:,}: half an hour")
    parser.add_argument("--embedder", default="auto", help="'none' for a store without vectors")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where to draw")
    parser.add_argument("--phase", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rows as a table as they come; the last one holds ratios."""
    chosen = parsed(arguments)
    embedder = None if chosen.embedder == "none" else chosen.embedder
    if chosen.phase:
        phase, folder, size = chosen.phase
        print(json.dumps(PHASES[phase](Path(folder), int(size), embedder)))
        return
    measured = []
    print(f"| {' | '.join(SHOWN.values())} |\n|{'---:|' * len(SHOWN)}", flush=True)
    for one in rows([*chosen.sizes, *[LARGEST] * chosen.largest], embedder):
        shown = [f"{one[name]:,.0f}" if one[name] >= 100 else f"{one[name]:.2f}" for name in SHOWN]
        print(f"| {' | '.join(shown)} |", flush=True)
        measured.append(one)
    try:
        draw(measured[: len(chosen.sizes) + chosen.largest], chosen.picture)
        print(f"\ndrawn to {chosen.picture}")
    except ImportError:
        print("\nnot drawn: matplotlib is not installed")


if __name__ == "__main__":
    main()
