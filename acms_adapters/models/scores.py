"""Relevance and evidence: two views of one number.

Relevance lies in [0, 1]. Evidence is how many standard deviations a raw score of a backend lies
above the mean of its index for this question. The two are tied by a logistic curve,
relevance = 1 / (1 + exp((OFFSET - evidence) / SCALE)), so relevance keeps the order of the raw
scores, means the same whichever backend it came from (ruling M7), and evidence of several
strategies can be added (ruling F11).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

OFFSET = 3.0
SCALE = 2.0
TOP_RANK = 0.8
"""Relevance of the first of hits that come without scores; the n-th has an n-th of it."""

_BOUND = 60.0  # beyond it a double cannot tell the relevance from 0 or 1


def to_relevance(evidence: float) -> float:
    """Relevance in [0, 1] of some evidence; NaN is 0."""
    if math.isnan(evidence):
        return 0.0
    x = max(-_BOUND, min(_BOUND, (evidence - OFFSET) / SCALE))
    return 1.0 / (1.0 + math.exp(-x))


def to_evidence(relevance: float) -> float:
    """Evidence of a relevance in [0, 1]; the inverse of `to_relevance`."""
    if relevance <= 0.0:
        return OFFSET - SCALE * _BOUND
    if relevance >= 1.0:
        return OFFSET + SCALE * _BOUND
    logit = math.log(relevance) - math.log1p(-relevance)
    return OFFSET + SCALE * max(-_BOUND, min(_BOUND, logit))


def calibrate(raw: Sequence[float], *, mean: float, deviation: float) -> list[float]:
    """Map raw scores, higher is better, to relevance by an index's mean and deviation."""
    spread = deviation if deviation > 0.0 and math.isfinite(deviation) else 1.0
    return [to_relevance((score - mean) / spread) for score in raw]


def by_place(count: int) -> list[float]:
    """Relevance of hits of which only the order is known."""
    return [TOP_RANK / (1 + place) for place in range(count)]


def rescale(raw: Sequence[float]) -> list[float]:
    """Map raw scores, higher is better, into [0, 1] keeping their order.

    Scores that all lie in [0, 1] stay as they are; else x becomes (1 + x / (1 + |x|)) / 2. Where
    that would make different scores equal, their ranks take its place. NaN becomes 0.
    """
    clean = [score for score in raw if not math.isnan(score)]
    if not clean:
        return [0.0] * len(raw)
    if min(clean) >= 0.0 and max(clean) <= 1.0:
        return [0.0 if math.isnan(score) else float(score) for score in raw]
    distinct = sorted(set(clean))
    mapped = {score: _squash(score) for score in distinct}
    if len(set(mapped.values())) < len(distinct):
        mapped = {score: rank / len(distinct) for rank, score in enumerate(distinct, 1)}
    return [0.0 if math.isnan(score) else mapped[score] for score in raw]


def _squash(score: float) -> float:
    if math.isinf(score):
        return 1.0 if score > 0 else 0.0
    return 0.5 * (1.0 + score / (1.0 + abs(score)))
