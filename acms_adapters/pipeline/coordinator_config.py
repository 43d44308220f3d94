"""What the coordinator is told, and what it answers with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Self

from pydantic import Field, model_validator

from acms_adapters.config.schema import FALLBACK_CHAIN
from acms_adapters.models import (
    ContextFragment,
    LedgerEntry,
    StrategyFailure,
    StrategyOptions,
    StrategyResult,
)
from acms_adapters.models.base import FrozenModel
from acms_adapters.models.options import Fraction, Number, Seconds, Whole
from acms_adapters.pipeline.budget_allocator import AllocationStrategy

Count = Annotated[Whole, Field(ge=1)]


class CoordinatorConfig(FrozenModel):
    """How strategies are chosen, paid and run.

    Attributes:
        min_useful_budget: Smallest useful share in tokens, 0 or more (ruling S6).
        executor_timeout: Seconds for one strategy that has no timeout of its own in `limits`.
        executor_max_workers: Threads of one call at the same time.
        circuit_breaker_threshold: Failures in a row after which a strategy is left alone.
        preference_boost: Factor for the confidence of preferred strategies, 1 or more.
        per_strategy_max_cap: Largest share in tokens; None for none.
        selector_threshold: Lowest confidence to be selected, 0 to 1.
        max_candidates: Most strategies to select.
        allocator_strategy: How shares are computed; see `BudgetAllocator`.
        circuit_breaker_reset_timeout: Seconds until a strategy that was left alone is tried.
        deadline_seconds: Seconds for one call as a whole; None takes the largest timeout of the
            strategies that were selected (ruling S7).
        fallback_chain: Names of the strategies that stand in for others, best first.
        default_strategy: Name of the one that runs when no other qualifies; None for none.
        reserve: Keep what strategies ranked beyond their shares for the packer (ruling S3).
        max_fragments: Most fragments of a strategy that has no number of its own in `limits`.
        limits: Options of strategies by name. What one leaves at the default that all strategies
            share is taken from here.
    """

    min_useful_budget: Annotated[Whole, Field(ge=0)] = 64
    executor_timeout: Seconds = 30.0
    executor_max_workers: Count = 4
    circuit_breaker_threshold: Count = 3
    preference_boost: Annotated[Number, Field(ge=1.0)] = 1.5
    per_strategy_max_cap: Count | None = None
    selector_threshold: Fraction = 0.0
    max_candidates: Count = 10
    allocator_strategy: AllocationStrategy = "proportional"
    circuit_breaker_reset_timeout: Annotated[Number, Field(ge=0.0)] = 60.0
    deadline_seconds: Seconds | None = None
    fallback_chain: tuple[str, ...] = FALLBACK_CHAIN
    default_strategy: str | None = "arce"
    reserve: bool = True
    max_fragments: Count = 100
    limits: dict[str, StrategyOptions] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _cap_is_useful(self) -> Self:
        cap = self.per_strategy_max_cap
        if cap is not None and cap < self.min_useful_budget:
            raise ValueError(
                f"per_strategy_max_cap must be at least min_useful_budget "
                f"({self.min_useful_budget}), not {cap!r}"
            )
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinationResult:
    """What strategies found, and how it went.

    Attributes:
        fragments: Within the strategies' shares: strategy after strategy, best first in each.
        strategies_used: Those that answered, in the order of their results.
        allocations: Name, confidence and tokens of each strategy that was given a share.
        circuit_broken: Those that are left alone because they failed too often in a row.
        results: One for each strategy that was run, stand-ins last.
        failures: Everything that did not answer, and why.
        reserve: What was ranked beyond the shares.
        left_out: What strategies delivered and nobody can use.
    """

    fragments: list[ContextFragment] = field(default_factory=list)
    strategies_used: list[str] = field(default_factory=list)
    allocations: list[tuple[str, float, int]] = field(default_factory=list)
    circuit_broken: list[str] = field(default_factory=list)
    results: tuple[StrategyResult, ...] = ()
    failures: tuple[StrategyFailure, ...] = ()
    reserve: tuple[ContextFragment, ...] = ()
    left_out: tuple[LedgerEntry, ...] = ()
