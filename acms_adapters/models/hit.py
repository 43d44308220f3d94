"""What backends answer with."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from acms_adapters.errors import RequestError
from acms_adapters.models.base import Tier
from acms_adapters.models.fragment import MAX_DEPTH, FragmentProvenance

Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A node that a backend found.

    Attributes:
        uko_node: URI of the node.
        content: Its text, or None when only `RenderingSource` has it.
        score: Relevance in [0, 1] (ruling M7); 0 where the backend does not rank.
        detail_depth: Depth of `content`.
        token_count: Tokens of `content`, where known; for ranking only.
        metadata: As it went in (ruling B4).
        provenance: Resource, location and kind.
        tier: ``hot``, ``warm`` or ``cold``.
        created_at: When the node was made or last changed, where known.
    """

    uko_node: str
    content: str | None = None
    score: float = 0.0
    detail_depth: int = MAX_DEPTH
    token_count: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    provenance: FragmentProvenance | None = None
    tier: Tier = "warm"
    created_at: datetime | None = None

    def rated(self, score: float) -> SearchHit:
        """The same node with another score."""
        return SearchHit(  # several times as fast as `dataclasses.replace`
            uko_node=self.uko_node,
            content=self.content,
            score=score,
            detail_depth=self.detail_depth,
            token_count=self.token_count,
            metadata=self.metadata,
            provenance=self.provenance,
            tier=self.tier,
            created_at=self.created_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Edge:
    """A typed link between two nodes; edges are ordered by source, target and relation.

    Attributes:
        source: URI it starts from.
        target: URI it points to.
        relation: ``contains``, ``imports``, ``calls``, ``inherits``, ``links``, ``next``, …
    """

    source: str
    target: str
    relation: str

    def ends(self, direction: Direction) -> tuple[str, ...]:
        """Nodes from which it is found in a direction.

        Raises:
            RequestError: There is no such direction.
        """
        if direction == "both":
            return (self.source, self.target)
        if direction not in ("out", "in"):
            raise RequestError(f"direction must be 'out', 'in' or 'both', not {direction!r}")
        return (self.source,) if direction == "out" else (self.target,)

    def other(self, node: str) -> str:
        """The end that is not `node`."""
        return self.target if self.source == node else self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A node's text at one depth.

    Attributes:
        uko_node: URI of the node.
        detail_depth: 0 to 9.
        content: The text.
        token_count: Its tokens by the index's own tokenizer, where known.
    """

    uko_node: str
    detail_depth: int
    content: str
    token_count: int | None = None
