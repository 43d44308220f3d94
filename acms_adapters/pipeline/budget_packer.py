"""Choosing what fits into a budget (rulings F3, F4, F6, F9, S4, S6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acms_adapters.models import TIERS, ContextBudget, ContextFragment, Layout, LedgerEntry, Tier
from acms_adapters.pipeline.departures import Departures
from acms_adapters.pipeline.filling import Filling
from acms_adapters.pipeline.packing_rules import (
    DEPTH_FALLBACK_STEPS,
    MIN_FRAGMENT_TOKENS,
    PackingRules,
)
from acms_adapters.pipeline.pricing import Pricing
from acms_adapters.pipeline.ranking import Scored, packing_order
from acms_adapters.pipeline.renderings import Alternatives, LowerRenderings
from acms_adapters.protocols import RenderingSource

_CREDIBLE = 16
"""Characters a token at most, over a whole text; declared counts below that are not believed."""


@dataclass(frozen=True, slots=True)
class Packing:
    """What fits.

    Attributes:
        kept: In packing order.
        departures: Every other candidate, and why it was left out.
        rendered_tokens: Tokens of the text that will be read; declared ones without a counter.
        drawn: Alternatives (by `id`) that were admitted in place of a candidate; each is in `kept`
            or `departures`.
    """

    kept: tuple[ContextFragment, ...]
    departures: Departures = field(default_factory=Departures)
    rendered_tokens: int = 0
    drawn: frozenset[int] = frozenset()

    @property
    def left_out(self) -> tuple[LedgerEntry, ...]:
        """An entry for each departure, made anew each time."""
        return tuple(self.departures.entries())


class BudgetPacker:
    """Chooses fragments greedily, best first; what does not fit is passed over.

    Args:
        tier_priority: Tiers in the order in which they are served; None for the score alone.
        tier_budget: Most tokens of a tier; a tier that is not named has no bound.
        depth_fallback_steps: Depths tried for a fragment that does not fit.
        min_fragment_tokens: Tokens below which such a rendering is not worth reading.
        max_fragments: Most fragments.
        renderings: Where lower renderings come from.
        counter: Counts the text that is read, as anything that `token_counter` reads; None to go
            by declared counts.
        layout: What that text is.
    """

    def __init__(
        self,
        *,
        tier_priority: Sequence[Tier] | None = TIERS,
        tier_budget: Mapping[Tier, int] | None = None,
        depth_fallback_steps: Sequence[int] = DEPTH_FALLBACK_STEPS,
        min_fragment_tokens: int = MIN_FRAGMENT_TOKENS,
        max_fragments: int | None = None,
        renderings: RenderingSource | None = None,
        counter: Any = None,
        layout: Layout = "payload",
    ) -> None:
        self._rules = PackingRules(
            tier_priority=None if tier_priority is None else tuple(tier_priority),
            tier_budget=dict(tier_budget or {}),
            depth_fallback_steps=tuple(depth_fallback_steps),
            min_fragment_tokens=min_fragment_tokens,
            max_fragments=max_fragments,
        )
        self._renderings = renderings
        self._pricing = Pricing(counter, layout=layout)

    def pack(
        self, scored_fragments: Iterable[Scored], budget: ContextBudget | int
    ) -> list[ContextFragment]:
        """Those that fit, in packing order, whatever the order of the input.

        Raises:
            ValueError: A score that is no finite number.
        """
        scored = tuple(scored_fragments)
        for _, score in scored:
            if not math.isfinite(score):
                raise ValueError(f"a score must be a finite number, not {score!r}")
        packing = pack(
            tuple(fragment for fragment, _ in scored),
            [score for _, score in scored],
            ContextBudget.of(budget).available_tokens,
            rules=self._rules,
            pricing=self._pricing,
            renderings=self._renderings,
        )
        return list(packing.kept)


def pack(
    fragments: Sequence[ContextFragment],
    scores: Sequence[float],
    available: int,
    *,
    rules: PackingRules | None = None,
    pricing: Pricing | None = None,
    alternatives: Alternatives | None = None,
    renderings: RenderingSource | None = None,
) -> Packing:
    """Choose greedily, in packing order (ruling F3).

    Declared counts decide what is tried; then the finished text is counted as one string. Only
    when it turns out too long, every text that would be admitted is counted by itself, and if the
    joins alone make it too long, what was admitted last gives way. Where joins make it so much
    shorter that another candidate might fit, the packing is tried once more with what they save.

    Args:
        fragments: Candidates, one for each node at a location.
        scores: Their scores.
        available: Tokens there are.
        rules: What binds beside them.
        pricing: What fragments cost; left out, their declared tokens.
        alternatives: Fragments by place that gave way to a deeper one.
        renderings: Where other lower renderings come from.
    """
    rules = rules or PackingRules()
    pricing = pricing or Pricing()
    order = packing_order(fragments, scores, tier_priority=rules.tier_priority)
    lower = LowerRenderings(
        steps=rules.depth_fallback_steps,
        min_tokens=rules.min_fragment_tokens,
        alternatives=alternatives,
        source=renderings,
        count=pricing.count,
    )

    def fill(prices: Pricing, room: int) -> Filling:
        filling = Filling(fragments, order, room, rules=rules, pricing=prices, lower=lower)
        filling.fill()
        return filling

    if not pricing.counts:
        filling = fill(pricing, available)
        return _packing(filling, pricing.rendered(filling.kept))
    return _counted(fill, pricing, available)


def _counted(fill: Callable[[Pricing, int], Filling], pricing: Pricing, available: int) -> Packing:
    filling = fill(pricing, available)
    rendered = pricing.rendered(filling.kept) if _is_credible(filling, available) else None
    if rendered is None or rendered > available:
        pricing = pricing.verifying()
        filling = fill(pricing, available)
        rendered = pricing.rendered(filling.kept)
    while rendered > available and filling.kept:
        filling.drop_weakest(over=rendered - available)
        rendered = pricing.rendered(filling.kept)
    if filling.least_missing <= (saved := filling.spent - rendered):
        fuller = fill(pricing, available + saved)
        tokens = pricing.rendered(fuller.kept)
        if max(tokens, sum(f.token_count for f in fuller.kept)) <= available:
            return _packing(fuller, tokens)
    return _packing(filling, rendered)


def _is_credible(filling: Filling, available: int) -> bool:
    """Whether the text is worth counting as a whole, or too long for the budget at first sight."""
    return sum(len(fragment.content) for fragment in filling.kept) <= _CREDIBLE * max(available, 1)


def _packing(filling: Filling, rendered: int) -> Packing:
    return Packing(filling.kept, filling.departures, rendered, frozenset(filling.drawn))
