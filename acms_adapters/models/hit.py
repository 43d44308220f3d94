"""What backends answer with."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from acms_adapters.models.base import Tier
from acms_adapters.models.fragment import MAX_DEPTH, FragmentProvenance


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A typed link between two nodes.

    Attributes:
        source: URI it starts from.
        target: URI it points to.
        relation: ``contains``, ``imports``, ``calls``, ``inherits``, ``links``, ``next``, …
    """

    source: str
    target: str
    relation: str


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
