"""One form for strategies of either protocol (ruling S1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    PlanContext,
    StrategyCapabilities,
)
from acms_adapters.pipeline.gathering import gather
from acms_adapters.pipeline.strategy_form import form_of
from acms_adapters.protocols import BackendSet, ContextStrategy


class SpecStrategyAdapter:
    """Lets a strategy of either form be used as a `ContextStrategy`.

    The short form sees no backends: it ranks the request's candidates, or else what the text and
    vector backends find.

    Args:
        strategy: An object of either form.

    Raises:
        TypeError: It is neither form, or could be both.
    """

    def __init__(self, strategy: Any) -> None:
        self._form = form_of(strategy)
        self.strategy = strategy

    @classmethod
    def bridge(cls, strategy: Any) -> ContextStrategy:
        """The strategy itself if it has the native form, else an adapter for it.

        Raises:
            TypeError: It is neither form, or could be both.
        """
        if isinstance(strategy, cls):
            return (
                strategy if strategy._form == "short" else cast(ContextStrategy, strategy.strategy)
            )
        return cast(ContextStrategy, strategy) if form_of(strategy) == "native" else cls(strategy)

    @property
    def name(self) -> str:
        """The strategy's own name."""
        return cast(str, self.strategy.name)

    @property
    def capabilities(self) -> StrategyCapabilities:
        """What the strategy declares."""
        return cast(StrategyCapabilities, self.strategy.capabilities)

    @property
    def options(self) -> Any:
        """The strategy's own options; None where it has none."""
        return getattr(self.strategy, "options", None)

    def missing(self, backends: BackendSet) -> tuple[str, ...]:
        """Names of backends it cannot do without; the short form does without any."""
        return () if self._form == "short" else backends.missing(self.capabilities)

    def can_handle(self, request: ContextRequest, backends: BackendSet) -> float:
        """Ask the strategy in its own form."""
        arguments = (request,) if self._form == "short" else (request, backends)
        return cast(float, self.strategy.can_handle(*arguments))

    def assemble(
        self,
        request: ContextRequest,
        backends: BackendSet,
        budget: ContextBudget,
        plan_context: PlanContext,
    ) -> Iterable[ContextFragment]:
        """Run the strategy in its own form."""
        arguments: tuple[Any, ...] = (request, backends, budget, plan_context)
        if self._form == "short":
            arguments = (gather(request, backends), budget)
        return cast(Iterable[ContextFragment], self.strategy.assemble(*arguments))

    def explain(self) -> str:
        """What the strategy says of itself."""
        return cast(str, self.strategy.explain())


def missing_backends(strategy: ContextStrategy, backends: BackendSet) -> tuple[str, ...]:
    """Names of the backends without which a strategy of either form cannot run."""
    if isinstance(strategy, SpecStrategyAdapter):
        return strategy.missing(backends)
    return backends.missing(strategy.capabilities)
