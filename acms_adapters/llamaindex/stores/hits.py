"""From LlamaIndex nodes that a store has to hits."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship

from acms_adapters.indexing.documents import windowed
from acms_adapters.indexing.entries import given_text, given_tier, given_time
from acms_adapters.llamaindex.nodes import related
from acms_adapters.models import FragmentProvenance, SearchHit
from acms_adapters.models.base import repair_text
from acms_adapters.models.fragment import MAX_CONTENT_CHARS, MAX_METADATA_ENTRIES
from acms_adapters.models.surplus import nest_surplus

Texts = Callable[[Sequence[str]], Mapping[str, SearchHit]]
"""From ids of nodes to what is known of those that are there."""


def to_hit(node: BaseNode, *, score: float = 0.0) -> SearchHit:
    """A node as an answer; of a sentence with a window around it, the sentence is its depth 4.

    A text beyond the size of a fragment is cut there; index such nodes in a `ContextStore`.
    """
    metadata = node.metadata
    text = repair_text(node.get_content(metadata_mode=MetadataMode.NONE))
    texts, depth = windowed(text, metadata)
    uri = repair_text(node.node_id)
    sources = related(node, NodeRelationship.SOURCE)
    kept = {key: _as_lists(value) for key, value in metadata.items()}
    return SearchHit(
        uko_node=uri,
        content=texts[depth][:MAX_CONTENT_CHARS],
        score=score,
        detail_depth=depth,
        metadata=nest_surplus(kept) if len(kept) > MAX_METADATA_ENTRIES else kept,
        provenance=FragmentProvenance(
            resource_uri=repair_text(sources[0]) if sources else uri,
            resource_type=given_text(metadata, "resource_type") or "document",
        ),
        tier=given_tier(metadata),
        created_at=given_time(metadata),
    )


def repaired(hit: SearchHit) -> SearchHit:
    """A hit whose text can be encoded; what there was of half a character is replaced."""
    content = hit.content and repair_text(hit.content)
    return hit if content == hit.content else replace(hit, content=content)


def _as_lists(value: Any) -> Any:
    """A value that nobody else has, its tuples as lists (ruling B4)."""
    if isinstance(value, dict):
        return {key: _as_lists(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_lists(item) for item in value]
    return copy.deepcopy(value)
