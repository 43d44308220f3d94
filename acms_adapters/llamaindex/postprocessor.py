"""A LlamaIndex node postprocessor that brings nodes down to a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, model_validator
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index_instrumentation import get_dispatcher

from acms_adapters.llamaindex.candidates import Candidates
from acms_adapters.llamaindex.events import ContextPackedEvent
from acms_adapters.llamaindex.packing import Packed, pack_nodes
from acms_adapters.models import ContextBudget, ContextPayload
from acms_adapters.pipeline import FusionConfig
from acms_adapters.pipeline.packing_rules import DEPTH_FALLBACK_STEPS
from acms_adapters.protocols import TokenCounter
from acms_adapters.tokens import DEFAULT_ENCODING, token_counter

dispatcher = get_dispatcher(__name__)

Order = Literal["as-given", "relevance", "edges"]
Ranking = Literal["question", "given"]


class ACMSNodePostprocessor(BaseNodePostprocessor):
    """Keeps the nodes whose texts, as a model reads them, fit a token budget (ruling A2).

    Needs nothing but the nodes: no store, no network. Input nodes are never changed. A node that
    does not fit loses sentences or lines of code before it is dropped; the copy that is returned
    says under ``acms`` in its metadata which spans of the text were kept, and neither models nor
    embedders read that.

    Attributes:
        max_tokens: All tokens there are.
        reserved_tokens: Tokens of those kept for other text.
        tokenizer: Name of the encoding or model to count by. Anything that `token_counter` reads
            may be given, but only its name is serialised.
        ranking: Which nodes are read. ``question``: the best by the order of their scores and,
            beside it, by what their texts say about the question; ``given``: by their scores
            alone, for nodes that a reranker has rated.
        order: How they are put. ``as-given`` keeps the order of the input; ``relevance`` puts the
            best first; ``edges`` puts the best at both ends.
        depth_fallback_steps: Depths tried for a node that does not fit, deepest first; depth d
            keeps about d + 1 tenths of it. Empty: nodes are kept whole or not at all.
        min_fragment_tokens: Tokens below which a shortened node is not worth reading.
        window_key: Metadata key of the text around a sentence, which is read in its place where it
            fits; None leaves sentences alone.
        count_media: Count images, sound and video too, as for a synthesizer with
            ``multimodal=True``.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    max_tokens: int = Field(gt=0)
    reserved_tokens: int = Field(default=0, ge=0)
    tokenizer: str = DEFAULT_ENCODING
    ranking: Ranking = "question"
    order: Order = "as-given"
    depth_fallback_steps: tuple[int, ...] = DEPTH_FALLBACK_STEPS
    min_fragment_tokens: int = Field(default=32, ge=0)
    window_key: str | None = "window"
    count_media: bool = False
    _counter: TokenCounter | None = PrivateAttr(default=None)

    def __init__(self, *, tokenizer: Any = DEFAULT_ENCODING, **fields: Any) -> None:
        """Take the fields, and anything that counts as `tokenizer`."""
        counter = None if isinstance(tokenizer, str) else token_counter(tokenizer)
        super().__init__(**{"tokenizer": counter.name if counter else tokenizer, **fields})
        self._counter = counter

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the counter too, which the base class would make anew from its name."""
        super().__setstate__(state)
        self._counter = (state.get("__pydantic_private__") or {}).get("_counter")

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._budget()
        self._config()
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
        return self._pack(nodes, query).payload

    def _pack(self, nodes: Sequence[NodeWithScore], query: QueryBundle | str | None) -> Packed:
        counter = self._counter
        if counter is None or counter.name != self.tokenizer:  # the name was assigned anew
            counter = token_counter(self.tokenizer)
        asked = (query.query_str if isinstance(query, QueryBundle) else query) or ""
        candidates = Candidates.of(
            nodes,
            counter,
            query=asked if self.ranking == "question" else "",
            window_key=self.window_key,
            counts_media=self.count_media,
        )
        return pack_nodes(candidates, self._budget(), self._config(), query=asked)

    def _budget(self) -> ContextBudget:
        return ContextBudget(max_tokens=self.max_tokens, reserved_tokens=self.reserved_tokens)

    def _config(self) -> FusionConfig:
        return FusionConfig(
            order=self.order,
            depth_fallback_steps=self.depth_fallback_steps,
            min_fragment_tokens=self.min_fragment_tokens,
            fallback_last=True,  # whole nodes hold more evidence than more shortened ones
        )

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
            packed = self._pack(nodes, query_bundle)
            event.on_end(payload={EventPayload.NODES: packed.nodes})
        dispatcher.event(ReRankEndEvent(nodes=packed.nodes))
        dispatcher.event(ContextPackedEvent.of(packed.payload))
        return packed.nodes
