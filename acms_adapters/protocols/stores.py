"""Where strategies find things (ruling B1).

Every method is synchronous and thread-safe. A backend may add a coroutine of the same name with an
`a` in front (`asearch`, `aneighbors`, …).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from acms_adapters.models import Decision, Edge, Plan, Rendering, SearchHit, Tier
from acms_adapters.models.hit import Direction


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
class RatesNodes(Protocol):
    """A text or vector backend that can say of given nodes what a search would say of them."""

    def rate(self, question: Any, nodes: Sequence[str]) -> Mapping[str, float]:
        """Relevance of each of the nodes, on the scale of the backend's own hits.

        Args:
            question: What a search is given: the words, or the embedding.
            nodes: Those that are not there, or of which nothing can be said, are left out.
        """
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
class SharesNames(Protocol):
    """A graph backend that knows which nodes speak of the same things where no edge says so."""

    def sharing(
        self, nodes: Sequence[str], *, limit: int = 20, scope: Sequence[str] | None = None
    ) -> Mapping[str, Mapping[str, float]]:
        """For each of `nodes`, others in which the same rare names stand, with how much."""
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


@runtime_checkable
class ListsRenderings(Protocol):
    """A rendering source that gives the renderings of a node at once."""

    def below(self, node: str, depth: int) -> Sequence[Rendering]:
        """All renderings that are less deep, ascending."""
        ...
