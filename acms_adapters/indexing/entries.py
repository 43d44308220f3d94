"""Texts that callers bring: documents of LangChain, nodes of LlamaIndex, fragments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from acms_adapters.indexing.code_text import CodeText
from acms_adapters.indexing.parts import WHOLE_TOKENS, rough_tokens, split_parts
from acms_adapters.indexing.prose import first_line_of, prose_outline
from acms_adapters.indexing.report import Skip
from acms_adapters.indexing.source import (
    Names,
    containment,
    keep_renderings,
    outline_depth,
    part_nodes,
    sequence,
)
from acms_adapters.models import TIERS, Edge, IndexedNode, IndexedResource, Reference, Tier
from acms_adapters.models.base import as_utc, repair_text
from acms_adapters.models.fragment import MAX_DEPTH
from acms_adapters.models.surplus import nest_surplus

FORMAT = "entry-2:"
"""How every entry's hash begins; another one makes all of them be written anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One text, ready to be kept.

    Attributes:
        uri: URI of its node.
        texts: The text by depth; the one to be searched is at `searched_depth`.
        metadata: As it came.
        resource_uri: The source it stands in.
        parent: URI of the node that contains it.
        has_children: Whether what it holds is there as nodes of their own.
        ties: Edges that touch it.
        links: Names of what it links to.
        code: What it is searched by, where it is code.
    """

    uri: str
    texts: Mapping[int, str]
    metadata: Mapping[Any, Any]
    resource_uri: str
    searched_depth: int = MAX_DEPTH
    location: str = ""
    resource_type: str = "document"
    tier: Tier = "warm"
    title: str = ""
    parent: str | None = None
    has_children: bool = False
    ties: tuple[Edge, ...] = ()
    links: tuple[str, ...] = ()
    created_at: datetime | None = None
    code: CodeText | None = None

    @property
    def text(self) -> str:
        """The text that is searched."""
        return self.texts[self.searched_depth]


def each(kind: str, given: Iterable[Any]) -> Iterable[Any]:
    """What a call was given.

    Raises:
        TypeError: One thing or none, where a list is meant.
    """
    if isinstance(given, str | bytes | Mapping | BaseModel) or not isinstance(given, Iterable):
        raise TypeError(f"{kind} must be a list of them, not {given!r:.200}")
    return given


def unique(entries: Iterable[Entry | Skip]) -> tuple[list[Entry], list[Skip]]:
    """Entries with one for each URI, the last of a kind, and what was left out (ruling B3)."""
    kept: dict[str, Entry] = {}
    skipped: list[Skip] = []
    for entry in entries:
        if isinstance(entry, Skip):
            skipped.append(entry)
            continue
        if entry.uri in kept:
            skipped.append(Skip(entry.uri, "given again later in the same call"))
        kept[entry.uri] = entry
    return list(kept.values()), skipped


def to_resource(entry: Entry) -> IndexedResource:
    """A text as a resource of its own: one node, and parts of it if it is long (ruling M6)."""
    text = entry.text
    is_long = rough_tokens(text) > WHOLE_TOKENS
    node = _node(entry, [part.text for part in split_parts(text)] if is_long else [text])
    parts = (
        part_nodes(node, text, names=Names(entry.uri), is_prose=entry.code is None)
        if is_long
        else []
    )
    edges = [
        *containment([node, *parts]),
        *sequence(part.uko_node for part in parts),
        *entry.ties,
    ]
    return IndexedResource(
        resource_uri=entry.uri,
        content_hash=_hash(entry),
        nodes=(node, *parts),
        edges=tuple(dict.fromkeys(edges)),
        references=tuple(
            Reference(source=entry.uri, name=name, relation="links") for name in entry.links
        ),
    )


def _node(entry: Entry, pieces: Sequence[str]) -> IndexedNode:
    text, depth, code = entry.text, entry.searched_depth, entry.code
    first = first_line_of(text)
    outlines = code.renderings if code else {0: first, 4: prose_outline(first, pieces)}
    below = {
        at: outline
        for at, outline in outlines.items()
        if at < depth and at not in entry.texts and len(outline) < len(text)
    }
    renderings = keep_renderings({**below, **entry.texts})
    is_whole = depth in renderings and not entry.has_children
    return IndexedNode(
        uko_node=entry.uri,
        kind="document",
        resource_uri=entry.resource_uri,
        location=entry.location,
        resource_type=entry.resource_type,
        parent=entry.parent,
        names=code.names if code else (entry.title,) if entry.title else (),
        fields=code.fields
        if code
        else {"title": entry.title, "body": text if is_whole else outlines[4]},
        renderings=renderings,
        searched_depth=depth if is_whole else outline_depth(renderings),
        metadata=nest_surplus(entry.metadata),
        tier=entry.tier,
        created_at=entry.created_at,
    )


def given_text(metadata: Mapping[Any, Any], *names: str) -> str:
    """The first of some metadata values that is a text and not empty."""
    values = (metadata.get(name) for name in names)
    return next((repair_text(v) for v in values if isinstance(v, str) and v.strip()), "")


def given_tier(metadata: Mapping[Any, Any]) -> Tier:
    """The tier that metadata name; warm if they name none."""
    return next((tier for tier in TIERS if tier == metadata.get("tier")), "warm")


def given_time(metadata: Mapping[Any, Any]) -> datetime | None:
    """When a text was made, if its metadata say so in a way that can be read."""
    value = metadata.get("created_at")
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    try:
        return as_utc(value) if isinstance(value, datetime) else None
    except ValueError:
        return None


def given_links(metadata: Mapping[Any, Any]) -> tuple[str, ...]:
    """Names that metadata list as links."""
    links = metadata.get("links")
    if not isinstance(links, list | tuple):
        return ()
    return tuple(repair_text(link) for link in links if isinstance(link, str) and link)


def made_uri(*parts: str) -> str:
    """A URI for a text that came without an id (ruling B3)."""
    return f"document:{_digest(parts)}"


def with_ties(entry: Entry, ties: Iterable[Edge]) -> Entry:
    """The entry with some edges more."""
    return replace(entry, ties=(*entry.ties, *ties))


def _hash(entry: Entry) -> str:
    values: list[Any] = []
    for name in Entry.__slots__:
        value = getattr(entry, name)
        values.append([name, dict(value) if isinstance(value, Mapping) else value])
    return FORMAT + _digest(values)


def _digest(value: Any) -> str:
    try:
        data = json.dumps(value, default=str)
    except (TypeError, ValueError):  # keys that are no text, or what contains itself
        data = repr(value)
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()
