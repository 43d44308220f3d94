"""What happens during one call of the coordinator."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from acms_adapters.errors import UnknownNameError
from acms_adapters.models import StrategyFailure
from acms_adapters.pipeline.assembly_round import AssemblyRound, Question
from acms_adapters.pipeline.budget_allocator import BudgetAllocator, ranked_by_confidence
from acms_adapters.pipeline.coordinator_config import CoordinationResult, CoordinatorConfig
from acms_adapters.pipeline.fallback import FallbackChain
from acms_adapters.pipeline.polling import PollingRound
from acms_adapters.pipeline.rounds import Clock, Round
from acms_adapters.pipeline.spec_adapter import SpecStrategyAdapter, missing_backends
from acms_adapters.pipeline.strategy_executor import StrategyExecutor
from acms_adapters.pipeline.strategy_selector import (
    StrategySelector,
    described,
    log_unknown_hints,
    unavailable,
)
from acms_adapters.protocols import ContextStrategy

logger = logging.getLogger(__name__)

Strategies = Iterable[Any] | Mapping[str, Any]
Candidates = list[tuple[ContextStrategy, float]]

_POLLING_SHARE = 0.25  # of the time: a strategy that hangs while polled must leave the others some


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The components that all calls of a coordinator share."""

    config: CoordinatorConfig
    selector: StrategySelector
    allocator: BudgetAllocator
    executor: StrategyExecutor

    @classmethod
    def of(cls, config: CoordinatorConfig, clock: Clock | None) -> Self:
        """Build them as configured."""
        return cls(
            config=config,
            selector=StrategySelector(
                config.selector_threshold, config.max_candidates, config.preference_boost
            ),
            allocator=BudgetAllocator(
                config.allocator_strategy, config.min_useful_budget, config.per_strategy_max_cap
            ),
            executor=StrategyExecutor(
                config.executor_max_workers,
                config.executor_timeout,
                config.circuit_breaker_threshold,
                config.circuit_breaker_reset_timeout,
                max_fragments=config.max_fragments,
                deadline_seconds=config.deadline_seconds,
                limits=config.limits,
                reserve=config.reserve,
                clock=clock,
            ),
        )


class Coordination:
    """One call: `rounds` are to be run one after the other, then there is a `result`."""

    def __init__(
        self,
        parts: Parts,
        question: Question,
        strategies: Strategies,
        *,
        tokens: int,
        registered: Strategies,
        named: str | None,
        backends_known: bool,
    ) -> None:
        self._parts = parts
        self._question = question
        self._tokens = tokens
        self._named = named
        self._backends_known = backends_known
        self._started = parts.executor.clock.monotonic()
        self._failures: list[StrategyFailure] = []
        self._strategies = _by_name(strategies, self._failures)
        self._everyone = {**_by_name(registered, []), **self._strategies}
        if named is not None and named not in self._everyone:
            raise UnknownNameError("strategy", named, self._everyone)
        self._chain = FallbackChain(
            parts.config.fallback_chain,
            registered=self._everyone,
            usable=lambda strategy: self._obstacle(strategy) is None,
        )
        self._allocations: list[tuple[str, float, int]] = []
        self._assembly: AssemblyRound | None = None

    def rounds(self) -> Iterator[Round[Any]]:
        """Rounds, each built from what the one before it found."""
        if self._named is None:
            polling = self._polling()
            yield polling
            candidates = self._selected(polling)
        else:
            candidates = self._only(self._everyone[self._named])
        self._assembly = self._assembling(candidates)
        yield self._assembly

    def result(self) -> CoordinationResult:
        """What came of it; call it after the last round."""
        assert self._assembly is not None
        results = self._assembly.results()
        failures = [*self._failures, *(result.failure for result in results if result.failure)]
        refused = {failure.strategy for failure in failures if failure.kind == "circuit_open"}
        return CoordinationResult(
            fragments=[fragment for result in results for fragment in result.fragments],
            strategies_used=[result.strategy_name for result in results if not result.failure],
            allocations=self._allocations,
            circuit_broken=[
                name
                for name in self._everyone
                if name in refused or self._parts.executor.breaker(name).refuses
            ],
            results=tuple(results),
            failures=tuple(failures),
            reserve=tuple(fragment for result in results for fragment in result.reserve),
            left_out=tuple(self._assembly.left_out),
        )

    def _polling(self) -> PollingRound:
        request, executor = self._question.request, self._parts.executor
        log_unknown_hints(request, self._everyone, asked=self._strategies)
        hints = request.strategy_hints or ()
        asked = []
        for name, strategy in self._strategies.items():
            if not self._is_switched_off(name):
                asked.append(strategy)
            elif name in hints:
                self._failures.append(_switched_off(name))
        deadline = executor.deadline((strategy.name for strategy in asked), started=self._started)
        polling = PollingRound(
            self._question,
            check_backends=self._backends_known,
            **executor.guards(self._started + _POLLING_SHARE * (deadline - self._started)),
        )
        for strategy in asked:
            own = executor.options(strategy.name).timeout_seconds
            polling.enlist(strategy, timeout=_POLLING_SHARE * own)
        return polling

    def _selected(self, polling: PollingRound) -> Candidates:
        """Those that can serve, those that stand in for failed ones, or else the default."""
        candidates = self._parts.selector.rank(polling.confidences, self._question.request)
        self._failures.extend(sorted(polling.failures, key=lambda failure: failure.strategy))
        for strategy, _ in candidates:
            self._chain.enter(strategy.name)
        for failure in self._failures:
            self._chain.drop(failure.strategy)
        for failure in self._failures:
            candidates.extend(self._in_place_of(failure.strategy))
        return ranked_by_confidence(candidates or self._default())

    def _only(self, strategy: ContextStrategy) -> Candidates:
        obstacle = self._obstacle(strategy)
        if obstacle is None:
            self._chain.enter(strategy.name)
            return [_by_quality(strategy)]
        self._failures.append(obstacle)
        return self._in_place_of(strategy.name)

    def _default(self) -> Candidates:
        name = self._parts.config.default_strategy
        strategy = None if name is None else self._everyone.get(name)
        failed = {failure.strategy for failure in self._failures}
        if name is None or name in failed:
            return []
        obstacle = None if strategy is None else self._obstacle(strategy)
        if strategy is not None and obstacle is None:
            self._chain.enter(name)
            return [_by_quality(strategy)]
        stand_ins = self._in_place_of(name)
        if obstacle is not None and not stand_ins:
            self._failures.append(obstacle)  # nothing runs at all, and this is why
        return stand_ins

    def _in_place_of(self, name: str) -> Candidates:
        stand_in = self._chain.stand_in(name)
        return [] if stand_in is None else [_by_quality(stand_in)]

    def _assembling(self, candidates: Candidates) -> AssemblyRound:
        parts = self._parts
        shares = parts.allocator.shares([value for _, value in candidates], self._tokens)
        for strategy, _ in candidates[len(shares) :]:
            logger.info("%s would get too small a share of the budget", strategy.name)
            self._chain.leave(strategy.name)
        paid = list(zip(candidates, shares, strict=False))
        self._allocations = [(chosen.name, value, share) for (chosen, value), share in paid]
        return parts.executor.round(
            [(chosen, share) for (chosen, _), share in paid],
            self._question,
            deadline=parts.executor.deadline(
                (chosen.name for (chosen, _), _ in paid), started=self._started
            ),
            stand_in=self._chain.stand_in,
        )

    def _obstacle(self, strategy: ContextStrategy) -> StrategyFailure | None:
        """Why a strategy cannot be run at all."""
        if self._is_switched_off(strategy.name):
            return _switched_off(strategy.name)
        missing = missing_backends(strategy, self._question.backends)
        return unavailable(strategy.name, missing) if missing else None

    def _is_switched_off(self, name: str) -> bool:
        options = self._parts.config.limits.get(name)
        return options is not None and not options.enabled


def _by_name(strategies: Strategies, failures: list[StrategyFailure]) -> dict[str, ContextStrategy]:
    """Strategies in the native form; those that fail when looked at go to `failures`."""
    values = strategies.values() if isinstance(strategies, Mapping) else strategies
    named: dict[str, ContextStrategy] = {}
    origins: dict[str, Any] = {}
    for value in values:
        try:
            strategy = SpecStrategyAdapter.bridge(value)
        except TypeError:
            raise
        except Exception as error:
            failures.append(
                StrategyFailure(
                    strategy=type(value).__name__, kind="error", message=described(error)
                )
            )
            continue
        if origins.setdefault(strategy.name, value) is not value:
            raise ValueError(f"two strategies are called {strategy.name!r}; names must be unique")
        named[strategy.name] = strategy
    return named


def _by_quality(strategy: ContextStrategy) -> tuple[ContextStrategy, float]:
    return strategy, strategy.capabilities.quality_score


def _switched_off(name: str) -> StrategyFailure:
    return StrategyFailure(strategy=name, kind="unavailable", message="it is switched off")
