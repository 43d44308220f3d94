"""Phase 1 behind one call: choose strategies, share out the budget, run them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from acms_adapters.models import ContextBudget, ContextFragment, ContextRequest, PlanContext
from acms_adapters.models.fragment import as_fragments
from acms_adapters.pipeline.assembly_round import Question
from acms_adapters.pipeline.coordination import Coordination, Parts, Strategies
from acms_adapters.pipeline.coordinator_config import CoordinationResult, CoordinatorConfig
from acms_adapters.pipeline.rounds import Clock
from acms_adapters.protocols import BackendSet


class StrategyCoordinator:
    """Chooses strategies, shares out the budget and runs them.

    Safe to share between threads; circuit breakers live in this object. What strategies do is
    never raised, only told in the result (ruling S9).

    Args:
        config: How; the defaults when left out.
        clock: Time and waiting.
    """

    def __init__(
        self, config: CoordinatorConfig | None = None, *, clock: Clock | None = None
    ) -> None:
        self.config = CoordinatorConfig.model_validate({} if config is None else config)
        self._parts = Parts.of(self.config, clock)

    def coordinate(
        self,
        request: ContextRequest | Mapping[str, Any] | None,
        strategies: Strategies,
        budget: ContextBudget | int,
        fragments: Iterable[ContextFragment] = (),
        backends: BackendSet | Mapping[str, Any] | None = None,
        plan_context: PlanContext | Mapping[str, Any] | None = None,
        *,
        registered: Strategies = (),
        named: str | None = None,
    ) -> CoordinationResult:
        """Run the strategies that can serve a request; the calling thread waits.

        Args:
            strategies: Those to choose from, of either protocol form.
            fragments: Candidates of the caller's.
            backends: What strategies may ask; None says nothing of it, and each strategy's own
                word counts.
            registered: Strategies that may stand in for others beside those in `strategies`.
            named: The one strategy to run, whatever its confidence.

        Raises:
            TypeError: Something in `strategies` or `registered` is no strategy.
            ValueError: Two strategies of one name, an unknown `named`, or a value out of range.
        """
        coordination = self._begin(
            request, strategies, budget, fragments, backends, plan_context, registered, named
        )
        for round_ in coordination.rounds():
            round_.run()
        return coordination.result()

    async def acoordinate(
        self,
        request: ContextRequest | Mapping[str, Any] | None,
        strategies: Strategies,
        budget: ContextBudget | int,
        fragments: Iterable[ContextFragment] = (),
        backends: BackendSet | Mapping[str, Any] | None = None,
        plan_context: PlanContext | Mapping[str, Any] | None = None,
        *,
        registered: Strategies = (),
        named: str | None = None,
    ) -> CoordinationResult:
        """The same as `coordinate`, without ever blocking the event loop."""
        coordination = self._begin(
            request, strategies, budget, fragments, backends, plan_context, registered, named
        )
        for round_ in coordination.rounds():
            await round_.arun()
        return coordination.result()

    def _begin(
        self,
        request: ContextRequest | Mapping[str, Any] | None,
        strategies: Strategies,
        budget: ContextBudget | int,
        fragments: Iterable[ContextFragment],
        backends: BackendSet | Mapping[str, Any] | None,
        plan_context: PlanContext | Mapping[str, Any] | None,
        registered: Strategies,
        named: str | None,
    ) -> Coordination:
        available = BackendSet.of(backends)
        candidates = as_fragments(fragments)
        if candidates:
            available = available.with_(candidates=candidates)
        return Coordination(
            self._parts,
            Question.of(request, available, plan_context),
            strategies,
            tokens=ContextBudget.of(budget).available_tokens,
            registered=registered,
            named=named,
            backends_known=backends is not None,
        )
