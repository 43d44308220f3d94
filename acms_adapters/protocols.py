"""What the parts of the pipeline ask of each other (ruling B1).

Every backend method is synchronous and thread-safe. A backend may add a coroutine of the same
name with an `a` in front (`asearch`, `aneighbors`, …).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    Decision,
    Edge,
    Plan,
    PlanContext,
    Rendering,
    SearchHit,
    StrategyCapabilities,
    Tier,
)

Direction = Literal["out", "in", "both"]


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text.

    Attributes:
        name: What it counts by, such as ``cl100k_base``.
        exact: False for an estimate.
    """

    name: str
    exact: bool

    def count(self, text: str) -> int:
        """Number of tokens of `text`, special tokens counted as plain text."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    Attributes:
        name: Identifies the model; a store refuses vectors of another one (ruling B7).
        dimensions: Length of a vector.
        similarity_threshold: Raw cosine below which a hit is no hit.
    """

    name: str
    dimensions: int
    similarity_threshold: float

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector for each text, in order."""
        ...

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question."""
        ...


@runtime_checkable
class TextBackend(Protocol):
    """Finds nodes by words."""

    def search(
        self,
        query: str,
        *,
        max_results: int = 20,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> Sequence[SearchHit]:
        """Nodes that hold words of `query`, best first; user text is no syntax (ruling B2)."""
        ...


@runtime_checkable
class VectorBackend(Protocol):
    """Finds nodes by nearness of their vectors."""

    def similarity_search(
        self,
        embedding: Sequence[float],
        *,
        top_k: int = 20,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        min_similarity: float = 0.0,
    ) -> Sequence[SearchHit]:
        """Nodes whose raw cosine to `embedding` is at least `min_similarity`, best first."""
        ...


@runtime_checkable
class SearchesText(Protocol):
    """A vector backend that embeds the question itself."""

    def search_text(
        self,
        query: str,
        *,
        top_k: int = 20,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        min_similarity: float = 0.0,
    ) -> Sequence[SearchHit]:
        """Nodes whose vectors are near that of `query`, best first."""
        ...


@runtime_checkable
class GraphBackend(Protocol):
    """Walks from node to node."""

    def neighbors(
        self,
        nodes: Sequence[str],
        *,
        direction: Direction = "both",
        relations: Sequence[str] | None = None,
        limit: int | None = None,
        scope: Sequence[str] | None = None,
    ) -> Sequence[Edge]:
        """Edges that touch `nodes`, in a fixed order, at most `limit` for each node.

        With a scope, edges whose other end lies outside it are not returned (ruling B5).
        """
        ...

    def get(
        self,
        nodes: Sequence[str],
        *,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> Sequence[SearchHit]:
        """The nodes that are there, in the order asked for, score 0."""
        ...


@runtime_checkable
class ResolvesNames(Protocol):
    """A graph backend that knows nodes by the names people use for them."""

    def resolve(
        self, text: str, *, limit: int = 10, scope: Sequence[str] | None = None
    ) -> Sequence[tuple[str, int]]:
        """Nodes whose symbol or title stands in `text`, rarest name first.

        Returns:
            Pairs of node URI and how many nodes share that name.
        """
        ...


@runtime_checkable
class TemporalBackend(Protocol):
    """Keeps plans, decisions and contexts over time (rulings T1 to T3)."""

    def query_by_tier(
        self,
        tier: Tier,
        *,
        window: str | None = None,
        plan_ids: Sequence[str] | None = None,
        as_of: datetime | None = None,
        limit: int | None = None,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
    ) -> Sequence[SearchHit]:
        """Records of a tier inside a window that ends at `as_of` or now, newest first."""
        ...

    def record(self, item: Plan | Decision) -> None:
        """Keep a plan or a decision; the same id replaces what was recorded."""
        ...

    def archive(self, plan_id: str) -> int:
        """Complete a plan and move its records to the cold tier; how many were moved."""
        ...

    def plan(self, plan_id: str, *, as_of: datetime | None = None) -> Plan | None:
        """A recorded plan with its decisions, or None."""
        ...

    def ancestors(self, plan_id: str) -> Sequence[str]:
        """Ids of a plan's ancestors, nearest first; ends on a cycle."""
        ...


@runtime_checkable
class RenderingSource(Protocol):
    """The one way to a node's text at a depth."""

    def at(self, node: str, depth: int) -> Rendering | None:
        """The deepest rendering at or below `depth`; None if there is none."""
        ...

    def depths(self, node: str) -> Sequence[int]:
        """Depths there are, ascending; empty for an unknown node."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendSet:
    """What strategies may ask; any of it may be missing (ruling S12).

    Attributes:
        text: Finds by words.
        vector: Finds by nearness.
        graph: Walks.
        temporal: Remembers.
        counter: Counts tokens.
        embedder: Embeds questions for `vector`.
        renderings: Texts of nodes at every depth.
        candidates: Fragments the caller brought along.
        flags: Names that a mapping of flags declared available, without an object behind them.
        now: The moment of this request, read once (ruling T1); None where nobody set it.
    """

    text: TextBackend | None = None
    vector: VectorBackend | SearchesText | None = None
    graph: GraphBackend | None = None
    temporal: TemporalBackend | None = None
    counter: TokenCounter | None = None
    embedder: Embedder | None = None
    renderings: RenderingSource | None = None
    candidates: tuple[ContextFragment, ...] = ()
    flags: frozenset[str] = field(default_factory=frozenset)
    now: datetime | None = None

    def has(self, name: str) -> bool:
        """Whether the backend called text, vector, graph or temporal is available."""
        return name in self.flags or getattr(self, name) is not None

    def missing(self, capabilities: StrategyCapabilities) -> tuple[str, ...]:
        """Names of the backends that a strategy needs and that are not there."""
        return tuple(name for name in capabilities.needs if not self.has(name))

    def with_(self, **changes: Any) -> BackendSet:
        """A copy with some parts replaced."""
        return replace(self, **changes)

    @classmethod
    def of(cls, value: BackendSet | Mapping[str, Any] | None) -> BackendSet:
        """Read a set: itself, a mapping of backends or of flags, or nothing.

        Raises:
            ValueError: A name that is no part of a set.
        """
        if isinstance(value, BackendSet):
            return value
        parts: dict[str, Any] = {}
        flags: set[str] = set()
        for name, part in (value or {}).items():
            if name not in cls.__slots__:
                known = ", ".join(map(str, cls.__slots__))
                raise ValueError(f"unknown backend {name!r} (known: {known})")
            if part is True:
                flags.add(name)
            elif part:
                parts[name] = part
        return cls(**parts, flags=frozenset(flags))


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
