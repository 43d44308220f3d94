"""A LangChain retriever that answers with what fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import ensure_config, patch_config
from pydantic import ConfigDict, Field, SkipValidation, model_validator

from acms_adapters.config import Settings
from acms_adapters.errors import RequestError, UnknownNameError
from acms_adapters.indexing import ContextStore
from acms_adapters.langchain.documents import to_documents
from acms_adapters.langchain.stores import read_stores
from acms_adapters.langchain.tracing import (
    Assembles,
    aassemble_below,
    assemble_below,
    checked_pipeline,
)
from acms_adapters.models import ContextPayload, ContextRequest
from acms_adapters.pipeline import ACMSPipeline

_OWN = ("k", "max_tokens", "filter")


class ACMSRetriever(BaseRetriever):
    """Retrieves documents whose texts, joined by a blank line, are within a token budget.

    Attributes:
        pipeline: Decides what is read; shared with whoever else uses it.
        max_tokens: Tokens for all texts together (ruling A1), where no `budget` is asked for.
        k: Upper bound on the number of documents; None leaves it to the budget.
        request: Fields of `ContextRequest` for every call, such as
            ``{"resource_types": ["test"]}``.

    `max_tokens`, `k`, `filter` (metadata values a document must have) and every field of
    `ContextRequest` may also be given with a call: ``retriever.invoke(question, k=3)``. In a
    conversation give `history`, the texts of what was said before, oldest first.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    pipeline: SkipValidation[Assembles] = Field(exclude=True, repr=False)
    max_tokens: int = Field(default=4096, gt=0)
    k: int | None = Field(default=None, ge=1)
    request: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        checked_pipeline(self.pipeline)
        self._asked("", {})
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """A copy that asks the same pipeline, which has connections and threads of its own."""
        return super().__deepcopy__({**(memo or {}), id(self.pipeline): self.pipeline})

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        *,
        embedder: Any = "auto",
        settings: Settings | Mapping[str, Any] | None = None,
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

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **options: Any,
    ) -> Self:
        """Index texts in memory and retrieve from them.

        Args:
            texts: What to index.
            metadatas: Metadata of each text.
            ids: Id of each text; one that is left out is made from the text.
            **options: See `from_documents`.

        Raises:
            ValueError: One text alone, or not as many metadatas or ids as texts.
        """
        if isinstance(texts, str):
            raise RequestError(f"texts are a list of texts, not the text {texts!r:.80}")
        texts = list(texts)
        named = list(ids) if ids is not None else [None] * len(texts)
        described = [dict(m) for m in metadatas] if metadatas is not None else [{} for _ in texts]
        if not len(texts) == len(named) == len(described):
            raise RequestError(
                f"{len(texts)} texts need as many ids and metadatas, not {len(named)} and "
                f"{len(described)}"
            )
        documents = [
            Document(id=name, page_content=text, metadata=metadata)
            for text, metadata, name in zip(texts, described, named, strict=True)
        ]
        return cls.from_documents(documents, **options)

    @classmethod
    def from_store(
        cls, *stores: Any, settings: Settings | Mapping[str, Any] | None = None, **fields: Any
    ) -> Self:
        """Retrieve from stores that are there already; each of them embeds and searches itself.

        Args:
            *stores: A LangChain vector store, a retriever or anything that behaves like one, or a
                backend; at most one of a kind. Wrap a vector store in `VectorStoreBackend` to say
                what its scores mean.
            settings: Configuration of the pipeline.
            **fields: Fields of the retriever.

        Raises:
            ValueError: Nothing that can be searched, or two of a kind.
        """
        return cls(pipeline=ACMSPipeline(settings, backends=read_stores(stores)), **fields)

    def assemble(self, query: str, **options: Any) -> ContextPayload:
        """The whole payload for a question: fragments, ledger, metrics (ruling A5)."""
        request, limits = self._asked(query, options)
        return self.pipeline.assemble(request, **limits)

    async def aassemble(self, query: str, **options: Any) -> ContextPayload:
        """The same as `assemble`, without blocking the event loop."""
        request, limits = self._asked(query, options)
        return await self.pipeline.aassemble(request, **limits)

    def _asked(self, query: str, options: dict[str, Any]) -> tuple[ContextRequest, dict[str, Any]]:
        fields = {**self.request, **options, "query": query}
        most, tokens = self._limit("k", fields), self._limit("max_tokens", fields)
        fields.pop("verbose", None)  # LangChain's own
        if "filter" in fields:
            fields["metadata_filter"] = fields.pop("filter")
        for name in fields:
            if name not in ContextRequest.model_fields and name != "preferred_strategies":
                raise UnknownNameError("option", name, {*ContextRequest.model_fields, *_OWN})
        request = ContextRequest(**fields)
        limits = {
            "budget": tokens or request.budget or self.max_tokens,
            "max_fragments": most or self.k,
            "layout": "bare",
        }
        return request, limits

    @staticmethod
    def _limit(name: str, fields: dict[str, Any]) -> int | None:
        value = fields.pop(name, None)
        if value is None or (type(value) is int and value > 0):
            return value
        raise RequestError(f"{name} must be a whole number >= 1, not {value!r}")

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        # what runs inside becomes a child of this run, which the base class does not see to
        config = patch_config(ensure_config(), callbacks=run_manager.get_child())
        request, limits = self._asked(query, options)
        return to_documents(assemble_below(config, self.pipeline, request, **limits))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        config = patch_config(ensure_config(), callbacks=run_manager.get_child())
        request, limits = self._asked(query, options)
        return to_documents(await aassemble_below(config, self.pipeline, request, **limits))
