"""Time of `FusionEngine.fuse` beside the work nobody can avoid: sorting and hashing the texts."""

import gc
import hashlib
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from acms_adapters.models import ContextBudget, ContextFragment, FragmentProvenance
from acms_adapters.pipeline import FusionEngine

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
    """Best of several runs."""
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def unavoidable(found: list[ContextFragment]) -> list[str]:
    """Sort by relevance and hash every text."""
    ranked = sorted(found, key=lambda fragment: fragment.relevance_score, reverse=True)
    return [hashlib.sha256(fragment.content.encode()).hexdigest() for fragment in ranked]


def rows() -> Iterator[dict[str, Any]]:
    """One row for each size and kind of input."""
    engine = FusionEngine()
    for kind, options in (("one node each", {}), ("shared nodes", {"shared_nodes": True})):
        for size in SIZES:
            found = fragments(size, **options)
            repeats = 3 if size > 10_000 else 7
            for budget in (BUDGET, size * TOKENS):
                limit = ContextBudget(max_tokens=budget)
                floor = seconds(lambda found=found: unavoidable(found), repeats=repeats)
                fused = seconds(
                    lambda found=found, limit=limit: engine.fuse(found, limit), repeats=repeats
                )
                yield {
                    "input": kind,
                    "fragments": size,
                    "budget": "4,096 tokens" if budget == BUDGET else "all fit",
                    "sort_and_hash_ms": floor * 1e3,
                    "fuse_ms": fused * 1e3,
                    "ratio": fused / floor,
                }


def main() -> None:
    """Print the rows as a table."""
    print("| input | fragments | budget | sort + SHA-256 (ms) | fuse (ms) | ratio |")
    print("|---|---:|---|---:|---:|---:|")
    for row in rows():
        print(
            f"| {row['input']} | {row['fragments']:,} | {row['budget']} "
            f"| {row['sort_and_hash_ms']:.3f} | {row['fuse_ms']:.3f} | {row['ratio']:.2f} |"
        )


if __name__ == "__main__":
    main()
