"""What an index keeps of a resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from acms_adapters.models.base import Tier
from acms_adapters.models.hit import Edge


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedNode:
    """A node as an index keeps it.

    Attributes:
        uko_node: Its URI.
        kind: ``project``, ``file``, ``module``, ``class``, ``function``, ``section``, ``chunk``,
            ``document``, …
        resource_uri: The resource it stands in.
        location: Its place there, such as ``lines 1-10``.
        resource_type: ``source_file``, ``test``, ``document``, ``decision``, ``conversation``, …
        parent: The node that contains it.
        names: Symbols or titles people call it by.
        fields: The searched text by field: path, name, signature, doc, body for code; title and
            body for prose.
        renderings: Text by depth; each deeper one longer than the one before.
        searched_depth: Depth of the rendering that a search hit is answered with: the full text of
            a leaf, the outline of a node whose members are nodes of their own.
        metadata: Anything JSON can hold.
        tier: ``hot``, ``warm`` or ``cold``.
        created_at: When it was made or last changed.
    """

    uko_node: str
    kind: str
    resource_uri: str
    location: str = ""
    resource_type: str = "document"
    parent: str | None = None
    names: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    renderings: Mapping[int, str] = field(default_factory=dict)
    searched_depth: int = 9
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tier: Tier = "warm"
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A mention of another node by name, to be resolved when the whole index is known.

    Attributes:
        source: URI of the node that mentions.
        name: What it is called there: a dotted path, a relative path, a title, a bare symbol.
        relation: ``imports``, ``calls``, ``inherits``, ``links``.
    """

    source: str
    name: str
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedResource:
    """Everything an index keeps of one file or document; replaced as a whole.

    Attributes:
        resource_uri: Its URI.
        content_hash: Hash of what it was made from; equal means unchanged.
        nodes: Its nodes, containers before what they contain.
        edges: Edges whose both ends are known.
        references: Mentions still to be resolved.
    """

    resource_uri: str
    content_hash: str
    nodes: tuple[IndexedNode, ...]
    edges: tuple[Edge, ...] = ()
    references: tuple[Reference, ...] = ()
