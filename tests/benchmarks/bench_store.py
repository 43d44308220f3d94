"""A store at growing sizes: first index, again unchanged, again with 1 % changed, questions, room.

    python tests/benchmarks/bench_store.py [10000 100000] [--largest] [--embedder NAME]

Files look like modules of thirty functions, with words by a Zipf law. Each size is indexed in a
process of its own and asked in another, so that the peak of memory is that of the work. Times are
those of the processor, which others at work on the machine disturb least; where a clock on the
wall was read, it says so. Rows are kept, so that sizes may be measured one at a time: the table
and, with matplotlib, the pictures show all there are. The last line holds ratios, of the largest
size to the smallest.
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

import bench_sqlite
from bench_sqlite import NODES_PER_FILE, Words, questions

from acms_adapters.indexing import ContextStore
from acms_adapters.indexing.report import Progress

SIZES = (10_000, 100_000)
LARGEST = 300_000
CHANGED = 0.01
BUDGET = 2_000
KEPT = Path(".bench") / "store.json"
WARM_UP = 5
TOLD_EVERY = 15.0
SHOWN = {
    "fragments": "fragments",
    "first_s": "first (s)",
    "first_wall_s": "on the wall",
    "unchanged_s": "unchanged (s)",
    "faster": "first / unchanged",
    "changed_s": "1 % changed (s)",
    "words_ms": "words p50 (ms)",
    "p50_ms": "assemble p50 (ms)",
    "p99_ms": "p99 (ms)",
    "wall_p50_ms": "p50 on the wall",
    "wall_p99_ms": "p99 on the wall",
    "disk_mb": "disk (MB)",
    "index_mb": "peak, indexing (MB)",
    "query_mb": "peak, asking (MB)",
    "question_mb": "of a question (MB)",
}
TIMES = {
    "first_s": 1e3,
    "changed_s": 1e3,
    "unchanged_s": 1e3,
    "p99_ms": 1.0,
    "p50_ms": 1.0,
    "words_ms": 1.0,
}
ROOM = ("disk_mb", "index_mb", "query_mb", "question_mb")


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


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Time of one run: of the processor and on the wall."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - processor, time.perf_counter() - wall


def peak_mb() -> float:
    """Most memory that this process had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def telling() -> Progress:
    """Says now and then how far a long call is."""
    started = last = time.monotonic()

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= TOLD_EVERY or (done == total and now - started >= TOLD_EVERY):
            last = now
            said = f"  {now - started:6.0f} s: {stage} {done:,} of {total:,}, {peak_mb():,.0f} MB"
            print(said, file=sys.stderr, flush=True)

    return tell


def measure_indexing(folder: Path, size: int, embedder: str | None) -> dict[str, float]:
    """Index a folder, again as it is, and again with one file in a hundred changed."""
    files, words = max(1, size // NODES_PER_FILE), Words(seed=1)
    sources = folder / "sources"
    for number in range(files):
        write_module(sources, number, words)
    with ContextStore.open(folder / "store", embedder=embedder) as store:
        first, wall = seconds(lambda: store.add_path(sources, progress=telling()))
        unchanged = min(seconds(lambda: store.add_path(sources))[0] for _ in range(3))
        for number in range(0, files, round(1 / CHANGED)):
            write_module(sources, number, words)
        changed, _ = seconds(lambda: store.add_path(sources, progress=telling()))
        fragments = sum(store.stats().nodes.values())
    kept = [file.stat().st_size for file in (folder / "store").rglob("*") if file.is_file()]
    return {
        "fragments": fragments,
        "first_s": first,
        "first_wall_s": wall,
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

        def assemble(question: str) -> None:
            pipeline.assemble(question, budget=BUDGET)

        for question in asked[:WARM_UP]:
            assemble(question)
        words = [seconds(lambda q=q: text.search(q))[0] for q in asked]
        whole = [seconds(lambda q=q: assemble(q)) for q in asked]
        peak = peak_mb()
        question_mb = bench_sqlite.peak_mb(assemble, asked)
    work, wall = ([1e3 * one for one in times] for times in zip(*whole, strict=True))
    return {
        "words_ms": 1e3 * statistics.median(words),
        "p50_ms": statistics.median(work),
        "p99_ms": statistics.quantiles(work, n=100)[98],
        "wall_p50_ms": statistics.median(wall),
        "wall_p99_ms": statistics.quantiles(wall, n=100)[98],
        "query_mb": peak,
        "question_mb": question_mb,
    }


PHASES = {"index": measure_indexing, "ask": measure_asking}


def measure(size: int, embedder: str | None) -> dict[str, float]:
    """Everything measured at one size, each phase in a process of its own."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for phase in PHASES:
            print(f"{size:,} fragments: {phase}", file=sys.stderr, flush=True)
            command = [sys.executable, __file__, "--phase", phase, folder, str(size)]
            command += ["--embedder", embedder or "none"]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
            found |= json.loads(done.stdout)
    return found


def keep(row: dict[str, float], size: int, file: Path) -> None:
    """Put a row among those that are kept, in place of an older one of its size."""
    rows = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    rows[str(size)] = row
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows, indent=2), encoding="utf-8")


def kept(file: Path) -> list[dict[str, float]]:
    """All rows, by size."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    return sorted(rows.values(), key=lambda row: row["fragments"])


def table(rows: Sequence[dict[str, float]]) -> Iterator[str]:
    """Lines of a table, the last one ratios of the largest size to the smallest."""
    yield f"| {' | '.join(SHOWN.values())} |"
    yield f"|{'---:|' * len(SHOWN)}"
    ratios = [{name: rows[-1][name] / rows[0][name] for name in SHOWN}] if len(rows) > 1 else []
    for row in [*rows, *ratios]:
        cells = [f"{row[name]:,.0f}" if row[name] >= 100 else f"{row[name]:.2f}" for name in SHOWN]
        yield f"| {' | '.join(cells)} |"


def draw(rows: Sequence[dict[str, float]], stem: Path) -> None:
    """How times and room grow with the number of fragments."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (times, room) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    sizes = [row["fragments"] for row in rows]
    for axes, names, unit in (
        (times, TIMES, "milliseconds"),
        (room, dict.fromkeys(ROOM, 1.0), "MB"),
    ):
        for name, factor in names.items():
            label = SHOWN[name].replace("(s)", "").replace("(ms)", "").replace("(MB)", "").strip()
            axes.loglog(sizes, [row[name] * factor for row in rows], marker="o", label=label)
        axes.set(xlabel="fragments", ylabel=unit)
        axes.grid(visible=True, which="both", alpha=0.2)
        axes.legend()
    for suffix in (".png", ".svg"):
        figure.savefig(stem.with_suffix(suffix), dpi=120)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sizes", type=int, nargs="*", default=list(SIZES), help="fragments")
    parser.add_argument("--largest", action="store_true", help=f"and {LARGEST:,}: half an hour")
    parser.add_argument("--embedder", default="auto", help="'none' for a store without vectors")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where rows are kept")
    parser.add_argument("--phase", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, then show every row that is kept."""
    chosen = parsed(arguments)
    embedder = None if chosen.embedder == "none" else chosen.embedder
    if chosen.phase:
        phase, folder, size = chosen.phase
        print(json.dumps(PHASES[phase](Path(folder), int(size), embedder)))
        return
    for size in [*chosen.sizes, *[LARGEST] * chosen.largest]:
        keep(measure(size, embedder), size, chosen.kept)
    rows = kept(chosen.kept)
    print("\n".join(table(rows)), flush=True)
    try:
        draw(rows, chosen.kept)
        print(f"\ndrawn to {chosen.kept.with_suffix('.png')} and .svg")
    except ImportError:
        print("\nnot drawn: matplotlib is not installed")


if __name__ == "__main__":
    main()
