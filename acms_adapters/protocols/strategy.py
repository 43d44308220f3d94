"""What a strategy is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    PlanContext,
    StrategyCapabilities,
)
from acms_adapters.protocols.backend_set import BackendSet


@runtime_checkable
class ContextStrategy(Protocol):
    """A way to find context."""

    @property
    def name(self) -> str:
        """Unique name."""
        ...

    @property
    def capabilities(self) -> StrategyCapabilities:
        """What it needs and how good it is."""
        ...

    def can_handle(self, request: ContextRequest, backends: BackendSet) -> float:
        """Confidence in [0, 1] that it can serve the request."""
        ...

    def assemble(
        self,
        request: ContextRequest,
        backends: BackendSet,
        budget: ContextBudget,
        plan_context: PlanContext,
    ) -> Iterable[ContextFragment]:
        """Ranked fragments, best first.

        What lies beyond `budget` is cut off by the executor and travels on as reserve, so a
        strategy need not pack; it may stop at its `max_fragments`.
        """
        ...

    def explain(self) -> str:
        """What it does, for people."""
        ...
