"""What a collection says about itself and about each of its nodes."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from acms_adapters.backends.vectors.records import VectorRecord, make_hit
from acms_adapters.backends.vectors.search import Wanted
from acms_adapters.errors import EmbedderMismatchError
from acms_adapters.models.hit import SearchHit
from acms_adapters.models.matching import scope_prefixes

_EMBEDDER = "acms_embedder"
_DIMENSIONS = "acms_dimensions"
_STAMP = "acms_stamp"
_SAMPLE = "acms_sample"
_WHOLE = "acms_whole"

_WITHIN = "acms_within"
_TYPE = "acms_type"
_HASH = "acms_hash"
_KEPT = "acms_kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionRecord:
    """What the metadata of a collection says.

    Attributes:
        embedder: Whose vectors it holds, where known.
        dimensions: Their length, where known.
        stamp: Another one after every write.
        sample: Nodes to take statistics over; None where nobody chose them.
        whole: Every node in it was written by this library, so that its fields can be asked for.
        foreign: Metadata of other people's.
    """

    embedder: str | None = None
    dimensions: int | None = None
    stamp: str = ""
    sample: tuple[str, ...] | None = None
    whole: bool = False
    foreign: Mapping[str, Any]

    @classmethod
    def new(cls) -> CollectionRecord:
        """Of a collection without a node."""
        return cls(stamp=uuid.uuid4().hex, sample=(), whole=True, foreign={})

    @classmethod
    def of(cls, metadata: Mapping[str, Any] | None) -> CollectionRecord:
        """Read it."""
        known = dict(metadata or {})
        sample = known.pop(_SAMPLE, None)
        return cls(
            embedder=known.pop(_EMBEDDER, None),
            dimensions=known.pop(_DIMENSIONS, None),
            stamp=known.pop(_STAMP, ""),
            sample=None if sample is None else tuple(json.loads(sample)),
            whole=bool(known.pop(_WHOLE, False)),
            foreign={key: value for key, value in known.items() if not key.startswith("hnsw:")},
        )

    def metadata(self) -> dict[str, Any]:
        """Write it."""
        ours = {
            _EMBEDDER: self.embedder,
            _DIMENSIONS: self.dimensions,
            _STAMP: self.stamp,
            _SAMPLE: None if self.sample is None else json.dumps(self.sample),
            _WHOLE: self.whole,
        }
        return {**self.foreign, **{key: value for key, value in ours.items() if value is not None}}

    def changed(self, **changes: Any) -> CollectionRecord:
        """After a write."""
        return replace(self, stamp=uuid.uuid4().hex, **changes)

    def check(self, embedder: str | None, dimensions: int | None, *, place: str) -> None:
        """Refuse another embedder than the one whose vectors are there (ruling B7).

        Raises:
            EmbedderMismatchError: Naming both, or both sizes.
        """
        remedy = "use that one, or open with rebuild=True to drop its vectors and index again"
        if embedder and self.embedder and embedder != self.embedder:
            raise EmbedderMismatchError(
                f"the vectors in {place} were made by embedder {self.embedder!r}, "
                f"not by {embedder!r}: {remedy}"
            )
        if dimensions and self.dimensions and dimensions != self.dimensions:
            raise EmbedderMismatchError(
                f"the vectors in {place} have {self.dimensions} dimensions, those of embedder "
                f"{embedder or self.embedder!r} have {dimensions}: {remedy}"
            )


def node_metadata(record: VectorRecord, *, keep: bool) -> dict[str, Any]:
    """Fields of a node; None takes a field away that an earlier write left.

    Args:
        record: The node.
        keep: Keep its text and metadata too, as no other store has them.
    """
    kept = {
        "uri": record.resource_uri,
        "content": record.content,
        "metadata": json.loads(record.metadata) if record.metadata else {},
    }
    prefixes = (*scope_prefixes(record.resource_uri), *scope_prefixes(record.node))
    return {
        _WITHIN: list(dict.fromkeys(prefixes)) or [record.node],
        _TYPE: record.resource_type,
        _HASH: record.content_hash,
        _KEPT: json.dumps(kept) if keep else None,
    }


def node_hash(metadata: Mapping[str, Any] | None) -> str:
    """The hash of a node's text; empty where none was given."""
    return str((metadata or {}).get(_HASH) or "")


def kept_hit(node: str, metadata: Mapping[str, Any] | None, document: str | None) -> SearchHit:
    """A node as an answer from what Chroma holds of it, by this library or by others."""
    fields = dict(metadata or {})
    if _WITHIN not in fields:
        source = fields.get("source")
        uri = source if isinstance(source, str) else node
        return make_hit(node, resource_uri=uri, resource_type="", content=document, metadata=fields)
    kept = json.loads(fields.get(_KEPT) or "{}")
    return make_hit(
        node,
        resource_uri=str(kept.get("uri") or node),
        resource_type=str(fields.get(_TYPE) or ""),
        content=kept.get("content"),
        metadata=kept.get("metadata") or {},
    )


def where(wanted: Wanted) -> dict[str, Any] | None:
    """A condition that no wanted node fails, or None when there is none to ask for."""
    clauses = []
    stems = [prefix.rstrip("/") for prefix in wanted.scope or ()]
    if stems and all(stem and not stem.endswith(":") for stem in stems):
        clauses.append(_any([{_WITHIN: {"$contains": stem}} for stem in dict.fromkeys(stems)]))
    if wanted.resource_types:
        clauses.append({_TYPE: {"$in": list(wanted.resource_types)}})
    if len(clauses) < 2:
        return clauses[0] if clauses else None
    return {"$and": clauses}


def _any(clauses: list[dict[str, Any]]) -> dict[str, Any]:
    return clauses[0] if len(clauses) == 1 else {"$or": clauses}
