"""Between LlamaIndex nodes and fragments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.schema import (
    BaseNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
)

from acms_adapters.models.base import repair_text
from acms_adapters.models.scores import rescale

METADATA_KEY = "acms"
"""Under this key a node that was rendered at another depth says so; no model reads it."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A node as a language model reads it.

    Attributes:
        text: All of it.
        content: The node's own text, without metadata.
        before: What stands before the content; None where the content is not found in the text.
        after: What stands behind it.
        window: The text around the content, of a node made by a sentence window parser.
    """

    text: str
    content: str
    before: str | None
    after: str = ""
    window: str | None = None

    @classmethod
    def of(cls, node: BaseNode, *, window_key: str | None = None) -> Wording:
        """Read a node; lone surrogates are repaired."""
        text = repair_text(node.get_content(metadata_mode=MetadataMode.LLM))
        content = repair_text(node.get_content(metadata_mode=MetadataMode.NONE))
        core = content.strip()
        window = node.metadata.get(window_key) if window_key else None
        known = isinstance(window, str) and len(core) < len(window) and core in window
        at = text.rfind(core) if core else -1
        return cls(
            text=text,
            content=content,
            before=text[:at] if at >= 0 else None,
            after=text[at + len(core) :] if at >= 0 else "",
            window=repair_text(str(window)) if core and known and at >= 0 else None,
        )

    @property
    def full(self) -> str:
        """The text at full depth: with the window in place of the sentence."""
        return self.text if self.window is None else self.saying(self.window)

    def saying(self, content: str) -> str:
        """The text with another content in place of its own."""
        return f"{self.before or ''}{content}{self.after}"


def reworded(
    node: BaseNode, content: str, note: Mapping[str, Any], *, bare: bool = False
) -> BaseNode:
    """A copy with another content; ids, relationships, embeddings and metadata stay.

    Args:
        note: What the copy's metadata say of it; neither models nor embedders read that.
        bare: Hide all other metadata from language models as well.
    """
    hidden = [*node.metadata] if bare else []
    llm = dict.fromkeys([*node.excluded_llm_metadata_keys, *hidden, METADATA_KEY])
    embed = dict.fromkeys([*node.excluded_embed_metadata_keys, METADATA_KEY])
    changes: dict[str, Any] = {
        "metadata": {**node.metadata, METADATA_KEY: dict(note)},
        "excluded_llm_metadata_keys": [*llm],
        "excluded_embed_metadata_keys": [*embed],
    }
    if isinstance(node, Node):
        resource = node.text_resource or MediaResource()
        changes["text_resource"] = resource.model_copy(update={"text": content})
        return node.model_copy(update=changes)
    copy = node.model_copy(update=changes)
    copy.set_content(content)
    return copy


def relevances(nodes: Sequence[NodeWithScore]) -> list[float]:
    """Scores in [0, 1]; None counts as the one before, at the beginning as the best (A2)."""
    filled: list[float] = []
    for node in nodes:
        filled.append(node.score if node.score is not None else filled[-1] if filled else 1.0)
    return rescale(filled)


def resources(nodes: Sequence[BaseNode]) -> Iterator[str]:
    """What each node is a part of: its source, else the outermost parent that is there too."""
    known = {node.node_id: node for node in nodes}
    for node in nodes:
        yield _resource(node, known) or "node"


def _resource(node: BaseNode, known: Mapping[str, BaseNode]) -> str:
    seen: set[str] = set()
    while node.node_id not in seen:
        seen.add(node.node_id)
        if source := related(node, NodeRelationship.SOURCE):
            return source[0]
        parents = related(node, NodeRelationship.PARENT)
        if not parents:
            break
        if parents[0] not in known:
            return parents[0]
        node = known[parents[0]]
    return node.node_id


def related(node: BaseNode, relationship: NodeRelationship) -> list[str]:
    """Ids of related nodes; the framework's own properties raise where there are several."""
    infos = node.relationships.get(relationship) or []
    infos = infos if isinstance(infos, list) else [infos]
    return [info.node_id for info in infos if info.node_id]
