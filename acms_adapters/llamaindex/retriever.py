"""A LlamaIndex retriever that answers with what fits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Self

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import (
    BaseNode,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import BaseDocumentStore, SimpleDocumentStore
from llama_index.core.vector_stores.types import MetadataFilters
from llama_index_instrumentation import get_dispatcher

from acms_adapters.config import Settings
from acms_adapters.errors import BudgetError, RequestError
from acms_adapters.indexing import ContextStore
from acms_adapters.llamaindex.candidates import Candidates
from acms_adapters.llamaindex.events import ContextPackedEvent
from acms_adapters.llamaindex.filters import filtered
from acms_adapters.llamaindex.nodes import METADATA_KEY, reworded
from acms_adapters.llamaindex.packing import pack_nodes
from acms_adapters.models import ContextBudget, ContextFragment, ContextPayload, ContextRequest
from acms_adapters.models.surplus import restore_surplus
from acms_adapters.pipeline import ACMSPipeline, FusionConfig
from acms_adapters.tokens import token_counter

dispatcher = get_dispatcher(__name__)


class ACMSRetriever(BaseRetriever):
    """Retrieves nodes whose texts, as a model reads them, fit a token budget (ruling A2).

    Args:
        pipeline: Decides what is read; shared with whoever else uses it.
        max_tokens: Tokens for all texts together, joined by a blank line.
        top_k: Upper bound on the number of nodes; None leaves it to the budget.
        filters: Which metadata nodes must have.
        docstore: Where the nodes themselves are; those found there come back as they are, with
            type, relationships and embedding.
        request: Fields of `ContextRequest` for every call.
        callback_manager: As for every retriever, like the three below.
        objects: Objects that index nodes lead to.
        object_map: The same by index id.
        verbose: Print what is entered.

    Raises:
        ValueError: A value is outside its range.
    """

    def __init__(
        self,
        pipeline: ACMSPipeline,
        *,
        max_tokens: int = 4096,
        top_k: int | None = None,
        filters: MetadataFilters | None = None,
        docstore: BaseDocumentStore | None = None,
        request: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
        objects: list[IndexNode] | None = None,
        object_map: dict[str, Any] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(callback_manager, object_map, objects, verbose)
        if isinstance(pipeline, BaseRetriever) or not hasattr(pipeline, "aassemble"):
            hint = "; pass the retriever's `pipeline`" if hasattr(pipeline, "pipeline") else ""
            raise RequestError(f"pipeline must be an ACMSPipeline, not {pipeline!r:.80}{hint}")
        if top_k is not None and (type(top_k) is not int or top_k < 1):
            raise BudgetError(f"top_k must be a whole number >= 1, not {top_k!r}")
        if filters is not None and not isinstance(filters, MetadataFilters):
            raise RequestError(
                f"filters must be MetadataFilters, not {filters!r:.80}: "
                "MetadataFilters.from_dict makes them of a mapping"
            )
        self.budget = ContextBudget.of(max_tokens)
        self.top_k = top_k
        self.request = dict(request or {})
        ContextRequest(**self.request)
        self.pipeline = pipeline
        self.docstore = docstore
        self.filters = filters

    @classmethod
    def from_nodes(
        cls,
        nodes: Iterable[BaseNode],
        *,
        embedder: Any = "auto",
        settings: Settings | Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Self:
        """Index nodes or documents in memory and retrieve from them.

        Args:
            nodes: What to index; they come back as they were.
            embedder: Anything `as_embedder` reads, such as a LlamaIndex embedding.
            settings: Configuration of the pipeline.
            **fields: Fields of the retriever.

        Raises:
            TypeError: Something is neither a node nor a document.
        """
        kept: list[Any] = list(nodes)
        for node in kept:
            if not isinstance(node, BaseNode):
                hint = "; pass its `node`" if isinstance(node, NodeWithScore) else ""
                raise TypeError(f"nodes are nodes or documents, not {node!r:.80}{hint}")
        docstore = SimpleDocumentStore()
        docstore.add_documents(kept, allow_update=True)
        store = ContextStore.in_memory(embedder=embedder)
        store.add_nodes(kept)
        return cls(store.pipeline(settings), docstore=docstore, **fields)

    def assemble(self, query: str | QueryBundle, **options: Any) -> ContextPayload:
        """The whole payload for a question: fragments, ledger, metrics (ruling A5).

        Args:
            query: The question.
            **options: More fields of `ContextRequest` for this call.
        """
        return self._narrowed().assemble(self._asked(query, options), **self._limits())

    async def aassemble(self, query: str | QueryBundle, **options: Any) -> ContextPayload:
        """The same as `assemble`, without blocking the event loop."""
        return await self._narrowed().aassemble(self._asked(query, options), **self._limits())

    def _asked(self, query: str | QueryBundle, options: Mapping[str, Any]) -> ContextRequest:
        question = query.query_str if isinstance(query, QueryBundle) else query
        return ContextRequest(**{"query": question, **self.request, **options})

    def _narrowed(self) -> ACMSPipeline:
        # at each call, so that strategies that were registered meanwhile count
        return filtered(self.pipeline, self.filters)

    def _limits(self) -> dict[str, Any]:
        return {"budget": self.budget, "max_fragments": self.top_k, "layout": "bare"}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(self.assemble(query_bundle), query_bundle)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        payload = await self.aassemble(query_bundle)
        return await asyncio.to_thread(self._nodes, payload, query_bundle)

    def _nodes(self, payload: ContextPayload, query: QueryBundle) -> list[NodeWithScore]:
        """Nodes of a payload, brought down once more where their metadata are read too."""
        dispatcher.event(ContextPackedEvent.of(payload))
        known = self._known(payload.fragments)
        nodes = [
            NodeWithScore(
                node=to_node(fragment, known.get(fragment.uko_node)),
                score=fragment.relevance_score,
            )
            for fragment in payload.fragments
        ]
        read = "\n\n".join(node.node.get_content(metadata_mode=MetadataMode.LLM) for node in nodes)
        counter = token_counter(self.request.get("tokenizer"))
        if counter.count(read) <= self.budget.available_tokens:
            return nodes
        candidates = Candidates.of(nodes, counter, window_key=None, counts_media=False)
        config = FusionConfig(order="as-given")
        return pack_nodes(candidates, self.budget, config, query=query.query_str).nodes

    def _known(self, fragments: Iterable[ContextFragment]) -> dict[str, BaseNode]:
        if self.docstore is None:
            return {}
        names = list(dict.fromkeys(fragment.uko_node for fragment in fragments))
        found = self.docstore.get_nodes(names, raise_error=False)
        return {node.node_id: node for node in found}


def to_node(fragment: ContextFragment, original: BaseNode | None = None) -> BaseNode:
    """A node for a fragment: the original where it is there, with the fragment's text."""
    note = {
        "uko_node": fragment.uko_node,
        "detail_depth": fragment.detail_depth,
        "tier": fragment.tier,
        "provenance": fragment.provenance.model_dump(mode="json"),
    }
    if original is not None:
        content = original.get_content(metadata_mode=MetadataMode.NONE)
        if content == fragment.content:
            return original
        return reworded(original, fragment.content, note)
    source = fragment.provenance.resource_uri
    relationships: dict[NodeRelationship, Any] = {}
    if source != fragment.uko_node:
        relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=source)
    return TextNode(
        id_=fragment.uko_node,
        text=fragment.content,
        metadata={**restore_surplus(fragment.metadata), METADATA_KEY: note},
        excluded_llm_metadata_keys=[METADATA_KEY],
        excluded_embed_metadata_keys=[METADATA_KEY],
        relationships=relationships,
    )
