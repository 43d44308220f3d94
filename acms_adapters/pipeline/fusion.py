"""The second phase: from what strategies found to what fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    Layout,
    PlanContext,
)
from acms_adapters.models.fragment import as_fragments, detached
from acms_adapters.pipeline.agreement import agree
from acms_adapters.pipeline.budget_packer import Packing, pack
from acms_adapters.pipeline.detail_depth_resolver import Resolution, resolve_depths
from acms_adapters.pipeline.eligibility import readable, relevant
from acms_adapters.pipeline.fragment_deduplicator import Deduplication, deduplicate
from acms_adapters.pipeline.fragment_orderer import OrderStrategy
from acms_adapters.pipeline.fragment_orderer import order as put_in_order
from acms_adapters.pipeline.fragment_scorer import read_plan, score
from acms_adapters.pipeline.fusion_config import FusionConfig, FusionResult
from acms_adapters.pipeline.outcome import Outcome
from acms_adapters.pipeline.overage_guard import guard_overage
from acms_adapters.pipeline.pricing import Arrange, Pricing
from acms_adapters.pipeline.ranking import Place, place
from acms_adapters.protocols import RenderingSource

__all__ = ["FusionConfig", "FusionEngine", "FusionResult"]

Fragments = tuple[ContextFragment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """What one call works with."""

    available: int
    room: int
    request: ContextRequest | None
    plan: PlanContext | None
    renderings: RenderingSource | None
    pricing: Pricing
    arrange: Arrange
    max_fragments: int | None
    now: datetime | None
    ratings: Mapping[str, Mapping[str, float]]


class FusionEngine:
    """Deduplicates, resolves depths, scores, packs and orders; holds no state.

    Args:
        config: How; None for the defaults.
    """

    def __init__(self, config: FusionConfig | None = None) -> None:
        self.config = FusionConfig.model_validate({} if config is None else config)

    def fuse(
        self,
        fragments: Iterable[ContextFragment],
        budget: ContextBudget | int,
        *,
        reserve: Iterable[ContextFragment] = (),
        request: ContextRequest | Mapping[str, Any] | None = None,
        plan_context: PlanContext | Mapping[str, Any] | None = None,
        renderings: RenderingSource | None = None,
        counter: Any = None,
        layout: Layout = "payload",
        preamble_tokens: int = 0,
        max_fragments: int | None = None,
        order: OrderStrategy | None = None,
        previous: Sequence[ContextFragment] = (),
        now: datetime | None = None,
        ratings: Mapping[str, Mapping[str, float]] | None = None,
    ) -> FusionResult:
        """Choose what is read.

        Args:
            fragments: Candidates, in any order; they are not changed.
            budget: Tokens; the result never takes more than are available.
            reserve: Candidates beyond the strategies' shares (ruling S3), treated alike.
            request: What was asked for; without one the deepest rendering of each node stays.
            plan_context: The plan it is for; left out, that of the request.
            renderings: Where other depths of a node come from.
            counter: Counts the text that is read; anything that `token_counter` reads;
                without one, declared counts are the measure.
            layout: What that text is.
            preamble_tokens: Tokens of it that are kept for a preamble.
            max_fragments: Most fragments.
            order: Reading order; None takes the configuration's.
            previous: Fragments of the previous payload, for the order `cache-stable`.
            now: No fragment counts as newer than this; age is measured from the request's `as_of`
                or from the newest fragment, never from a clock.
            ratings: What strategies would have said of nodes they did not deliver; see `agree`.

        Raises:
            ValueError: A value is outside its range.
        """
        pool = (*as_fragments(fragments), *as_fragments(reserve, "reserve"))
        arrange = self._arrangement(pool, order, as_fragments(previous, "previous"))
        available = ContextBudget.of(budget).available_tokens
        if preamble_tokens < 0:
            raise ValueError(f"preamble_tokens is at least 0, not {preamble_tokens!r}")
        call = _Call(
            available=available,
            room=available - preamble_tokens,
            request=None if request is None else ContextRequest.of(request),
            plan=read_plan(plan_context),
            renderings=renderings,
            pricing=Pricing(counter, layout=layout, arrange=arrange),
            arrange=arrange,
            max_fragments=max_fragments,
            now=now,
            ratings=ratings or {},
        )
        return self._fuse(pool, call)

    def _fuse(self, pool: Fragments, call: _Call) -> FusionResult:
        config = self.config
        legible, unique, above = self._candidates(pool, call)
        resolution = resolve_depths(
            above.kept,
            config.depth_rules,
            available=call.available,
            request=call.request,
            renderings=call.renderings,
            count=call.pricing.count,
        )
        packing = self._pack(resolution, call)
        superseded = Outcome((), resolution.left_out_but(packing.drawn))
        guarded = self._guard(packing, call)
        total = sum(fragment.token_count for fragment in guarded.kept)
        return FusionResult(
            fragments=[detached(fragment) for fragment in guarded.kept],
            dedup_count=len(unique.duplicates),
            depth_resolved_count=len(resolution.superseded),
            dropped_by_overage_guard=len(guarded.left_out),
            total_tokens=total,
            budget_utilization=total / call.available,
            rendered_tokens=(
                call.pricing.rendered(guarded.kept) if guarded.left_out else packing.rendered_tokens
            ),
            steps=(legible, unique, above, superseded, packing, guarded),
        )

    def _candidates(self, pool: Fragments, call: _Call) -> tuple[Outcome, Deduplication, Outcome]:
        config = self.config
        asked = call.request or ContextRequest()
        tiers = config.exclude_tiers if asked.exclude_tiers is None else asked.exclude_tiers
        bound = config.min_relevance if asked.min_relevance is None else asked.min_relevance
        legible = readable(pool, exclude_tiers=tiers)
        unique = deduplicate(
            legible.kept,
            config.dedup_strategy,
            merge_provenance=config.merge_provenance,
        )
        rated = unique.kept
        if config.evidence_weights is not None:
            rated = agree(rated, config.evidence_weights, among=legible.kept, ratings=call.ratings)
        return legible, unique, relevant(rated, min_relevance=bound)

    def _pack(self, resolution: Resolution, call: _Call) -> Packing:
        scores = score(
            resolution.kept,
            self.config.scorer_weights,
            plan_context=call.plan,
            request=call.request,
            now=call.now,
        )
        return pack(
            resolution.kept,
            scores,
            call.room,
            rules=self.config.packing_rules(call.max_fragments),
            pricing=call.pricing,
            alternatives=resolution.alternatives,
            renderings=call.renderings,
        )

    def _guard(self, packing: Packing, call: _Call) -> Outcome:
        ordered = tuple(call.arrange(packing.kept))
        if not self.config.overage_guard_enabled:
            return Outcome(ordered)
        return guard_overage(
            ordered, call.room, pricing=call.pricing, rendered_tokens=packing.rendered_tokens
        )

    def _arrangement(
        self,
        pool: Fragments,
        order: OrderStrategy | None,
        previous: Sequence[ContextFragment],
    ) -> Arrange:
        chosen = order or self.config.order
        if chosen is None:
            return tuple
        if chosen == "as-given":
            positions: dict[Place, int] = {}
            for position, fragment in enumerate(pool):
                positions.setdefault(place(fragment), position)
            return lambda kept: sorted(kept, key=lambda f: positions[place(f)])
        key = self.config.order_key
        return lambda kept: put_in_order(kept, chosen, key=key, previous=previous)
