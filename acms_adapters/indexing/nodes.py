"""LlamaIndex nodes, by shape: `node_id`, `get_content`, `metadata`, `relationships`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from acms_adapters.indexing.documents import code_of, type_of, windowed
from acms_adapters.indexing.entries import (
    Entry,
    each,
    given_links,
    given_text,
    given_tier,
    given_time,
)
from acms_adapters.indexing.report import Skip
from acms_adapters.models import Edge
from acms_adapters.models.base import repair_text

_RELATIONS = {"1": "source", "2": "previous", "3": "next", "4": "parent", "5": "child"}


def read_nodes(nodes: Iterable[Any]) -> list[Entry | Skip]:
    """Nodes as entries: each a node of its own (ruling F8), tied as its relationships say.

    A node whose children are in the same call is found by its outline, because its children hold
    its text.

    Raises:
        TypeError: Something is no node.
    """
    plain = [getattr(node, "node", node) for node in each("nodes", nodes)]
    known = {str(getattr(node, "node_id", "")) for node in plain}
    return [_read(node, place, known) for place, node in enumerate(plain)]


def _read(node: Any, place: int, known: set[str]) -> Entry | Skip:
    get_content, metadata = getattr(node, "get_content", None), getattr(node, "metadata", None)
    if not callable(get_content) or not isinstance(metadata, Mapping):
        raise TypeError(
            f"nodes need get_content(), node_id and metadata, which number {place} has not: "
            f"{node!r:.200}"
        )
    uri = repair_text(str(getattr(node, "node_id", None) or ""))
    text = repair_text(str(get_content(metadata_mode="none") or ""))
    if not text.strip():
        return Skip(uri or f"node {place}", "no text")
    if not uri:
        raise TypeError(f"node number {place} has no node_id: {node!r:.200}")
    related = _related(node)
    source, parent = next(iter(related["source"]), ""), next(iter(related["parent"]), None)
    texts, depth = windowed(text, metadata)
    code = code_of(text, metadata)
    return Entry(
        uri=uri,
        texts=texts,
        searched_depth=depth,
        metadata=metadata,
        resource_uri=source or uri,
        location=_location(node),
        resource_type=given_text(metadata, "resource_type") or type_of(code),
        tier=given_tier(metadata),
        title=given_text(metadata, "title", "document_title", "section", "header_path"),
        parent=parent or source or None,
        has_children=bool(related["child"]) and known.issuperset(related["child"]),
        ties=tuple(_ties(uri, related)),
        links=given_links(metadata),
        created_at=given_time(metadata),
        code=code,
    )


def _ties(uri: str, related: Mapping[str, list[str]]) -> Iterator[Edge]:
    for child in related["child"]:
        yield Edge(source=uri, target=child, relation="contains")
    for following in related["next"]:
        yield Edge(source=uri, target=following, relation="next")
    for previous in related["previous"]:
        yield Edge(source=previous, target=uri, relation="next")


def _related(node: Any) -> dict[str, list[str]]:
    """Ids of related nodes by the name of the relationship."""
    related: dict[str, list[str]] = {name: [] for name in _RELATIONS.values()}
    own = str(getattr(node, "node_id", ""))
    for key, value in dict(getattr(node, "relationships", None) or {}).items():
        name = _RELATIONS.get(str(getattr(key, "value", key)))
        for info in value if isinstance(value, list) else [value]:
            other = repair_text(str(getattr(info, "node_id", "") or ""))
            if name and other and other != own:
                related[name].append(other)
    return related


def _location(node: Any) -> str:
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    if not isinstance(start, int) or not isinstance(end, int):
        return ""
    return f"characters {start}-{end}"
