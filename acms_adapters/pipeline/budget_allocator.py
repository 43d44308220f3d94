"""How many tokens each selected strategy gets (ruling S6)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, get_args

from acms_adapters.errors import UnknownNameError
from acms_adapters.models import TIERS, ContextBudget, ContextRequest, Tier
from acms_adapters.pipeline.bounds import whole
from acms_adapters.protocols import ContextStrategy

AllocationStrategy = Literal["proportional", "equal", "priority", "tier"]

TIER_SHARES: Mapping[Tier, int] = {"hot": 1000, "warm": 2000, "cold": 584}
"""28, 56 and 16 %, as the proportion those percentages were rounded from."""


class BudgetAllocator:
    """Distributes tokens among strategies; whole numbers, never more than there are.

    Args:
        strategy: ``proportional`` to the confidences; ``equal``; ``priority``, half of what is
            left for one after the other, best first; ``tier``, proportional as well, while the
            pipeline's packer keeps `tier_quotas`.
        min_budget: Smallest useful share. While the smallest share is below it, that strategy
            goes and the shares are computed anew; the last one stays whatever it gets.
        max_cap: Largest share. What lies above it goes to the strategies below it; None for none.

    Raises:
        ValueError: An unknown `strategy`, a negative `min_budget`, a `max_cap` below it.
    """

    def __init__(
        self,
        strategy: AllocationStrategy = "proportional",
        min_budget: int = 100,
        max_cap: int | None = None,
    ) -> None:
        self.min_budget = whole(min_budget, "min_budget")
        if max_cap is not None and (type(max_cap) is not int or max_cap < max(1, min_budget)):
            raise ValueError(
                f"max_cap must be at least min_budget ({min_budget}) and 1, not {max_cap!r}"
            )
        self.strategy = _known(strategy)
        self.max_cap = max_cap

    def allocate(
        self,
        candidates: Iterable[tuple[ContextStrategy, float]],
        total_budget: int | ContextBudget,
        request: ContextRequest | Mapping[str, Any] | None = None,
        strategy: AllocationStrategy | None = None,
    ) -> dict[ContextStrategy, int]:
        """Tokens for each strategy that gets any, highest confidence first, then by name.

        Args:
            total_budget: Tokens there are, 0 or more.
            request: Its `budget`, where set, is an upper bound as well.
            strategy: Another way to distribute, for this call.

        Raises:
            ValueError: A negative budget, or a confidence that is no finite number >= 0.
        """
        ranked = ranked_by_confidence(candidates)
        total = _tokens(total_budget)
        asked = ContextRequest.of(request).budget
        if asked is not None:
            total = min(total, asked.available_tokens)
        way = self.strategy if strategy is None else _known(strategy)
        shares = self.shares([weight for _, weight in ranked], total, strategy=way)
        return {chosen: share for (chosen, _), share in zip(ranked, shares, strict=False)}

    def shares(
        self,
        confidences: Sequence[float],
        total: int,
        *,
        strategy: AllocationStrategy | None = None,
    ) -> list[int]:
        """Shares of the first candidates; those beyond the length of the result get none.

        Args:
            confidences: Descending.
        """
        way = strategy or self.strategy
        if way == "priority":
            return self._halve(len(confidences), total)
        weights = [Fraction(repr(float(value))) for value in confidences]
        if way == "equal" or not any(weights):
            weights = [Fraction(1)] * len(weights)
        while len(weights) > 1 and split(total, weights, cap=self.max_cap)[-1] < self.min_budget:
            weights.pop()
        return split(total, weights, cap=self.max_cap)

    def _halve(self, count: int, total: int) -> list[int]:
        shares: list[int] = []
        left = total
        while len(shares) < count:
            share = left // 2 if self.max_cap is None else min(left // 2, self.max_cap)
            if shares and share < self.min_budget:
                break  # those behind would get no more
            shares.append(share)
            left -= share
        return shares


def split(total: int, weights: Sequence[Fraction], *, cap: int | None = None) -> list[int]:
    """Split `total` by weight with the largest-remainder method, exactly.

    A share above `cap` is cut to it, and what it loses is split among the others, until none is
    above. Equal remainders go in order. The shares add up to `total` unless every one is capped.
    """
    capped: set[int] = set()
    while True:
        free = [index for index in range(len(weights)) if index not in capped]
        whole = sum((weights[index] for index in free), Fraction(0))
        rest = total - len(capped) * (cap or 0)
        above = [] if cap is None else [i for i in free if rest * weights[i] > cap * whole]
        if not above:
            break
        capped.update(above)
    shares = [cap or 0] * len(weights)
    if not free:
        return shares
    exact = {i: rest * weights[i] / whole if whole else Fraction(0) for i in free}
    for index, amount in exact.items():
        shares[index] = math.floor(amount)
    lost = rest - sum(shares[index] for index in free) if whole else 0
    by_remainder = sorted(free, key=lambda index: shares[index] - exact[index])
    for index in by_remainder[:lost]:
        shares[index] += 1
    return shares


def tier_quotas(total: int, shares: Mapping[Tier, float] = TIER_SHARES) -> dict[Tier, int]:
    """Tokens for each tier; the quotas add up to `total`.

    Args:
        total: Tokens there are, 0 or more.
        shares: Weight of each tier; a tier left out gets nothing.

    Raises:
        ValueError: A negative total, an unknown tier, weights that are not >= 0 or all 0.
    """
    for tier, share in shares.items():
        if tier not in TIERS:
            raise UnknownNameError("tier", str(tier), TIERS)
        _checked(share, f"the share of the {tier} tier")
    if not any(shares.values()):
        raise ValueError(f"the shares of the tiers must not all be 0: {dict(shares)!r}")
    weights = [Fraction(repr(float(shares.get(tier, 0.0)))) for tier in TIERS]
    return dict(zip(TIERS, split(_tokens(total), weights), strict=True))


def ranked_by_confidence(
    candidates: Iterable[tuple[ContextStrategy, float]],
) -> list[tuple[ContextStrategy, float]]:
    """Candidates by confidence, highest first, then by name."""
    checked = [
        (strategy, _checked(confidence, "a confidence")) for strategy, confidence in candidates
    ]
    return sorted(checked, key=lambda pair: (-pair[1], pair[0].name))


def _checked(value: float, what: str) -> float:
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError(f"{what} must be a finite number >= 0, not {value!r}")
    return value


def _tokens(total: Any) -> int:
    if isinstance(total, ContextBudget):
        return total.available_tokens
    return whole(total, "a total budget")


def _known(strategy: AllocationStrategy) -> AllocationStrategy:
    if strategy not in get_args(AllocationStrategy):
        raise UnknownNameError("allocation strategy", str(strategy), get_args(AllocationStrategy))
    return strategy
