"""Between LangChain documents and fragments."""

from __future__ import annotations

import copy
from typing import Any

from langchain_core.documents import Document

from acms_adapters.models import ContextFragment, ContextPayload
from acms_adapters.models.surplus import restore_surplus

METADATA_KEY = "acms"
"""Metadata key under which a returned document carries what the pipeline knows of it."""


def to_documents(payload: ContextPayload) -> list[Document]:
    """Turn a payload into documents, in reading order, each safe to change.

    A document keeps its own id and metadata; `relevance_score` and everything under ``acms``
    (node, depth, tier, tokens, provenance) are added.
    """
    return [_document(fragment) for fragment in payload.fragments]


def _document(fragment: ContextFragment) -> Document:
    metadata = copy.deepcopy(restore_surplus(fragment.metadata))
    metadata["relevance_score"] = fragment.relevance_score
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
