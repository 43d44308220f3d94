"""Polling strategies beside each other, so that one that hangs does not hold up the rest."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from acms_adapters.models import StrategyFailure
from acms_adapters.pipeline.assembly_round import Question
from acms_adapters.pipeline.guarded_round import GuardedRound, StrategyJob
from acms_adapters.pipeline.rounds import Ending
from acms_adapters.pipeline.strategy_selector import poll
from acms_adapters.protocols import ContextStrategy

logger = logging.getLogger(__name__)


class PollingRound(GuardedRound[StrategyJob]):
    """Collects the confidences of strategies.

    Args:
        question: What they would be asked.
        check_backends: See `poll`.
        guards: See `GuardedRound`.

    Attributes:
        confidences: Strategy and its confidence, for those that answered, in no fixed order.
        failures: Those that did not, in no fixed order.
    """

    def __init__(self, question: Question, *, check_backends: bool, **guards: Any) -> None:
        super().__init__(**guards)
        self.confidences: list[tuple[ContextStrategy, float]] = []
        self.failures: list[StrategyFailure] = []
        self._question = question
        self._check_backends = check_backends

    def enlist(self, strategy: ContextStrategy, *, timeout: float) -> None:
        """Ask a strategy too."""
        work = partial(
            poll,
            strategy,
            self._question.request,
            self._question.backends,
            check_backends=self._check_backends,
        )
        self.add(
            StrategyJob(
                name=strategy.name, timeout=timeout, work=work, strategy=strategy, polled=True
            )
        )

    def answered(self, job: StrategyJob, ending: Ending) -> None:
        """Keep the confidence."""
        self.confidences.append((job.strategy, ending.value))

    def failed(self, job: StrategyJob, failure: StrategyFailure, seconds: float) -> None:
        """Keep the failure."""
        # that it failed was told when it did, and until it is tried again every call meets it
        level = logging.INFO if failure.kind == "circuit_open" else logging.WARNING
        logger.log(level, "not selected: %s", failure)
        self.failures.append(failure)

    def late(self, job: StrategyJob, ending: Ending) -> None:
        """Nothing was delivered, so nothing is lost."""
        logger.info("%s was polled in vain, for %.3f s", job.name, ending.seconds)
