"""Between LlamaIndex nodes and fragments."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, NodeWithScore

from acms_adapters.models import ContextFragment, FragmentProvenance
from acms_adapters.models.fragment import MAX_CONTENT_CHARS
from acms_adapters.models.scores import rescale
from acms_adapters.protocols import TokenCounter

CREATED = "1970-01-01T00:00:00Z"  # nodes have no time; a fixed one keeps results reproducible

_MEDIA = (
    "image",
    "image_path",
    "image_url",
    "image_resource",
    "audio_resource",
    "video_resource",
)


def to_fragments(nodes: Sequence[NodeWithScore], counter: TokenCounter) -> list[ContextFragment]:
    """One fragment for each node, in order: the text that a language model would read.

    A score of None counts as that of the node before, for the first as the best one (ruling A2).
    The fragment's id is the node's place in the list.
    """
    relevance = rescale(_filled([node.score for node in nodes]))
    return [
        _fragment(place, node.node, score, counter)
        for place, (node, score) in enumerate(zip(nodes, relevance, strict=True))
    ]


def read_text(node: BaseNode) -> str:
    """The text of a node as a language model reads it."""
    return node.get_content(metadata_mode=MetadataMode.LLM)


def is_silent(node: BaseNode) -> bool:
    """Whether a node has nothing to read but something else to show, such as an image."""
    return not read_text(node).strip() and any(getattr(node, name, None) for name in _MEDIA)


def _fragment(
    place: int, node: BaseNode, relevance: float, counter: TokenCounter
) -> ContextFragment:
    text = read_text(node)
    return ContextFragment(
        fragment_id=str(place),
        uko_node=node.node_id or f"node:{place}",
        # a longer text is priced whole and passes whole; the fragment only stands for it
        content=text[:MAX_CONTENT_CHARS],
        token_count=counter.count(text) if len(text) > MAX_CONTENT_CHARS else 0,
        relevance_score=relevance,
        provenance=FragmentProvenance(resource_uri=_resource(node), location=node.node_id),
        created_at=CREATED,
    )


def _resource(node: BaseNode) -> str:
    source = node.relationships.get(NodeRelationship.SOURCE)
    if isinstance(source, list):  # `ref_doc_id` would raise
        source = source[0] if source else None
    return (source.node_id if source else None) or node.node_id or "node"


def _filled(scores: Sequence[float | None]) -> list[float]:
    filled: list[float] = []
    for score in scores:
        filled.append(score if score is not None else filled[-1] if filled else 1.0)
    return filled
