"""What the built-in strategies share: their options, and when they can answer (ruling S5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from acms_adapters.errors import StrategyError
from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    PlanContext,
    StrategyCapabilities,
    StrategyOptions,
)
from acms_adapters.protocols import BackendSet
from acms_strategies.crew import Crew

B = TypeVar("B")


class BuiltInStrategy(ABC):
    """A strategy that is sure of itself in the measure of its quality.

    Args:
        options: Its options, a mapping of them, or None for the defaults.

    Raises:
        ValueError: An unknown option, or a value outside its range.
    """

    name: ClassVar[str]
    capabilities: ClassVar[StrategyCapabilities]
    options_model: ClassVar[type[StrategyOptions]] = StrategyOptions

    def __init__(self, options: StrategyOptions | Mapping[str, Any] | None = None) -> None:
        if not isinstance(options, self.options_model):
            given = options or {}
            if isinstance(given, StrategyOptions):
                given = given.model_dump(exclude_unset=True)
            options = self.options_model(**given)
        self.options = options
        self._crew = Crew()

    def can_handle(self, request: ContextRequest, backends: BackendSet) -> float:
        """Its quality when it is equipped and the request has something for it, else 0.

        A request that hints at the strategy has something for it: the defaults fill in.
        """
        if not self.is_equipped(backends):
            return 0.0
        hinted = self.name in (request.strategy_hints or ())
        if hinted or self.is_addressed(request, backends):
            return self.capabilities.quality_score
        return 0.0

    def is_equipped(self, backends: BackendSet) -> bool:
        """Whether every backend it needs is there; a mere flag is none."""
        return all(getattr(backends, name) is not None for name in self.capabilities.needs)

    def needed(self, backend: B | None, kind: str) -> B:
        """The backend, which must be there.

        Raises:
            StrategyError: It is not.
        """
        if backend is None:
            raise StrategyError(f"{self.name} needs a {kind} backend, and there is none")
        return backend

    @abstractmethod
    def is_addressed(self, request: ContextRequest, backends: BackendSet) -> bool:
        """Whether the request has something for it."""

    @abstractmethod
    def assemble(
        self,
        request: ContextRequest,
        backends: BackendSet,
        budget: ContextBudget,
        plan_context: PlanContext,
    ) -> Iterable[ContextFragment]:
        """Ranked fragments, best first, at most `max_fragments`."""

    @abstractmethod
    def explain(self) -> str:
        """What it does, for people."""
