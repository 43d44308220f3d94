"""Time of `FusionEngine.fuse` beside the work nobody can avoid: sorting and hashing the texts.

python tests/benchmarks/bench_fusion.py [--quick]
"""

import gc
import hashlib
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from acms_adapters.models import ContextFragment, FragmentProvenance
from acms_adapters.pipeline import FusionEngine, FusionResult

SIZES = (10, 100, 1_000, 10_000, 100_000)
CHARACTERS = 1_000
TOKENS = 250
BUDGET = 4_096


def fragments(count: int, *, shared_nodes: bool = False, seed: int = 7) -> list[ContextFragment]:
    """Fragments of 1,000 characters; with shared nodes, ten locations to a node."""
    chance = random.Random(seed)
    words = [f"{chance.getrandbits(28):07x}" for _ in range(2_000)]
    made = []
    for number in range(count):
        text = " ".join(chance.choices(words, k=CHARACTERS // 8))
        node = f"project://bench/{number // 10 if shared_nodes else number}.md"
        made.append(
            ContextFragment(
                uko_node=node,
                content=f"{number:07d} {text}"[:CHARACTERS],
                token_count=TOKENS,
                relevance_score=chance.random(),
                provenance=FragmentProvenance(resource_uri=node, location=f"part {number % 10}"),
            )
        )
    return made


def seconds(work: Callable[[], Any], *, repeats: int) -> float:
    """Processor time of the best of several runs, which other programs disturb least."""
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def unavoidable(found: list[ContextFragment]) -> list[str]:
    """Sort by relevance and hash every text."""
    ranked = sorted(found, key=lambda fragment: fragment.relevance_score, reverse=True)
    return [hashlib.sha256(fragment.content.encode()).hexdigest() for fragment in ranked]


def rows(sizes: Sequence[int] = SIZES) -> Iterator[dict[str, Any]]:
    """One row for each kind of input, size and budget; all times of a row from one run."""
    engine = FusionEngine()
    for shared in (False, True):
        for size in sizes:
            found = fragments(size, shared_nodes=shared)
            repeats = 3 if size > 10_000 else 7
            floor = seconds(partial(unavoidable, found), repeats=repeats)
            for budget in (BUDGET, size * TOKENS):
                fuse = partial(engine.fuse, found, budget)
                fused = seconds(fuse, repeats=repeats)
                written = seconds(partial(ledger, fuse), repeats=repeats)
                yield {
                    "input": "ten parts a node" if shared else "one node each",
                    "fragments": size,
                    "budget": f"{BUDGET:,} tokens" if budget == BUDGET else "all fit",
                    "sort_and_hash_ms": floor * 1e3,
                    "fuse_ms": fused * 1e3,
                    "ratio": fused / floor,
                    "ratio_with_ledger": written / floor,
                }


def ledger(fuse: Callable[[], FusionResult]) -> int:
    """Fuse and write up what was left out."""
    return len(fuse().ledger)


def main() -> None:
    """Print the rows as a table."""
    print(
        "| input | fragments | budget | sort + SHA-256 (ms) | fuse (ms) | ratio | with ledger |\n"
        "|---|---:|---|---:|---:|---:|---:|"
    )
    for row in rows(SIZES[:3] if "--quick" in sys.argv else SIZES):
        print(
            f"| {row['input']} | {row['fragments']:,} | {row['budget']} "
            f"| {row['sort_and_hash_ms']:.3f} | {row['fuse_ms']:.3f} "
            f"| {row['ratio']:.2f} | {row['ratio_with_ledger']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
