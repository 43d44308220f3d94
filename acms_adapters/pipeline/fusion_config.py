"""Configuration and result of the fusion engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Protocol, Self

from pydantic import Field, model_validator

from acms_adapters.models import ContextFragment, Ledger, LedgerEntry, Tier
from acms_adapters.models.base import FrozenModel
from acms_adapters.models.fragment import Depth, Score
from acms_adapters.models.options import TierTokens
from acms_adapters.pipeline.detail_depth_resolver import (
    CONTAINER_SHARE,
    DEFAULT_DEPTH,
    HOT_TIER_BOOST,
    DepthRules,
)
from acms_adapters.pipeline.fragment_deduplicator import DedupStrategy
from acms_adapters.pipeline.fragment_orderer import OrderKey, OrderStrategy
from acms_adapters.pipeline.fragment_scorer import ScorerWeights, Weight
from acms_adapters.pipeline.packing_rules import (
    DEPTH_FALLBACK_STEPS,
    MIN_FRAGMENT_TOKENS,
    PackingRules,
)
from acms_adapters.pipeline.ranking import check_tiers

Tokens = Annotated[int, Field(ge=0)]


class FusionConfig(FrozenModel):
    """How fragments are fused.

    Attributes:
        scorer_weights: Weights of the score; None for relevance alone.
        depth_fallback_steps: Depths tried for a fragment that does not fit, in this order.
        min_fragment_tokens: Tokens below which such a rendering is not worth reading.
        fallback_last: Whether lower renderings wait until all that fits whole was admitted.
        overage_guard_enabled: Whether the result is checked against the budget once more.
        tier_priority: Tiers in the order in which they are served; None for the score alone.
        tier_budget: Most tokens of a tier, as ``hot`` or ``hot_tier``; None for no bounds.
        dedup_strategy: Which of several duplicates stays.
        merge_provenance: Whether it remembers where the others came from.
        default_depth: Depth wanted where a request names none and the budget is not looked at.
        hot_tier_boost: Added to a wanted depth for the hot tier.
        budget_aware: Whether the budget decides between renderings of a node.
        container_share: Part of the budget that the full text of a node may take when it was
            found by its outline.
        evidence_weights: Weight of each strategy's evidence where several found a node (ruling
            F11); None lets the highest relevance stand.
        order: Reading order; None for the packing order.
        order_key: Sort key of the order `custom`.
        min_relevance: Fragments below it are left out, unless a request says otherwise.
        exclude_tiers: Tiers that are left out, unless a request says otherwise.
    """

    scorer_weights: ScorerWeights | None = None
    depth_fallback_steps: tuple[Depth, ...] = DEPTH_FALLBACK_STEPS
    min_fragment_tokens: Tokens = MIN_FRAGMENT_TOKENS
    fallback_last: bool = False
    overage_guard_enabled: bool = True
    tier_priority: tuple[Tier, ...] | None = None
    tier_budget: TierTokens | None = None
    dedup_strategy: DedupStrategy = "highest_relevance"
    merge_provenance: bool = True
    default_depth: Depth = DEFAULT_DEPTH
    hot_tier_boost: Depth = HOT_TIER_BOOST
    budget_aware: bool = True
    container_share: Score = CONTAINER_SHARE
    evidence_weights: dict[str, Weight] | None = None
    order: OrderStrategy | None = None
    order_key: OrderKey | None = None
    min_relevance: Score | None = None
    exclude_tiers: tuple[Tier, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_tiers(self.tier_priority or (), "tier_priority")
        check_tiers(self.exclude_tiers, "exclude_tiers")
        if self.order == "custom" and self.order_key is None:
            raise ValueError("the order 'custom' needs an order_key")
        return self

    @property
    def depth_rules(self) -> DepthRules:
        """What of this concerns depths."""
        return DepthRules(
            default_depth=self.default_depth,
            hot_tier_boost=self.hot_tier_boost,
            budget_aware=self.budget_aware,
            container_share=self.container_share,
        )

    def packing_rules(self, max_fragments: int | None = None) -> PackingRules:
        """What of this concerns packing."""
        return PackingRules(
            tier_priority=self.tier_priority,
            tier_budget=self.tier_budget or {},
            depth_fallback_steps=self.depth_fallback_steps,
            min_fragment_tokens=self.min_fragment_tokens,
            max_fragments=max_fragments,
            fallback_last=self.fallback_last,
        )


class Step(Protocol):
    """Something that left candidates out."""

    @property
    def left_out(self) -> tuple[LedgerEntry, ...]:
        """An entry for each."""
        ...


@dataclass(frozen=True, kw_only=True)
class FusionResult:
    """What is left of the candidates.

    Attributes:
        fragments: What fits, in reading order; copies that share nothing with the candidates.
        dedup_count: Candidates that were duplicates.
        depth_resolved_count: Candidates that gave way to another depth of their node.
        dropped_by_overage_guard: Fragments that the final check dropped.
        total_tokens: Sum of the fragments' declared tokens.
        budget_utilization: `total_tokens` / available tokens.
        rendered_tokens: Tokens of the text that will be read, without a preamble, counted as one
            string; without a counter, `total_tokens`.
        steps: The steps that left candidates out, in their order.
    """

    fragments: list[ContextFragment]
    dedup_count: int
    depth_resolved_count: int
    dropped_by_overage_guard: int
    total_tokens: int
    budget_utilization: float
    rendered_tokens: int
    steps: tuple[Step, ...] = field(default=(), repr=False)

    @cached_property
    def ledger(self) -> Ledger:
        """Every candidate that is not in `fragments`, once, with the reason."""
        # written up when it is asked for: with many candidates that takes as long as all the rest
        return Ledger(entries=tuple(entry for step in self.steps for entry in step.left_out))
