"""What strategies declare and deliver."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from acms_adapters.models.base import FrozenModel, Metadata
from acms_adapters.models.fragment import ContextFragment, Score


class StrategyCapabilities(FrozenModel):
    """What a strategy needs and how good it is.

    Attributes:
        uses_text: Needs a text backend.
        uses_vector: Needs a vector backend.
        uses_graph: Needs a graph backend.
        uses_temporal: Needs a temporal backend.
        resource_types: Kinds of resource it can deliver; empty means all.
        quality_score: Intrinsic quality, 0 to 1.
        supports_depth_breadth: Honours `depth` and `breadth` of a request.
        supports_plan_hierarchy: Walks from a plan to its ancestors.
        supports_temporal: Answers for a window of time.
    """

    uses_text: bool = False
    uses_vector: bool = False
    uses_graph: bool = False
    uses_temporal: bool = False
    resource_types: tuple[str, ...] = ()
    quality_score: Score = 0.5
    supports_depth_breadth: bool = False
    supports_plan_hierarchy: bool = False
    supports_temporal: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the backends it needs, out of text, vector, graph and temporal."""
        names = ("text", "vector", "graph", "temporal")
        return tuple(name for name in names if getattr(self, f"uses_{name}"))


class StrategyFailure(FrozenModel):
    """A strategy that did not answer.

    Attributes:
        strategy: Its name.
        kind: ``error`` (raised), ``timeout`` (not done in time), ``circuit_open`` (not asked,
            because it failed before), ``unavailable`` (a backend is missing), ``invalid``
            (delivered what is no fragment).
        message: What happened, for people.
    """

    strategy: str
    kind: Literal["error", "timeout", "circuit_open", "unavailable", "invalid"]
    message: str = ""

    def __str__(self) -> str:
        """Name, kind and message in one line."""
        return f"{self.strategy}: {self.kind}" + (f" ({self.message})" if self.message else "")


class StrategyResult(FrozenModel):
    """What one strategy delivered.

    Attributes:
        strategy_name: Its name.
        fragments: Within its share of the budget, by relevance, then node.
        total_fragments: How many it ranked before any limit.
        tokens_used: Declared tokens of `fragments`.
        execution_time_ms: Wall-clock milliseconds.
        errors: What went wrong, for people; empty when it answered.
        stats: Figures of the strategy's own.
        reserve: What it ranked beyond its share; the packer may choose from it (ruling S3).
        failure: Set when it did not answer.
    """

    strategy_name: str
    fragments: tuple[ContextFragment, ...] = ()
    total_fragments: int = Field(default=0, ge=0)
    tokens_used: int = Field(default=0, ge=0)
    execution_time_ms: float = Field(default=0.0, ge=0.0)
    errors: tuple[str, ...] = ()
    stats: Metadata = Field(default_factory=dict)
    reserve: tuple[ContextFragment, ...] = ()
    failure: StrategyFailure | None = None


ContextStrategyResult = StrategyResult
