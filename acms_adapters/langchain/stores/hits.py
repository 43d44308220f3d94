"""From LangChain documents that a store found to hits."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace

from langchain_core.documents import Document

from acms_adapters.indexing.documents import read_documents
from acms_adapters.indexing.entries import Entry
from acms_adapters.indexing.parts import split_parts
from acms_adapters.models import FragmentProvenance, SearchHit
from acms_adapters.models.fragment import MAX_CONTENT_CHARS
from acms_adapters.models.surplus import nest_surplus

_PART_TOKENS = 50_000  # of a text that is too long for one fragment


def to_hits(documents: Iterable[Document], scores: Iterable[float]) -> list[SearchHit]:
    """Hits in the order of the documents, each node once; documents without text are left out."""
    hits: dict[str, SearchHit] = {}
    for document, score in zip(documents, scores, strict=True):
        (entry,) = read_documents([document])
        if isinstance(entry, Entry):
            for hit in _hits(entry, score):
                hits.setdefault(hit.uko_node, hit)
    return list(hits.values())


def _hits(entry: Entry, score: float) -> Iterator[SearchHit]:
    whole = SearchHit(
        uko_node=entry.uri,
        content=entry.text,
        score=score,
        detail_depth=entry.searched_depth,
        metadata=nest_surplus(copy.deepcopy(dict(entry.metadata))),
        provenance=FragmentProvenance(
            resource_uri=entry.resource_uri,
            location=entry.location,
            resource_type=entry.resource_type,
        ),
        tier=entry.tier,
        created_at=entry.created_at,
    )
    if len(entry.text) <= MAX_CONTENT_CHARS:
        yield whole
        return
    for number, part in enumerate(split_parts(entry.text, limit=_PART_TOKENS), 1):
        assert whole.provenance is not None
        yield replace(
            whole,
            uko_node=f"{entry.uri}#part-{number}",
            content=part.text,
            provenance=whole.provenance.model_copy(update={"location": part.location}),
        )
