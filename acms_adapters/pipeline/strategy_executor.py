"""Running the selected strategies beside each other (rulings S3, S7, S8 and S11)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from typing import Any

from acms_adapters.models import (
    ContextRequest,
    PlanContext,
    StrategyOptions,
    StrategyResult,
)
from acms_adapters.pipeline.assembly_round import AssemblyRound, Question, StandIn
from acms_adapters.pipeline.bounds import whole
from acms_adapters.pipeline.circuit_breaker import CircuitBreaker
from acms_adapters.pipeline.rounds import Clock
from acms_adapters.pipeline.spec_adapter import SpecStrategyAdapter
from acms_adapters.pipeline.workers import Workers
from acms_adapters.protocols import BackendSet, ContextStrategy

_OWN_OPTIONS = ("timeout_seconds", "max_fragments", "circuit_breaker_threshold")


class StrategyExecutor:
    """Runs strategies in parallel, each within its time, all within one deadline.

    Never raises for what a strategy does, but for an interrupt. Circuit breakers live in this
    object; it is safe to share between threads.

    Args:
        max_workers: Threads of one call at the same time, at least 1. Strategies with a coroutine
            method `aassemble` need none in `aexecute`.
        timeout_seconds: Seconds for a strategy, from its own start.
        circuit_breaker_threshold: Failures in a row after which a strategy is left alone.
        circuit_breaker_reset_timeout: Seconds until one that was left alone is tried again.
        max_fragments: Most fragments that are taken from a strategy.
        deadline_seconds: Seconds for all; None takes the largest timeout among the strategies.
        limits: Options of strategies by name. What one leaves at the default that all strategies
            share is taken from the arguments above.
        reserve: Keep what strategies ranked beyond their shares.
        clock: Time and waiting.

    Raises:
        ValueError: A value outside its range.
    """

    def __init__(
        self,
        max_workers: int = 4,
        timeout_seconds: float = 30.0,
        circuit_breaker_threshold: int = 3,
        circuit_breaker_reset_timeout: float = 60.0,
        *,
        max_fragments: int = 100,
        deadline_seconds: float | None = None,
        limits: Mapping[str, StrategyOptions] | None = None,
        reserve: bool = True,
        clock: Clock | None = None,
    ) -> None:
        if deadline_seconds is not None and not (
            math.isfinite(deadline_seconds) and deadline_seconds > 0.0
        ):
            raise ValueError(f"deadline_seconds must be seconds > 0, not {deadline_seconds!r}")
        self.clock = clock or Clock()
        self._max_workers = whole(max_workers, "max_workers", least=1)
        self._workers = Workers()
        self._deadline_seconds = deadline_seconds
        self._reserve = reserve
        self._defaults = StrategyOptions(
            timeout_seconds=timeout_seconds,
            max_fragments=max_fragments,
            circuit_breaker_threshold=circuit_breaker_threshold,
        )
        self._options = {
            name: self._defaults.model_copy(update=own_options(options))
            for name, options in (limits or {}).items()
        }
        self._reset_timeout = circuit_breaker_reset_timeout
        self._breakers: dict[str, CircuitBreaker] = {}
        self.breaker("")  # refuses a reset timeout outside its range now rather than later

    def execute(
        self,
        allocations: Mapping[ContextStrategy, int],
        request: ContextRequest | Mapping[str, Any] | None,
        backends: BackendSet | Mapping[str, Any] | None,
        plan_context: PlanContext | Mapping[str, Any] | None = None,
    ) -> list[StrategyResult]:
        """Run strategies with their shares; the calling thread waits.

        Args:
            allocations: Tokens of each strategy, of either protocol form.

        Returns:
            One result for each strategy, in their order; failures are results too.
        """
        round_ = self._round(allocations, request, backends, plan_context)
        round_.run()
        return round_.results()

    async def aexecute(
        self,
        allocations: Mapping[ContextStrategy, int],
        request: ContextRequest | Mapping[str, Any] | None,
        backends: BackendSet | Mapping[str, Any] | None,
        plan_context: PlanContext | Mapping[str, Any] | None = None,
    ) -> list[StrategyResult]:
        """The same as `execute`, without ever blocking the event loop."""
        round_ = self._round(allocations, request, backends, plan_context)
        await round_.arun()
        return round_.results()

    def options(self, name: str) -> StrategyOptions:
        """What holds for a strategy."""
        return self._options.get(name, self._defaults)

    def breaker(self, name: str) -> CircuitBreaker:
        """The circuit breaker of a strategy."""
        breaker = self._breakers.get(name)
        if breaker is None:
            fresh = CircuitBreaker(
                self.options(name).circuit_breaker_threshold,
                self._reset_timeout,
                clock=self.clock.monotonic,
            )
            breaker = self._breakers.setdefault(name, fresh)
        return breaker

    def guards(self, deadline: float) -> dict[str, Any]:
        """What a round of strategies needs of this executor."""
        return {
            "breaker": self.breaker,
            "workers": self._workers,
            "at_once": self._max_workers,
            "deadline": deadline,
            "clock": self.clock,
        }

    def deadline(self, names: Iterable[str], *, started: float) -> float:
        """When strategies that were started together must be done."""
        seconds = self._deadline_seconds
        if seconds is None:
            timeouts = [self.options(name).timeout_seconds for name in names]
            seconds = max(timeouts, default=self._defaults.timeout_seconds)
        return started + seconds

    def round(
        self,
        shares: Iterable[tuple[ContextStrategy, int]],
        question: Question,
        *,
        deadline: float,
        stand_in: StandIn | None = None,
    ) -> AssemblyRound:
        """A round of native strategies that waits to be run."""
        round_ = AssemblyRound(
            question,
            options=self.options,
            reserve=self._reserve,
            stand_in=stand_in,
            **self.guards(deadline),
        )
        for strategy, tokens in shares:
            round_.enlist(strategy, tokens)
        return round_

    def _round(
        self,
        allocations: Mapping[ContextStrategy, int],
        request: ContextRequest | Mapping[str, Any] | None,
        backends: BackendSet | Mapping[str, Any] | None,
        plan_context: PlanContext | Mapping[str, Any] | None,
    ) -> AssemblyRound:
        shares = [(SpecStrategyAdapter.bridge(s), tokens) for s, tokens in allocations.items()]
        names = [strategy.name for strategy, _ in shares]
        question = Question.of(request, backends, plan_context)
        deadline = self.deadline(names, started=self.clock.monotonic())
        return self.round(shares, question, deadline=deadline)


def own_options(options: StrategyOptions) -> dict[str, Any]:
    """Those options that were set, or that its class has a default of its own for."""
    own = set(options.model_fields_set)
    for cls in type(options).__mro__:
        if cls is StrategyOptions:
            break
        own.update(inspect.get_annotations(cls))
    return {name: getattr(options, name) for name in _OWN_OPTIONS if name in own}
