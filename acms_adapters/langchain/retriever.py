"""A LangChain retriever that answers with what fits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import ensure_config, patch_config, set_config_context
from pydantic import ConfigDict, Field, SkipValidation

from acms_adapters.indexing import ContextStore
from acms_adapters.langchain.documents import to_documents
from acms_adapters.models import ContextPayload, ContextRequest
from acms_adapters.pipeline import ACMSPipeline

EVENT = "acms.assembled"
"""Name of the custom event that carries the figures and the ledger of a retrieval (ruling A5)."""


class ACMSRetriever(BaseRetriever):
    """Retrieves documents whose texts, joined by a blank line, are within a token budget.

    Attributes:
        pipeline: Decides what is read; shared with whoever else uses it.
        max_tokens: Tokens for all texts together (ruling A1).
        k: Upper bound on the number of documents; None leaves it to the budget.
        request: Fields of `ContextRequest` for every call, such as
            ``{"resource_types": ["test"]}``.

    `max_tokens`, `k`, `filter` (metadata values a document must have) and every field of
    `ContextRequest` may also be given with a call: ``retriever.invoke(question, k=3)``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    pipeline: SkipValidation[ACMSPipeline] = Field(exclude=True, repr=False)
    max_tokens: int = Field(default=4096, gt=0)
    k: int | None = Field(default=None, ge=1)
    request: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        *,
        embedder: Any = "auto",
        settings: Any = None,
        **fields: Any,
    ) -> Self:
        """Index documents in memory and retrieve from them.

        Args:
            documents: What to index; ids and metadata come back as they were.
            embedder: Anything `as_embedder` reads, such as a LangChain embedding.
            settings: Configuration of the pipeline.
            **fields: Fields of the retriever.
        """
        store = ContextStore.in_memory(embedder=embedder)
        store.add_documents(documents)
        return cls(pipeline=store.pipeline(settings), **fields)

    def assemble(self, query: str, **options: Any) -> ContextPayload:
        """The whole payload for a question: fragments, ledger, metrics (ruling A5)."""
        return self.pipeline.assemble(self._request(query, options), **self._limits(options))

    async def aassemble(self, query: str, **options: Any) -> ContextPayload:
        """The same as `assemble`, without blocking the event loop."""
        request = self._request(query, options)
        return await self.pipeline.aassemble(request, **self._limits(options))

    def _request(self, query: str, options: dict[str, Any]) -> ContextRequest:
        asked = {**self.request, **options}
        for name in ("k", "max_tokens", "verbose"):
            asked.pop(name, None)
        if "filter" in asked:
            asked["metadata_filter"] = asked.pop("filter")
        return ContextRequest(**{"query": query, **asked})

    def _limits(self, options: dict[str, Any]) -> dict[str, Any]:
        def given(name: str) -> Any:
            value = options.get(name)
            return getattr(self, name) if value is None else value

        k = given("k")
        if k is not None and k < 1:
            raise ValueError(f"k must be at least 1, not {k!r}")
        return {"budget": given("max_tokens"), "max_fragments": k, "layout": "bare"}

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        # what runs inside becomes a child of this run, which the base class does not see to
        config = patch_config(ensure_config(), callbacks=run_manager.get_child())
        with set_config_context(config) as context:
            payload = context.run(self.assemble, query, **options)
            context.run(dispatch_custom_event, EVENT, summary(payload))
        return to_documents(payload)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        config = patch_config(ensure_config(), callbacks=run_manager.get_child())
        with set_config_context(config) as context:
            payload = await asyncio.create_task(self.aassemble(query, **options), context=context)
            await adispatch_custom_event(EVENT, summary(payload), config=config)
        return to_documents(payload)


def summary(payload: ContextPayload) -> dict[str, Any]:
    """Figures, failures and ledger of a payload, as JSON types."""
    return {
        "metrics": payload.metrics,
        "failures": [str(failure) for failure in payload.failures],
        "left_out": [
            {"uko_node": entry.uko_node, "reason": entry.reason.value, "why": entry.explain()}
            for entry in payload.ledger.entries
        ],
    }
