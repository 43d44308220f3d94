"""A LangChain document compressor that brings documents down to a token budget."""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal

from langchain_core.callbacks import Callbacks, adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableConfig
from pydantic import ConfigDict, Field

from acms_adapters.indexing.documents import read_documents
from acms_adapters.indexing.entries import Entry, to_resource
from acms_adapters.langchain.documents import METADATA_KEY, describe, to_fragments
from acms_adapters.langchain.tracing import ASSEMBLED, summary
from acms_adapters.models import ContextBudget, ContextFragment, ContextPayload, Rendering
from acms_adapters.models.fragment import MAX_DEPTH
from acms_adapters.models.layout import render
from acms_adapters.pipeline import FusionConfig, FusionEngine
from acms_adapters.pipeline.reranking import Passage, heading_of, rerank
from acms_adapters.tokens import token_counter

Order = Literal["as-given", "relevance", "edges"]
Ranking = Literal["question", "given"]


class ACMSDocumentCompressor(BaseDocumentCompressor):
    """Keeps the documents whose texts, joined by a blank line, fit a token budget (ruling A1).

    Fits behind any retriever, as the last step: `ContextualCompressionRetriever(
    base_compressor=ACMSDocumentCompressor(max_tokens=2000), base_retriever=...)`. Needs nothing
    but the documents, and never changes them.

    Where no document fits as a whole, they are shown by their outlines, and say so under ``acms``
    in their metadata; ids and all other metadata come out as they went in.

    Attributes:
        max_tokens: Tokens for all texts together.
        k: Upper bound on the number of documents.
        tokenizer: How to count; anything `token_counter` reads.
        ranking: Which documents are kept. ``question``: the best by the order of their
            ``relevance_score``, else of their places, and beside it by what their texts say about
            the question; ``given``: by that order alone, for documents that a reranker has rated.
        order: How they are put. ``as-given`` keeps the order of the input; ``relevance`` puts the
            best first; ``edges`` puts the best at both ends.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    max_tokens: int = Field(gt=0)
    k: int | None = Field(default=None, ge=1)
    tokenizer: Any = None
    ranking: Ranking = "question"
    order: Order = "as-given"

    def explain(self, documents: Sequence[Document], query: str = "") -> ContextPayload:
        """What would be kept, and what would be left out and why (ruling A5).

        Fragment ids are places in `documents`.
        """
        counter = token_counter(self.tokenizer)
        budget = ContextBudget(max_tokens=self.max_tokens)
        fragments = to_fragments(documents, counter)
        if self.ranking == "question":
            fragments = _reranked(query, documents, fragments)
        fuse = partial(
            FusionEngine(FusionConfig(order=self.order)).fuse,
            fragments,
            budget,
            counter=counter,
            layout="bare",
            max_fragments=self.k,
        )
        fused = fuse()
        if fragments and not fused.fragments:
            fused = fuse(renderings=_Outlines(documents, fragments))
        return ContextPayload(
            fragments=tuple(fused.fragments),
            budget=budget,
            layout="bare",
            rendered_tokens=counter.count(render(fused.fragments, layout="bare")),
            ledger=fused.ledger,
        )

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents that fit, as copies."""
        payload = self.explain(documents, query)
        if (config := _below(callbacks)) is not None:
            dispatch_custom_event(ASSEMBLED, summary(payload), config=config)
        return _kept(documents, payload.fragments)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The same as `compress_documents`, without blocking the event loop."""
        payload = await asyncio.to_thread(self.explain, documents, query)
        if (config := _below(callbacks)) is not None:
            await adispatch_custom_event(ASSEMBLED, summary(payload), config=config)
        return _kept(documents, payload.fragments)


def _reranked(
    query: str, documents: Sequence[Document], fragments: Sequence[ContextFragment]
) -> list[ContextFragment]:
    relevance = rerank(
        query,
        [*map(_passage, documents)],
        [fragment.relevance_score for fragment in fragments],
    )
    return [
        fragment.model_copy(update={"relevance_score": score})
        for fragment, score in zip(fragments, relevance, strict=True)
    ]


def _passage(document: Document) -> Passage:
    """What ranks a document: its text, and its title, which need not stand in the text."""
    text, title = document.page_content, document.metadata.get("title")
    heading = heading_of(text)
    if isinstance(title, str) and title not in heading:
        return Passage(f"{title}\n{text}", f"{title}\n{heading}")
    return Passage(text, heading)


def _below(callbacks: Callbacks | None) -> RunnableConfig | None:
    # an event needs a run to belong to
    has_run = getattr(callbacks, "parent_run_id", None) is not None
    return {"callbacks": callbacks} if has_run else None


def _kept(documents: Sequence[Document], fragments: Iterable[ContextFragment]) -> list[Document]:
    return [_copied(documents[int(f.fragment_id)], f) for f in fragments]


def _copied(document: Document, fragment: ContextFragment) -> Document:
    changes: dict[str, Any] = {"metadata": copy.deepcopy(document.metadata)}
    if fragment.detail_depth < MAX_DEPTH:
        changes["page_content"] = fragment.content
        changes["metadata"][METADATA_KEY] = describe(fragment)
    return document.model_copy(update=changes)


class _Outlines:
    """Lower renderings of documents (ruling F6)."""

    def __init__(self, documents: Sequence[Document], fragments: Sequence[ContextFragment]) -> None:
        nodes = Counter(fragment.uko_node for fragment in fragments)
        self._documents = {
            fragment.uko_node: document
            for document, fragment in zip(documents, fragments, strict=True)
            # an outline belongs to a node, and texts that share an id share theirs
            if nodes[fragment.uko_node] == 1
        }

    def at(self, node: str, depth: int) -> Rendering | None:
        """The deepest rendering at or below `depth`."""
        below = [r for r in self._renderings(node) if r.detail_depth <= depth]
        return below[-1] if below else None

    def depths(self, node: str) -> list[int]:
        """Depths there are, ascending."""
        return [rendering.detail_depth for rendering in self._renderings(node)]

    def _renderings(self, node: str) -> list[Rendering]:
        if node not in self._documents:
            return []
        entries = [e for e in read_documents([self._documents[node]]) if isinstance(e, Entry)]
        return [
            Rendering(uko_node=node, detail_depth=depth, content=content)
            for entry in entries
            for depth, content in sorted(to_resource(entry).nodes[0].renderings.items())
            if depth < MAX_DEPTH
        ]
