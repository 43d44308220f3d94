"""From cosines to relevance, by a sample of the index (ruling M7).

Relevance says how many deviations a cosine lies above the mean of the index for this question.
Mean and deviation are taken over at most 256 nodes, those whose ids hash lowest: the same ones in
every store that holds the same nodes, whatever the order they came in.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from acms_adapters.backends.vectors.records import Vector, cosines_of
from acms_adapters.models.scores import calibrate, rescale

SAMPLE_SIZE = 256
SMALLEST_SAMPLE = 8
"""Below it a mean says little, and cosines are mapped as they are."""

_NO_DEVIATION = 1e-6  # float32 noise between equal vectors


def choose_sample(nodes: Iterable[str]) -> tuple[str, ...]:
    """The nodes to take statistics over."""
    return tuple(heapq.nsmallest(SAMPLE_SIZE, nodes, key=lambda node: (_place(node), node)))


def _place(node: str) -> bytes:
    return blake2b(node.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def relevance(cosines: Sequence[float], query: Vector, *, sample: Vector) -> list[float]:
    """Relevance in [0, 1], in the order of the cosines.

    Args:
        cosines: Of the hits.
        query: Of length 1.
        sample: Rows of length 1.
    """
    if len(sample) < SMALLEST_SAMPLE:
        return rescale(cosines)
    spread = cosines_of(sample, query)
    deviation = float(spread.std())
    return calibrate(
        cosines,
        mean=float(spread.mean()),
        deviation=deviation if deviation > _NO_DEVIATION else 0.0,
    )
