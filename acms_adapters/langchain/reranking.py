"""Any LangChain reranker between finding and packing."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables.config import ensure_config

from acms_adapters.errors import RequestError, StrategyError
from acms_adapters.langchain.documents import METADATA_KEY, describe, score_of
from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    ContextRequest,
    Ledger,
    LedgerEntry,
    LeftOut,
)
from acms_adapters.models.payload import payload_metrics
from acms_adapters.models.scores import rescale
from acms_adapters.models.surplus import restore_surplus
from acms_adapters.pipeline import ACMSPipeline

_SEARCHED = ("query", "history", "keywords", "focus_nodes", "budget")


class RerankingPipeline:
    """A pipeline whose candidates are rated by a reranker before they are packed.

    Stands in for an `ACMSPipeline` in a retriever or a middleware. The pipeline finds candidates
    for a wider budget, the reranker rates them, and they are packed into the real one. What the
    reranker does not give back is left out.

    Args:
        pipeline: Finds and packs.
        reranker: Any document compressor that writes ``relevance_score`` into metadata, scores of
            any range, higher is better; or that gives back an order alone, such as
            `CrossEncoderReranker`, whose places then count.
        candidates: Most fragments that are rated.
        widen: How many times the budget is searched for.

    Raises:
        ValueError: A number below 1.
    """

    def __init__(
        self,
        pipeline: ACMSPipeline,
        reranker: BaseDocumentCompressor,
        *,
        candidates: int = 50,
        widen: int = 4,
    ) -> None:
        for name, value in (("candidates", candidates), ("widen", widen)):
            if type(value) is not int or value < 1:
                raise RequestError(f"{name} must be a whole number >= 1, not {value!r}")
        self.pipeline = pipeline
        self.reranker = reranker
        self.candidates = candidates
        self.widen = widen

    @property
    def backends(self) -> Any:
        """What strategies may ask."""
        return self.pipeline.backends

    def assemble(
        self,
        request: Any,
        *,
        budget: Any = None,
        max_fragments: int | None = None,
        **options: Any,
    ) -> ContextPayload:
        """Assemble for a request or a question; see `ACMSPipeline.assemble`.

        Raises:
            StrategyError: The reranker gave back what it was not given, or scores for some alone.
        """
        asked, tokens = self._read(request, budget)
        found = self.pipeline.assemble(_own(asked), **self._wide(tokens), **options)
        rated: Sequence[Document] = _to_documents(found.fragments)
        if rated:  # some services refuse an empty list
            callbacks = ensure_config().get("callbacks")
            rated = self.reranker.compress_documents(rated, _words(asked), callbacks=callbacks)
        chosen, orders = _rated(found, rated), _packing(asked, tokens, max_fragments, options)
        return _joined(found, self.pipeline.assemble(fragments=chosen, **orders))

    async def aassemble(
        self,
        request: Any,
        *,
        budget: Any = None,
        max_fragments: int | None = None,
        **options: Any,
    ) -> ContextPayload:
        """The same as `assemble`, without blocking the event loop."""
        asked, tokens = self._read(request, budget)
        found = await self.pipeline.aassemble(_own(asked), **self._wide(tokens), **options)
        rated: Sequence[Document] = _to_documents(found.fragments)
        if rated:
            callbacks = ensure_config().get("callbacks")
            rated = await self.reranker.acompress_documents(
                rated, _words(asked), callbacks=callbacks
            )
        chosen, orders = _rated(found, rated), _packing(asked, tokens, max_fragments, options)
        return _joined(found, await self.pipeline.aassemble(fragments=chosen, **orders))

    def _read(self, request: Any, budget: Any) -> tuple[ContextRequest, ContextBudget]:
        asked = ContextRequest.of(request)
        tokens = budget or asked.budget or self.pipeline.settings.budget
        return asked, ContextBudget.of(tokens)

    def _wide(self, tokens: ContextBudget) -> dict[str, Any]:
        wide = tokens.available_tokens * self.widen
        return {"budget": wide, "max_fragments": self.candidates}


def _own(asked: ContextRequest) -> ContextRequest:
    """The request without what is inherited, which is not found but comes in when packing."""
    return asked.model_copy(update={"parent_context": None, "inherit_strategy": None})


def _packing(
    asked: ContextRequest,
    tokens: ContextBudget,
    max_fragments: int | None,
    options: dict[str, Any],
) -> dict[str, Any]:
    """How the rated candidates are packed: as was asked, but for the search."""
    rest = {name: value for name, value in asked.items() if name not in _SEARCHED}
    named = {name: value for name, value in options.items() if name != "strategy"}
    orders = {"request": ContextRequest(**rest), "budget": tokens, "max_fragments": max_fragments}
    return {**named, **orders}


def _words(asked: ContextRequest) -> str:
    return asked.query or " ".join(asked.keywords or ())


def _to_documents(fragments: Sequence[ContextFragment]) -> list[Document]:
    return [
        Document(
            id=fragment.fragment_id,
            page_content=fragment.content,
            metadata={
                **copy.deepcopy(restore_surplus(fragment.metadata)),
                METADATA_KEY: describe(fragment),
            },
        )
        for fragment in fragments
    ]


def _rated(found: ContextPayload, rated: Sequence[Document]) -> list[ContextFragment]:
    """The candidates that came back, with the reranker's scores in [0, 1] (ruling M7)."""
    own = {fragment.fragment_id: fragment for fragment in found.fragments}
    scores: dict[str, float | None] = {}
    for document in rated:
        known = document.metadata.get(METADATA_KEY)
        name = str(known.get("fragment_id") if isinstance(known, dict) else document.id)
        if name not in own:
            raise StrategyError(
                f"a reranker gives back documents that it was given, not {document!r:.200}"
            )
        scores[name] = score_of(document)
    given = [score for score in scores.values() if score is not None]
    if given and len(given) < len(scores):
        raise StrategyError(f"a reranker rates all documents or none, not {len(given)} of them")
    relevance = rescale(given) if given else [1.0 / (1 + place) for place in range(len(scores))]
    # the strategies' own scores would be added up once more (ruling F11)
    unscored = {"strategy": None, "score": None, "merged": ()}
    return [
        own[name].model_copy(
            update={
                "relevance_score": score,
                "provenance": own[name].provenance.model_copy(update=unscored),
            }
        )
        for name, score in zip(scores, relevance, strict=True)
    ]


def _joined(found: ContextPayload, packed: ContextPayload) -> ContextPayload:
    """The packed payload with everything that is known of how its fragments were found."""
    sources = {fragment.fragment_id: fragment.provenance for fragment in found.fragments}
    fragments = tuple(
        f.model_copy(update={"provenance": sources.get(f.fragment_id, f.provenance)})
        for f in packed.fragments
    )
    told = {entry.fragment_id for entry in packed.ledger.entries}
    told |= {fragment.fragment_id for fragment in fragments}
    dropped = tuple(
        LedgerEntry.of(fragment, LeftOut.BEYOND_LIMIT)
        for fragment in found.fragments
        if fragment.fragment_id not in told
    )
    entries = (*found.ledger.entries, *packed.ledger.entries, *dropped)
    joined = packed.model_copy(
        update={
            "fragments": fragments,
            "provenance_map": {f.fragment_id: f.provenance for f in fragments},
            "strategies_used": found.strategies_used,
            "failures": found.failures,
            "degraded": found.degraded,
            "ledger": Ledger(entries=entries),
        }
    )
    times = (found.metrics["assembly_time_ms"], packed.metrics["assembly_time_ms"])
    metrics = payload_metrics(
        joined,
        assembly_time_ms=sum(times),
        strategy_success_rate=found.metrics["strategy_success_rate"],
    )
    return joined.model_copy(update={"metrics": metrics})
