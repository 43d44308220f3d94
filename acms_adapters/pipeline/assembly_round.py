"""Running strategies beside each other, with stand-ins for those that fail."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from acms_adapters.errors import StrategyError
from acms_adapters.models import (
    TIERS,
    ContextBudget,
    ContextRequest,
    LedgerEntry,
    PlanContext,
    StrategyFailure,
    StrategyOptions,
    StrategyResult,
)
from acms_adapters.pipeline.delivery import Delivery, late, receive
from acms_adapters.pipeline.guarded_round import GuardedRound, StrategyJob
from acms_adapters.pipeline.rounds import Ending
from acms_adapters.pipeline.strategy_selector import poll
from acms_adapters.protocols import BackendSet, ContextStrategy, RequestMemo

logger = logging.getLogger(__name__)

Around = Callable[[str, Callable[[], Any]], Any]

AROUND_STRATEGY: ContextVar[Around | None] = ContextVar("acms_around_strategy", default=None)
"""Set by an adapter to a function that is called with a strategy's name and a function that runs
it, where it runs: on its own thread, or on the event loop. It returns what that function returned.
For a coroutine the function starts a task and returns it; the task sees the context variables that
were set around it (ruling S11)."""

StandIn = Callable[[str], ContextStrategy | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What every strategy of a round is asked.

    Attributes:
        request: What is asked for.
        backends: What may be asked.
        plan_context: The plan it is for.
    """

    request: ContextRequest
    backends: BackendSet
    plan_context: PlanContext

    @classmethod
    def of(
        cls,
        request: ContextRequest | Mapping[str, Any] | None,
        backends: BackendSet | Mapping[str, Any] | None,
        plan_context: PlanContext | Mapping[str, Any] | None,
    ) -> Question:
        """Read the parts in any of their forms; a plan left out is the request's."""
        asked = ContextRequest.of(request)
        if plan_context is None:
            plan_context = asked.plan_context or PlanContext(plan_id=asked.plan_id)
        plan = PlanContext.of(plan_context)
        return cls(request=asked, backends=BackendSet.of(backends), plan_context=plan)


@dataclass(eq=False, kw_only=True)
class AssemblyJob(StrategyJob):
    """A strategy to be run, or a stand-in to be polled first.

    Attributes:
        tokens: Its share.
        max_fragments: Most fragments that are taken from it.
        memo: Its view of what the strategies of the request share.
    """

    tokens: int
    max_fragments: int
    memo: RequestMemo | None = None


class AssemblyRound(GuardedRound[AssemblyJob]):
    """Collects what strategies deliver.

    Args:
        question: What they are asked.
        options: Gives the options of a strategy by its name.
        reserve: Keep what lies beyond the shares.
        stand_in: Told the name of each strategy that cannot serve, gives the one to try in its
            place and for its share.
        guards: See `GuardedRound`.

    Attributes:
        left_out: What was delivered and is not used.
    """

    def __init__(
        self,
        question: Question,
        *,
        options: Callable[[str], StrategyOptions],
        reserve: bool,
        stand_in: StandIn | None = None,
        **guards: Any,
    ) -> None:
        super().__init__(**guards)
        self.left_out: list[LedgerEntry] = []
        self._question = question
        self._options = options
        self._reserve = reserve
        self._stand_in = stand_in
        self._around = AROUND_STRATEGY.get()
        self._wanted: list[str] = []
        self._results: dict[str, StrategyResult] = {}

    def enlist(self, strategy: ContextStrategy, tokens: int) -> None:
        """Give a strategy its share; with no tokens it is not run."""
        self._wanted.append(strategy.name)
        self._add(strategy, tokens, polled=False)

    def results(self) -> list[StrategyResult]:
        """Results in the order of `enlist`, then those of stand-ins by name."""
        stand_ins = sorted(self._results.keys() - set(self._wanted))
        return [
            self._results[name] for name in (*self._wanted, *stand_ins) if name in self._results
        ]

    def answered(self, job: AssemblyJob, ending: Ending) -> None:
        """Keep a delivery; run a stand-in that says it can serve."""
        if job.polled:
            if ending.value > 0.0:
                self._add(job.strategy, job.tokens, polled=False)
            else:
                self._replace(job)
            return
        delivery: Delivery = ending.value
        self.left_out.extend(delivery.left_out)
        self._results[job.name] = _result(job, delivery, ending.seconds)

    def failed(self, job: AssemblyJob, failure: StrategyFailure, seconds: float) -> None:
        """Note the failure and try a stand-in."""
        logger.warning("strategy failed: %s", failure)
        self._results[job.name] = StrategyResult(
            strategy_name=job.name,
            execution_time_ms=max(0.0, seconds) * 1000.0,
            errors=(str(failure),),
            failure=failure,
        )
        self._replace(job)

    def late(self, job: AssemblyJob, ending: Ending) -> None:
        """Account for a delivery that came after its time."""
        logger.info("%s answered too late, after %.3f s", job.name, ending.seconds)
        if isinstance(ending.value, Delivery):
            self.left_out.extend(late(ending.value, job.name))

    def _replace(self, job: AssemblyJob) -> None:
        if self._stand_in is None or self.over:
            return
        stand_in = self._stand_in(job.name)
        if stand_in is not None:
            logger.info("%s stands in for %s", stand_in.name, job.name)
            self._add(stand_in, job.tokens, polled=True)

    def _add(self, strategy: ContextStrategy, tokens: int, *, polled: bool) -> None:
        if tokens < 1:
            self._results[strategy.name] = StrategyResult(strategy_name=strategy.name)
            return
        options = self._options(strategy.name)
        job = AssemblyJob(
            name=strategy.name,
            timeout=options.timeout_seconds,
            strategy=strategy,
            polled=polled,
            tokens=tokens,
            max_fragments=options.max_fragments,
        )
        if polled:
            job.work = partial(poll, strategy, self._question.request, self._question.backends)
        else:
            job.work = self._wrapped(job, partial(self._assemble, job))
            if inspect.iscoroutinefunction(getattr(strategy, "aassemble", None)):
                job.task = self._wrapped(job, partial(self._begin_task, job))
        self.add(job)

    def _wrapped(self, job: AssemblyJob, run: Callable[[], Any]) -> Callable[[], Any]:
        around = self._around
        if around is None:
            return run

        def wrapped() -> Any:
            value = around(job.name, run)
            if not isinstance(value, Delivery | asyncio.Future):
                raise StrategyError(
                    "what AROUND_STRATEGY holds must return what the function it is given returns, "
                    f"not {value!r}"
                )
            return value

        return wrapped

    def _assemble(self, job: AssemblyJob) -> Delivery:
        return self._receive(job, job.strategy.assemble(*self._arguments(job)))

    def _begin_task(self, job: AssemblyJob) -> asyncio.Task[Delivery]:
        return asyncio.get_running_loop().create_task(self._aassemble(job))

    async def _aassemble(self, job: AssemblyJob) -> Delivery:
        aassemble = job.strategy.aassemble  # type: ignore[attr-defined]
        return self._receive(job, await aassemble(*self._arguments(job)))

    def _arguments(self, job: AssemblyJob) -> tuple[Any, ...]:
        question, budget = self._question, ContextBudget(max_tokens=job.tokens)
        job.memo = question.backends.memo and question.backends.memo.view()
        backends = question.backends.with_(seconds=self.limit(job), memo=job.memo)
        return question.request, backends, budget, question.plan_context

    def _receive(self, job: AssemblyJob, delivered: Any) -> Delivery:
        return receive(
            delivered,
            strategy=job.name,
            tokens=job.tokens,
            max_fragments=job.max_fragments,
            reserve=self._reserve,
            stop=lambda: job.given_up,
        )


def _result(job: AssemblyJob, delivery: Delivery, seconds: float) -> StrategyResult:
    kept = delivery.kept
    used = sum(fragment.token_count for fragment in kept)
    return StrategyResult(
        strategy_name=job.name,
        fragments=kept,
        total_fragments=delivery.total,
        tokens_used=used,
        execution_time_ms=max(0.0, seconds) * 1000.0,
        stats={
            **delivery.stats,
            "cache_hits": job.memo.hits if job.memo else 0,
            "allotted_tokens": job.tokens,
            "budget_used": used / job.tokens,
            "avg_relevance": sum(f.relevance_score for f in kept) / len(kept) if kept else 0.0,
            "tier_distribution": {tier: sum(f.tier == tier for f in kept) for tier in TIERS},
        },
        reserve=delivery.reserve,
    )
