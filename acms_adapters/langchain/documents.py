"""Between LangChain documents and fragments."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from langchain_core.documents import Document

from acms_adapters.indexing.documents import read_documents
from acms_adapters.indexing.entries import Entry
from acms_adapters.models import ContextFragment, ContextPayload, FragmentProvenance
from acms_adapters.models.fragment import MAX_CONTENT_CHARS, content_hash
from acms_adapters.models.scores import rescale
from acms_adapters.models.surplus import restore_surplus
from acms_adapters.protocols import TokenCounter

METADATA_KEY = "acms"
"""Metadata key under which a returned document carries what the pipeline knows of it."""

SCORE_KEY = "relevance_score"
"""Metadata key of a document's score, as LangChain's own rerankers write it."""

CREATED = "1970-01-01T00:00:00Z"  # of documents without a time; a fixed one is reproducible


def to_documents(payload: ContextPayload) -> list[Document]:
    """Turn a payload into documents, in reading order, each safe to change.

    A document keeps its own id and metadata; `relevance_score` and everything under ``acms``
    (node, depth, tier, tokens, provenance) are added.
    """
    return [_document(fragment) for fragment in payload.fragments]


def _document(fragment: ContextFragment) -> Document:
    metadata = copy.deepcopy(restore_surplus(fragment.metadata))
    metadata[SCORE_KEY] = fragment.relevance_score
    metadata[METADATA_KEY] = describe(fragment)
    return Document(
        id=fragment.uko_node,
        page_content=fragment.content,
        metadata=metadata,
    )


def describe(fragment: ContextFragment) -> dict[str, Any]:
    """What the pipeline knows of a fragment, as JSON types."""
    return {
        "uko_node": fragment.uko_node,
        "fragment_id": fragment.fragment_id,
        "detail_depth": fragment.detail_depth,
        "tier": fragment.tier,
        "token_count": fragment.token_count,
        "provenance": fragment.provenance.model_dump(mode="json"),
        "created_at": fragment.created_at.isoformat(),
    }


def to_fragments(documents: Sequence[Document], counter: TokenCounter) -> list[ContextFragment]:
    """One fragment for each document, in order; its id is the document's place in the list.

    Documents without a score are ranked by their places.
    """
    scores = ranked_scores(documents)
    return [
        _fragment(place, document, score, counter)
        for place, (document, score) in enumerate(zip(documents, scores, strict=True))
    ]


def ranked_scores(documents: Sequence[Document]) -> list[float]:
    """Relevance of documents in [0, 1]: their scores, or their places where none has a score.

    Among documents with scores, one without takes that of the document before, the first the best.
    """
    given = [score_of(document) for document in documents]
    known = [score for score in given if score is not None]
    if not known:
        return [1.0 / (1 + place) for place in range(len(documents))]
    filled, last = [], max(known)
    for score in given:
        last = last if score is None else score
        filled.append(last)
    return rescale(filled)


def score_of(document: Document) -> float | None:
    """The score that a document carries, if it is a number."""
    score = document.metadata.get(SCORE_KEY)
    is_number = isinstance(score, Real) and not isinstance(score, bool)
    return float(score) if is_number and not math.isnan(score) else None  # type: ignore[arg-type]


def _fragment(
    place: int, document: Document, relevance: float, counter: TokenCounter
) -> ContextFragment:
    (entry,) = read_documents([document])
    text = document.page_content
    fields: dict[str, Any] = {"uko_node": f"document:{place}"}
    if isinstance(entry, Entry):
        fields = {
            "uko_node": entry.uri,
            "tier": entry.tier,
            "provenance": FragmentProvenance(
                resource_uri=entry.resource_uri,
                location=content_hash(text),  # texts that share an id are two things (ruling F8)
                resource_type=entry.resource_type,
            ),
        }
    return ContextFragment(
        fragment_id=str(place),
        # a longer text is priced whole and passes whole; the fragment only stands for it
        content=text[:MAX_CONTENT_CHARS],
        token_count=counter.count(text),
        relevance_score=relevance,
        created_at=CREATED,
        **fields,
    )
