"""Which strategies are to serve a request (ruling S5)."""

from __future__ import annotations

import logging
import math
from collections.abc import Container, Iterable, Mapping
from typing import Any

from acms_adapters.models import ContextRequest, StrategyFailure
from acms_adapters.models.base import repair_text
from acms_adapters.pipeline.bounds import whole
from acms_adapters.pipeline.budget_allocator import ranked_by_confidence
from acms_adapters.pipeline.rounds import INTERRUPTS
from acms_adapters.pipeline.spec_adapter import SpecStrategyAdapter, missing_backends
from acms_adapters.protocols import BackendSet, ContextStrategy

logger = logging.getLogger(__name__)

_MESSAGE_LIMIT = 500


class StrategySelector:
    """Polls strategies and ranks those that can serve a request.

    Args:
        threshold: Lowest confidence to be selected, 0 to 1; 0 itself is never selected.
        max_candidates: Most strategies to select, at least 1.
        preference_boost: Factor for strategies that the request hints at, at least 1; the product
            is capped at 1.

    Raises:
        ValueError: A value outside its range.
    """

    def __init__(
        self, threshold: float = 0.0, max_candidates: int = 10, preference_boost: float = 1.5
    ) -> None:
        if not 0.0 <= threshold <= 1.0:
            raise ValueError(f"threshold must lie in [0, 1], not {threshold!r}")
        if not (math.isfinite(preference_boost) and preference_boost >= 1.0):
            raise ValueError(
                f"preference_boost must be a finite number >= 1, not {preference_boost!r}"
            )
        self.threshold = threshold
        self.max_candidates = whole(max_candidates, "max_candidates", least=1)
        self.preference_boost = preference_boost

    def select(
        self,
        strategies: Iterable[Any],
        request: ContextRequest | Mapping[str, Any] | None,
        backends: BackendSet | Mapping[str, Any] | None,
    ) -> list[tuple[ContextStrategy, float]]:
        """Pairs of strategy and confidence, highest first, then by name.

        Strategies of the guide's short form are bridged. One that fails to answer is logged and
        not selected.

        Args:
            backends: What there is; None says nothing of it, and each strategy's own word counts.

        Raises:
            TypeError: Something that is no strategy.
        """
        asked = ContextRequest.of(request)
        available = BackendSet.of(backends)
        bridged = [SpecStrategyAdapter.bridge(strategy) for strategy in strategies]
        log_unknown_hints(asked, (strategy.name for strategy in bridged))
        polled: list[tuple[ContextStrategy, float]] = []
        for strategy in bridged:
            answer = poll(strategy, asked, available, check_backends=backends is not None)
            if isinstance(answer, StrategyFailure):
                logger.warning("not selected: %s", answer)
            else:
                polled.append((strategy, answer))
        return self.rank(polled, asked)

    def rank(
        self, polled: Iterable[tuple[ContextStrategy, float]], request: ContextRequest
    ) -> list[tuple[ContextStrategy, float]]:
        """Boost what the request prefers, drop what is too low, and cut to the best."""
        hints = request.strategy_hints or ()
        boosted = (
            (strategy, min(1.0, value * self.preference_boost) if strategy.name in hints else value)
            for strategy, value in polled
        )
        selected = [pair for pair in boosted if pair[1] > 0.0 and pair[1] >= self.threshold]
        return ranked_by_confidence(selected)[: self.max_candidates]


def poll(
    strategy: ContextStrategy,
    request: ContextRequest,
    backends: BackendSet,
    *,
    check_backends: bool = True,
) -> float | StrategyFailure:
    """A strategy's confidence in [0, 1], or why there is none.

    A missing backend means 0, and a failure when the request hints at the strategy. Finite numbers
    outside the range are cut to it.

    Args:
        check_backends: False takes the strategy's own word, for when nobody said what there is.
    """
    name = strategy.name
    try:
        missing = missing_backends(strategy, backends) if check_backends else ()
        if missing:
            return unavailable(name, missing) if name in (request.strategy_hints or ()) else 0.0
        answer: Any = strategy.can_handle(request, backends)
    except INTERRUPTS:
        raise
    except BaseException as error:
        message = f"can_handle raised {described(error)}"
        return StrategyFailure(strategy=name, kind="error", message=message)
    try:
        confidence = math.nan if isinstance(answer, str | bytes) else float(answer)
    except (TypeError, ValueError, OverflowError):
        confidence = math.nan
    if not math.isfinite(confidence):
        message = f"can_handle returned {described(answer)}, not a number from 0 to 1"
        return StrategyFailure(strategy=name, kind="invalid", message=message)
    return max(0.0, min(1.0, confidence))


def unavailable(name: str, missing: Iterable[str]) -> StrategyFailure:
    """The failure of a strategy whose backends are not there."""
    return StrategyFailure(
        strategy=name, kind="unavailable", message=f"no backend for {', '.join(missing)}"
    )


def described(thing: object) -> str:
    """An error or a value in one line for a failure's message, whatever it holds."""
    try:
        text = f"{type(thing).__name__}: {thing}" if str(thing) else type(thing).__name__
    except Exception:
        text = type(thing).__name__
    return repair_text(text)[:_MESSAGE_LIMIT]


def log_unknown_hints(
    request: ContextRequest, known: Iterable[str], *, asked: Container[str] | None = None
) -> None:
    """Warn of hints that name no strategy, or one that is not `asked` for not being enabled."""
    names = set(known)
    for hint in request.strategy_hints or ():
        if hint not in names:
            logger.warning(
                "the request prefers %r, and no strategy has that name (known: %s)",
                hint,
                ", ".join(sorted(names)) or "none",
            )
        elif asked is not None and hint not in asked:
            logger.warning(
                "the request prefers %r, which is not enabled: add it to `enabled`, or name it "
                "with strategy=%r to run it alone",
                hint,
                hint,
            )
