"""A LlamaIndex node postprocessor that brings nodes down to a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from llama_index.core.bridge.pydantic import ConfigDict, Field, model_validator
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index_instrumentation import get_dispatcher

from acms_adapters.llamaindex.events import ContextPackedEvent
from acms_adapters.llamaindex.nodes import is_silent, to_fragments
from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    Ledger,
    LedgerEntry,
    LeftOut,
)
from acms_adapters.models.layout import render
from acms_adapters.pipeline import FusionConfig, FusionEngine
from acms_adapters.protocols import TokenCounter
from acms_adapters.tokens import DEFAULT_ENCODING, token_counter

dispatcher = get_dispatcher(__name__)

Order = Literal["as-given", "relevance", "edges"]


class ACMSNodePostprocessor(BaseNodePostprocessor):
    """Keeps the nodes whose texts, as a model reads them, fit a token budget (ruling A2).

    Needs nothing but the nodes: no store, no network. Input nodes are never changed.

    Attributes:
        max_tokens: All tokens there are.
        reserved_tokens: Tokens of those kept for other text.
        tokenizer: Name of the encoding or model to count by.
        order: ``as-given`` keeps the order of the input; ``relevance`` puts the best first;
            ``edges`` puts the best at both ends.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    max_tokens: int = Field(gt=0)
    reserved_tokens: int = Field(default=0, ge=0)
    tokenizer: str = DEFAULT_ENCODING
    order: Order = "as-given"

    @model_validator(mode="after")
    def _leave_something(self) -> Self:
        ContextBudget(max_tokens=self.max_tokens, reserved_tokens=self.reserved_tokens)
        return self

    @classmethod
    def class_name(cls) -> str:
        """Name under which it is serialised."""
        return "ACMSNodePostprocessor"

    def explain(
        self, nodes: Sequence[NodeWithScore], query: QueryBundle | str | None = None
    ) -> ContextPayload:
        """What would be kept, and what would be left out and why (ruling A5).

        Fragment ids are places in `nodes`, node URIs are node ids.
        """
        counter = token_counter(self.tokenizer)
        budget = ContextBudget(max_tokens=self.max_tokens, reserved_tokens=self.reserved_tokens)
        fragments = to_fragments(nodes, counter)
        silent: list[ContextFragment] = []
        speaking: list[ContextFragment] = []
        for fragment, node in zip(fragments, nodes, strict=True):
            (silent if is_silent(node.node) else speaking).append(fragment)
        fused = FusionEngine(FusionConfig(order=self.order)).fuse(
            speaking, budget, counter=counter, layout="bare"
        )
        kept, left_out = self._with_silent(fused.fragments, silent, budget, counter)
        return ContextPayload(
            fragments=kept,
            budget=budget,
            layout="bare",
            rendered_tokens=counter.count(render(kept, layout="bare")),
            ledger=Ledger(entries=(*fused.ledger.entries, *left_out)),
        )

    def _with_silent(
        self,
        kept: list[ContextFragment],
        silent: list[ContextFragment],
        budget: ContextBudget,
        counter: TokenCounter,
    ) -> tuple[list[ContextFragment], list[LedgerEntry]]:
        """Add the nodes without text, which cost no more than the blank line between nodes."""
        together, left_out = [*kept, *silent], []
        if self.order == "as-given":
            together.sort(key=lambda fragment: int(fragment.fragment_id))
        while silent:
            needed = counter.count(render(together, layout="bare"))
            if needed <= budget.available_tokens:
                break
            last = silent.pop()
            together.remove(last)
            left_out.append(
                LedgerEntry.of(
                    last, LeftOut.OVER_BUDGET, needed=needed, had=budget.available_tokens
                )
            )
        return together, left_out

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        dispatcher.event(
            ReRankStartEvent(
                query=query_bundle, nodes=nodes, top_n=len(nodes), model_name=self.class_name()
            )
        )
        asked = query_bundle.query_str if query_bundle else ""
        with self.callback_manager.event(
            CBEventType.RERANKING,
            payload={EventPayload.NODES: nodes, EventPayload.QUERY_STR: asked},
        ) as event:
            payload = self.explain(nodes, query_bundle)
            kept = [nodes[int(fragment.fragment_id)] for fragment in payload.fragments]
            kept = [NodeWithScore(node=node.node, score=node.score) for node in kept]
            event.on_end(payload={EventPayload.NODES: kept})
        dispatcher.event(ReRankEndEvent(nodes=kept))
        dispatcher.event(ContextPackedEvent.of(payload))
        return kept
