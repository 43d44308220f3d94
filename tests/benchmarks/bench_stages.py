"""Where the time of one assembly goes, by stage, as an index grows; cold, warm and with memory.

Usage: python tests/benchmarks/bench_stages.py [SIZE…], 1,000, 10,000 and 100,000 by default.

The fragments and the embedder are those of `bench_retriever`. Each size runs in a process of its
own: the first question is cold, the others give the warm medians. They are asked for a child plan
that inherits what the first one brought, so that there is a skeleton to make. Time is that of the
processor, of all threads; a stage inside another one counts for itself alone. The memory of a
question is the most that Python took for it at once.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))

from bench_retriever import BUDGET, WordVectors, fragments, questions

from acms_adapters import ACMSPipeline, ContextRequest, ContextStore
from acms_adapters.models import ContextPayload
from acms_adapters.pipeline import finish, fusion
from acms_adapters.pipeline.coordinator import StrategyCoordinator

SIZES = (1_000, 10_000, 100_000)
ASKED = 21
WORK: dict[str, tuple[tuple[Any, str], ...]] = {
    "strategies": ((StrategyCoordinator, "coordinate"),),
    "dedup": ((fusion, "deduplicate"),),
    "depth": ((fusion, "resolve_depths"),),
    "score": ((fusion, "score"),),
    "pack": ((fusion, "pack"),),
    "order": ((fusion, "put_in_order"),),
    "skeleton": ((finish, "inherit"),),
    "preamble": ((finish.Finisher, "_with_preamble"),),
    "guard": ((fusion, "guard_overage"), (finish.Finisher, "_guarded")),
    "all the rest": ((ACMSPipeline, "assemble"),),
}


class Stopwatch:
    """Adds up the time of each stage, without that of stages inside it."""

    def __init__(self) -> None:
        self.ms: defaultdict[str, float] = defaultdict(float)
        self._inside: list[float] = [0.0]

    def timed(self, stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same work, measured."""

        @wraps(work)
        def measured(*args: Any, **options: Any) -> Any:
            started = time.process_time()
            self._inside.append(0.0)
            try:
                return work(*args, **options)
            finally:
                took = time.process_time() - started
                self.ms[stage] += (took - self._inside.pop()) * 1000.0
                self._inside[-1] += took

        return measured


def asked(
    pipeline: ACMSPipeline, request: ContextRequest
) -> tuple[ContextPayload, dict[str, float]]:
    """A payload, and the milliseconds that each stage took."""
    watch = Stopwatch()
    with ExitStack() as patches:
        for stage, places in WORK.items():
            for owner, name in places:
                work = watch.timed(stage, getattr(owner, name))
                patches.enter_context(patch.object(owner, name, work))
        payload = pipeline.assemble(request, budget=BUDGET)
    return payload, {stage: watch.ms[stage] for stage in WORK}


def measure(size: int) -> dict[str, Any]:
    """Milliseconds of each stage, cold and warm, and megabytes."""
    store = ContextStore.in_memory(embedder=WordVectors())
    store.add_documents(islice(fragments(), size))
    pipeline = store.pipeline()
    first, *others = (ContextRequest(query=text) for text in questions()[:ASKED])
    parent, cold = asked(pipeline, first)
    children = [request.model_copy(update={"parent_context": parent}) for request in others]
    warm = [asked(pipeline, request)[1] for request in children]
    tracemalloc.start()
    pipeline.assemble(children[0], budget=BUDGET)
    return {
        "cold": cold,
        "warm": {stage: statistics.median(ms[stage] for ms in warm) for stage in WORK},
        "asking_mb": tracemalloc.get_traced_memory()[1] / 1024.0**2,
        "process_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
    }


def table(size: int, measured: dict[str, Any]) -> Iterator[str]:
    """Lines to print."""
    yield f"| {size:,} fragments | cold ms | share | warm ms | share |"
    yield "|---|---:|---:|---:|---:|"
    cold, warm = measured["cold"], measured["warm"]
    all_cold, all_warm = sum(cold.values()), sum(warm.values())
    for stage in WORK:
        first, later = cold[stage], warm[stage]
        yield (
            f"| {stage} | {first:.2f} | {first / all_cold:.0%} "
            f"| {later:.2f} | {later / all_warm:.0%} |"
        )
    yield f"| together | {all_cold:.1f} | | {all_warm:.1f} | |"
    asking, process = measured["asking_mb"], measured["process_mb"]
    yield f"\nMemory: {asking:.1f} MB for a question, {process:,.0f} MB for the process\n"


def main() -> None:
    """Measure every size in its own process."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(int(sys.argv[2]))))
        return
    for size in [int(size) for size in sys.argv[1:]] or SIZES:
        command = [sys.executable, __file__, "--one", str(size)]
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        print("\n".join(table(size, json.loads(ran.stdout.splitlines()[-1]))), flush=True)


if __name__ == "__main__":
    main()
