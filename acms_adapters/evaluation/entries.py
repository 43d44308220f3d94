"""Passages as documents that a user would add to a store."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from typing import Any

from acms_adapters.evaluation.dataset import Dataset, Passage
from acms_adapters.indexing.documents import read_documents
from acms_adapters.indexing.entries import Entry, with_ties
from acms_adapters.indexing.parts import WHOLE_TOKENS, rough_tokens, split_parts
from acms_adapters.indexing.report import Skip
from acms_adapters.models import Edge

RELATIONS = frozenset(("contains", "imports", "calls", "inherits", "links", "next"))
"""What indexed text is tied by; a link of another type becomes one of `links`."""

_PART = "#part-"


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageDocument:
    """A passage in the shape of a LangChain document."""

    id: str
    page_content: str
    metadata: dict[str, Any]

    @classmethod
    def of(cls, passage: Passage) -> PassageDocument:
        """Title and text as what is read, the title among the metadata too."""
        metadata = {"title": passage.title, **passage.metadata}
        return cls(id=passage.id, page_content=passage.whole, metadata=metadata)


def entries_of(dataset: Dataset) -> Iterator[Entry | Skip]:
    """What `ContextStore.add_documents` would make of the passages, their links among its edges."""
    ties: dict[str, list[Edge]] = {}
    for link in dataset.links:
        relation = link.relation if link.relation in RELATIONS else "links"
        ties.setdefault(link.source, []).append(replace(link, relation=relation))
    for entry in read_documents(map(PassageDocument.of, dataset.passages)):
        tied = isinstance(entry, Entry) and entry.uri in ties
        yield with_ties(entry, ties[entry.uri]) if tied and isinstance(entry, Entry) else entry


def pieces_of(passage: Passage) -> tuple[str, ...]:
    """The text that has to be read: as one, or by the parts that a long one also has."""
    if rough_tokens(passage.whole) <= WHOLE_TOKENS:
        return (passage.text,)
    return tuple(part.text for part in split_parts(passage.whole))


def passage_of(node: str, passages: Container[str]) -> str:
    """The passage that a node is or is a part of; empty for none."""
    if node in passages:
        return node
    whole = node.rpartition(_PART)[0]
    return whole if whole in passages else ""
