"""Rounds of strategies, each behind its circuit breaker (ruling S8)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from acms_adapters.models import StrategyFailure
from acms_adapters.models.base import repair_text
from acms_adapters.pipeline.circuit_breaker import CircuitBreaker, Permit
from acms_adapters.pipeline.delivery import DeliveryError
from acms_adapters.pipeline.rounds import Clock, Ending, Job, Round
from acms_adapters.pipeline.strategy_selector import described
from acms_adapters.pipeline.workers import Workers
from acms_adapters.protocols import ContextStrategy


@dataclass(eq=False, kw_only=True)
class StrategyJob(Job):
    """A strategy to be polled or run.

    Attributes:
        strategy: The strategy.
        polled: True when it is only asked for its confidence.
    """

    strategy: ContextStrategy
    polled: bool = False
    permit: Permit | None = field(default=None, init=False)


FailureKind = Literal["error", "timeout", "invalid"]

S = TypeVar("S", bound=StrategyJob)


class GuardedRound(Round[S]):
    """A round in which a strategy with an open circuit is not asked.

    Args:
        breaker: Gives the circuit breaker of a strategy by its name.
    """

    def __init__(
        self,
        *,
        breaker: Callable[[str], CircuitBreaker],
        workers: Workers,
        at_once: int,
        deadline: float,
        clock: Clock,
    ) -> None:
        super().__init__(workers=workers, at_once=at_once, deadline=deadline, clock=clock)
        self._breaker = breaker

    @abstractmethod
    def failed(self, job: S, failure: StrategyFailure, seconds: float) -> None:
        """Called once for each strategy that did not answer."""

    @abstractmethod
    def answered(self, job: S, ending: Ending) -> None:
        """Called once for each strategy that did."""

    def begin(self, job: S) -> bool:
        """Ask the circuit breaker."""
        job.permit = self._breaker(job.name).acquire()
        if job.permit is None:
            failure = StrategyFailure(
                strategy=job.name,
                kind="circuit_open",
                message="it failed too often in a row and is left alone for a while",
            )
            self.failed(job, failure, 0.0)
        return job.permit is not None

    def end(self, job: S, ending: Ending) -> None:
        """Tell the circuit breaker, then `failed` or `answered`."""
        failure = _failure(job, ending)
        permit, job.permit = job.permit, None
        if permit is not None:
            if failure is not None and failure.kind != "unavailable":
                permit.fail()
            elif failure is not None or job.polled:
                permit.release()
            else:
                permit.succeed()
        if failure is not None:
            self.failed(job, failure, ending.seconds)
        else:
            self.answered(job, ending)

    def interrupted(self, job: S) -> None:
        """A cancelled call says nothing of the strategy."""
        if job.permit is not None:
            job.permit.release()


def _failure(job: StrategyJob, ending: Ending) -> StrategyFailure | None:
    if isinstance(ending.value, StrategyFailure):
        return ending.value
    what = "can_handle" if job.polled else "assemble"
    kind: FailureKind = "timeout"
    if not ending.started:
        message = "no worker was free before the deadline"
    elif not ending.in_time:
        message = f"{what} was not done after {ending.seconds:.3g} s"
    elif isinstance(ending.error, DeliveryError):
        kind, message = "invalid", repair_text(str(ending.error))
    elif ending.error is not None:
        kind, message = "error", f"{what} raised {described(ending.error)}"
    else:
        return None
    return StrategyFailure(strategy=job.name, kind=kind, message=message)
