"""From found fragments to a payload: fuse, inherit, preamble, guard."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    ContextRequest,
    Ledger,
    LedgerEntry,
    LeftOut,
    StrategyFailure,
    StrategyResult,
)
from acms_adapters.models.base import changed
from acms_adapters.models.layout import SEPARATOR, render
from acms_adapters.models.payload import payload_metrics
from acms_adapters.pipeline.budget_allocator import tier_quotas
from acms_adapters.pipeline.fusion import FusionEngine, FusionResult
from acms_adapters.pipeline.inheritance import Inheritance, inherit
from acms_adapters.pipeline.lenient import lenient
from acms_adapters.pipeline.overage_guard import guard_overage
from acms_adapters.pipeline.preamble_generator import PreambleGenerator
from acms_adapters.pipeline.pricing import Pricing
from acms_adapters.pipeline.refresh import Freshness
from acms_adapters.pipeline.report import log_results
from acms_adapters.pipeline.request_filter import inside
from acms_adapters.pipeline.run import Run
from acms_adapters.pipeline.skeleton_compressor import SkeletonCompressor
from acms_adapters.pipeline.workers import Workers
from acms_adapters.protocols import TokenCounter

_JOIN = 2  # tokens that a blank line between two texts may cost or save


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the first phase brought.

    Attributes:
        fragments: Within the strategies' shares.
        reserve: Beyond them.
        left_out: Candidates that were already left out.
        results: One for each strategy that ran.
        failures: Strategies that did not answer.
        degraded: No strategy answered.
    """

    fragments: tuple[ContextFragment, ...] = ()
    reserve: tuple[ContextFragment, ...] = ()
    left_out: tuple[LedgerEntry, ...] = ()
    results: tuple[StrategyResult, ...] = ()
    failures: tuple[StrategyFailure, ...] = ()
    degraded: bool = False

    def inside(self, request: ContextRequest) -> Found:
        """The same without what lies outside the request's filters."""
        fragments, reserve = inside(self.fragments, request), inside(self.reserve, request)
        return replace(
            self,
            fragments=fragments.kept,
            reserve=reserve.kept,
            left_out=(*self.left_out, *fragments.left_out, *reserve.left_out),
        )

    def beside(self, carried: Freshness | None) -> Found:
        """The same with what was read before."""
        if carried is None:
            return self
        return replace(
            self,
            fragments=(*carried.current, *self.fragments),
            left_out=(*carried.gone, *self.left_out),
        )


class Finisher:
    """The second and third phase, for one configuration.

    Args:
        engine: Fuses fragments.
        preamble: Summarises what was chosen.
        compressor: Makes skeletons of a parent's context.
        project_ratio: Fraction of a parent's context to remove, where no plan says.
        shares_by_tier: Bound each tier by its share of the budget (`tier_quotas`), unless the
            engine's configuration has bounds of its own.
    """

    def __init__(
        self,
        engine: FusionEngine,
        preamble: PreambleGenerator,
        compressor: SkeletonCompressor,
        *,
        project_ratio: float | None = None,
        shares_by_tier: bool = False,
    ) -> None:
        self._engine = engine
        self._preamble = preamble
        self._compressor = compressor
        self._project_ratio = project_ratio
        self._shares_by_tier = shares_by_tier and engine.config.tier_budget is None
        self._workers = Workers()

    def finish(self, run: Run, found: Found) -> ContextPayload:
        """Make the payload; its rendered text is within the budget."""
        log_results(found.results, run.budget.available_tokens)
        found_in = run.candidates
        asked = found_in.backends.with_(renderings=found_in.renderings)
        backends = lenient(asked, self._workers)
        run = replace(run, candidates=replace(found_in, backends=backends))
        found = replace(
            found,
            fragments=_counted(found.fragments, run.counter),
            reserve=_counted(found.reserve, run.counter),
        )
        inherited = self._inherit(run, ())
        if inherited.strategy != "none":
            join = max(_JOIN, run.counter.count(SEPARATOR)) if inherited.fragments else 0
            spent = inherited.rendered_tokens + join
            fused = self._fuse(run, found, _less(run.budget, spent))
            inherited = self._inherit(run, fused.fragments, limit=inherited.rendered_tokens)
        else:
            fused = self._fuse(run, found, run.budget)
        payload = self._payload(run, found, fused, inherited)
        return _measured(run, self._with_preamble(run, _guarded(run, payload, found)), found)

    def _inherit(
        self, run: Run, fetched: Sequence[ContextFragment], limit: int | None = None
    ) -> Inheritance:
        return inherit(
            run.request,
            run.budget,
            fetched=fetched,
            limit=limit,
            project_ratio=self._project_ratio,
            backends=run.candidates.backends,
            layout=run.options.layout,
            compressor=self._compressor,
        )

    def _fuse(self, run: Run, found: Found, budget: ContextBudget) -> FusionResult:
        engine = self._engine
        if self._shares_by_tier:
            quotas = {"tier_budget": tier_quotas(budget.available_tokens)}
            engine = FusionEngine(engine.config.model_copy(update=quotas))
        return engine.fuse(
            found.fragments,
            budget,
            reserve=found.reserve,
            request=run.request,
            plan_context=run.call.plan_context,
            renderings=run.candidates.backends.renderings,
            counter=run.counter,
            layout=run.options.layout,
            max_fragments=run.options.max_fragments,
            now=run.now,
            ratings=memo.ratings() if (memo := run.candidates.backends.memo) else None,
            order=run.options.order,
            previous=run.options.previous.fragments if run.options.previous else (),
        )

    def _payload(
        self, run: Run, found: Found, fused: FusionResult, inherited: Inheritance
    ) -> ContextPayload:
        fragments = (*fused.fragments, *inherited.fragments)
        return ContextPayload(
            fragments=fragments,
            plan_id=run.call.plan_context.plan_id,
            budget=run.budget,
            layout=run.options.layout,
            strategies_used=_contributors(fragments, found.results),
            rendered_tokens=run.counter.count(render(fragments, layout=run.options.layout)),
            ledger=_each_once(
                (*found.left_out, *fused.ledger.entries, *inherited.left_out), read=fragments
            ),
            failures=found.failures,
            strategy_stats={r.strategy_name: r.stats for r in found.results if r.stats},
            degraded=found.degraded,
            skeleton_ids=tuple(f.fragment_id for f in inherited.fragments),
            skeleton_metadata=inherited.metadata,
            assembled_at=run.assembled_at,
            tokenizer=asked if isinstance(asked := run.request.tokenizer, str) else None,
        )

    def _with_preamble(self, run: Run, payload: ContextPayload) -> ContextPayload:
        """Add as many lines of the preamble as there is room for; fragments come first (S4)."""
        if payload.layout == "bare":
            return payload
        text = self._preamble.generate(payload)
        room = payload.available_tokens - payload.rendered_tokens + _JOIN
        while text:
            # the whole text is counted only where its parts may fit: that is most of the work here
            if run.counter.count(text) <= room:
                tokens = run.counter.count(render(payload.fragments, preamble=text))
                if tokens <= payload.available_tokens:
                    return _remade(payload, preamble=text, rendered_tokens=tokens)
            text = text.rpartition("\n")[0]
        return payload


def _guarded(run: Run, payload: ContextPayload, found: Found) -> ContextPayload:
    if payload.is_within_budget:
        return payload
    outcome = guard_overage(
        payload.fragments,
        payload.available_tokens,
        pricing=Pricing(run.counter, layout=payload.layout),
    )
    kept = {fragment.fragment_id for fragment in outcome.kept}
    return _remade(
        payload,
        fragments=outcome.kept,
        strategies_used=_contributors(outcome.kept, found.results),
        skeleton_ids=tuple(i for i in payload.skeleton_ids if i in kept),
        ledger=Ledger(entries=(*payload.ledger.entries, *outcome.left_out)),
        rendered_tokens=run.counter.count(render(outcome.kept, layout=payload.layout)),
    )


def _measured(run: Run, payload: ContextPayload, found: Found) -> ContextPayload:
    answered = sum(result.failure is None for result in found.results)
    metrics = payload_metrics(
        payload,
        duplicates=payload.ledger.by_reason().get(LeftOut.DUPLICATE, 0),
        assembly_time_ms=(time.perf_counter() - run.started) * 1000.0,
        strategy_success_rate=answered / len(found.results) if found.results else 0.0,
    )
    return payload.model_copy(update={"metrics": metrics})


def _counted(
    fragments: Sequence[ContextFragment], counter: TokenCounter
) -> tuple[ContextFragment, ...]:
    """The fragments with real counts where nobody declared any: an estimate is no declaration."""
    return tuple(
        fragment
        if "token_count" in fragment.model_fields_set
        else changed(fragment, token_count=counter.count(fragment.content))
        for fragment in fragments
    )


def _each_once(entries: Iterable[LedgerEntry], *, read: Sequence[ContextFragment]) -> Ledger:
    """Account for each candidate once, however many strategies found it (ruling F7)."""
    done = {fragment.fragment_id for fragment in read}
    once: dict[str, LedgerEntry] = {}
    for entry in entries:
        if entry.fragment_id not in done and entry.other != entry.fragment_id:
            once.setdefault(entry.fragment_id, entry)
    return Ledger(entries=tuple(once.values()))


def _less(budget: ContextBudget, tokens: int) -> ContextBudget:
    left = max(1, budget.available_tokens - tokens)
    return ContextBudget(max_tokens=budget.max_tokens, reserved_tokens=budget.max_tokens - left)


def _remade(payload: ContextPayload, **changes: Any) -> ContextPayload:
    """The payload with some parts replaced and everything that follows from them derived anew."""
    derived = {"total_tokens", "budget_used", "context_hash", "provenance_map", "metrics"}
    parts = {
        name: getattr(payload, name) for name in type(payload).model_fields if name not in derived
    }
    return ContextPayload(**{**parts, **changes})


def _contributors(
    fragments: Sequence[ContextFragment], results: Sequence[StrategyResult]
) -> tuple[str, ...]:
    named = {
        source.strategy
        for fragment in fragments
        for source in (fragment.provenance, *fragment.provenance.merged)
    }
    return tuple(r.strategy_name for r in results if r.strategy_name in named)
