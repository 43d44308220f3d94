"""LangChain documents, by shape: `page_content`, `metadata`, `id`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from acms_adapters.indexing.code_text import CodeText, is_code, read_code
from acms_adapters.indexing.entries import (
    Entry,
    each,
    given_links,
    given_text,
    given_tier,
    given_time,
    made_uri,
    with_ties,
)
from acms_adapters.indexing.kinds import resource_type
from acms_adapters.indexing.report import Skip
from acms_adapters.models import Edge
from acms_adapters.models.base import repair_text
from acms_adapters.models.fragment import MAX_DEPTH

SENTENCE_DEPTH = 4
"""Depth of a sentence whose full text is the window around it."""


def read_documents(documents: Iterable[Any]) -> list[Entry | Skip]:
    """Documents as entries, those of one source tied in the order they came.

    Of the metadata, ``uko_node``, ``source``, ``resource_type``, ``tier``, ``title``,
    ``created_at``, ``links``, ``parent_id`` and ``window`` mean something; all of
    them are kept as they are. Where ``path``, ``file_path`` or ``source`` is that of a file of
    code, the text is searched by path, qualified name (``qualname``), signature, docstring and
    body, and has shorter renderings.

    Raises:
        TypeError: Something is no document.
    """
    read = [_read(document, place) for place, document in enumerate(each("documents", documents))]
    return list(_in_sequence(read))


def windowed(text: str, metadata: Mapping[Any, Any]) -> tuple[dict[int, str], int]:
    """Texts by depth and the depth that is searched.

    A sentence with a window around it is a lower depth of that window.
    """
    window = metadata.get("window")
    if isinstance(window, str) and text.strip() in window and len(text) < len(window):
        return {SENTENCE_DEPTH: text.strip(), MAX_DEPTH: repair_text(window)}, SENTENCE_DEPTH
    return {MAX_DEPTH: text}, MAX_DEPTH


def _read(document: Any, place: int) -> Entry | Skip:
    text, metadata = getattr(document, "page_content", None), getattr(document, "metadata", None)
    if not isinstance(text, str) or not isinstance(metadata, Mapping | None):
        raise TypeError(
            f"documents need a text page_content and metadata, which number {place} has not: "
            f"{document!r:.200}"
        )
    metadata = {} if metadata is None else metadata
    text, given = repair_text(text), getattr(document, "id", None)
    source, location = given_text(metadata, "source"), place_in_source(metadata)
    uri = given_text(metadata, "uko_node") or ("" if given is None else repair_text(str(given)))
    if not text.strip():
        return Skip(uri or f"document {place}", "empty")
    uri = uri or made_uri(source, location, text)
    texts, depth = windowed(text, metadata)
    parent = given_text(metadata, "parent_id", "parent")
    code = code_of(text, metadata)
    return Entry(
        uri=uri,
        texts=texts,
        searched_depth=depth,
        metadata=metadata,
        resource_uri=source or (code.fields["path"] if code else uri),
        location=location,
        resource_type=given_text(metadata, "resource_type") or type_of(code),
        tier=given_tier(metadata),
        title=given_text(metadata, "title"),
        parent=parent if parent != uri else None,
        links=given_links(metadata),
        created_at=given_time(metadata),
        code=code,
    )


def code_of(text: str, metadata: Mapping[Any, Any]) -> CodeText | None:
    """What a text is searched by, if the metadata name a file of code that it stands in."""
    path = given_text(metadata, "path", "file_path", "source")
    if not is_code(path):
        return None
    name = given_text(metadata, "qualname", "qualified_name")
    return read_code(text, path=path, title=given_text(metadata, "title"), name=name)


def type_of(code: CodeText | None) -> str:
    """The kind of resource that a text is, by the path it stands in (ruling M4)."""
    return resource_type(code.fields["path"]) if code else "document"


def place_in_source(metadata: Mapping[Any, Any]) -> str:
    """Where in its source a text stands, from what loaders and splitters write."""
    if location := given_text(metadata, "location"):
        return location
    said = [
        f"{name.replace('start_index', 'character')} {value}"
        for name in ("page", "row", "seq_num", "start_index")
        if isinstance(value := metadata.get(name), int | str) and not isinstance(value, bool)
    ]
    return ", ".join(said)


def _in_sequence(entries: list[Entry | Skip]) -> Iterator[Entry | Skip]:
    """Tie each document to the next one of the same source."""
    sources: dict[str, list[str]] = {}
    for entry in entries:
        if isinstance(entry, Entry) and entry.resource_uri != entry.uri:
            sources.setdefault(entry.resource_uri, []).append(entry.uri)
    following: dict[str, str] = {}
    for uris in sources.values():
        following.update(pairwise(dict.fromkeys(uris)))
    for entry in entries:
        if isinstance(entry, Skip) or entry.uri not in following:
            yield entry
        else:
            target = following[entry.uri]
            yield with_ties(entry, [Edge(source=entry.uri, target=target, relation="next")])
