"""Time to compress, fuse and coordinate, beside sorting and hashing, and how it grows with size.

    python tests/benchmarks/bench_components.py [--quick]

`growth` is the time divided by that of a tenth of the fragments; in proportion would be 10. Tokens
are estimated, so that it is not the tokenizer that is measured.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from bench_fusion import BUDGET, SIZES, fragments, repeats_of, seconds, unavoidable

from acms_adapters.models import ContextFragment, ContextRequest, StrategyCapabilities
from acms_adapters.pipeline import FusionEngine, SkeletonCompressorService, StrategyCoordinator
from acms_adapters.pipeline.skeleton_compressor import SkeletonCompressor
from acms_adapters.protocols import BackendSet
from acms_adapters.tokens import token_counter

QUICK = SIZES[:3]
KEPT = 0.7


class Everything:
    """A strategy that finds every candidate."""

    name = "everything"
    capabilities = StrategyCapabilities()

    def can_handle(self, request: ContextRequest, backends: BackendSet) -> float:
        """Always."""
        return 1.0

    def assemble(
        self, request: ContextRequest, backends: BackendSet, *_: Any
    ) -> Iterable[ContextFragment]:
        """All of them."""
        return backends.candidates or ()


def works(found: list[ContextFragment]) -> dict[str, Callable[[], Any]]:
    """What is measured, by its name."""
    total = sum(fragment.token_count for fragment in found)
    coordinator, strategies = StrategyCoordinator(), [Everything()]
    return {
        "compress by a ratio": partial(SkeletonCompressorService().compress, found),
        "compress to tokens": partial(
            SkeletonCompressor().fit,
            found,
            int(total * KEPT),
            backends=BackendSet(counter=token_counter("estimate")),
        ),
        "fuse": partial(FusionEngine().fuse, found, BUDGET),
        "fuse, all fit": partial(FusionEngine().fuse, found, total),
        "coordinate": partial(coordinator.coordinate, {"query": "x"}, strategies, BUDGET, found),
    }


def rows(sizes: Sequence[int] = SIZES) -> Iterator[dict[str, Any]]:
    """One row for each size and work; all times of a size from one run."""
    before: dict[str, float] = {}
    for size in sizes:
        found = fragments(size)
        repeats = repeats_of(size)
        floor = seconds(partial(unavoidable, found), repeats=repeats)
        for name, work in works(found).items():
            # counting every text takes long, and hardly varies
            took = seconds(work, repeats=1 if name == "compress to tokens" else repeats)
            yield {
                "work": name,
                "fragments": size,
                "ms": took * 1e3,
                "ratio": took / floor,
                "growth": took / before[name] if name in before else None,
            }
            before[name] = took


def main() -> None:
    """Print the rows as a table."""
    print("| work | fragments | ms | x sort + SHA-256 | growth |\n|---|---:|---:|---:|---:|")
    for row in rows(QUICK if "--quick" in sys.argv else SIZES):
        growth = "" if row["growth"] is None else f"{row['growth']:.1f}"
        print(
            f"| {row['work']} | {row['fragments']:,} | {row['ms']:.3f} | {row['ratio']:.2f} "
            f"| {growth} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
