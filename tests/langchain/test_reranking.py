"""A reranker between finding and packing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
from langchain_classic.retrievers.document_compressors.cross_encoder import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document

from acms_adapters import ContextStore, LeftOut, StrategyError, token_counter
from acms_adapters.langchain import ACMSContextMiddleware, ACMSRetriever, RerankingPipeline


class Favourite(BaseDocumentCompressor):
    """Prefers what holds a word, on a scale of its own, and forgets all but the best."""

    word: str
    best: int = 99

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        rated = [
            Document(
                page_content=document.page_content,
                metadata={
                    **document.metadata,
                    "relevance_score": (7.5 if self.word in document.page_content else -2.0)
                    - place / 100,
                },
            )
            for place, document in enumerate(documents)
        ]
        rated.sort(key=lambda document: -document.metadata["relevance_score"])
        return rated[: self.best]


def test_the_reranker_decides_what_is_packed(
    run: Callable[..., Any], animals: ContextStore
) -> None:
    pipeline = RerankingPipeline(animals.pipeline(), Favourite(word="hen"))
    retriever = ACMSRetriever(pipeline=pipeline, max_tokens=20)
    (document,) = run(retriever, "where sleeps the owl?")
    assert "the hen" in document.page_content
    assert token_counter().count(document.page_content) <= 20
    assert document.metadata["acms"]["provenance"]["strategy"]
    assert document.metadata["number"] == 5
    assert 0.5 < document.metadata["relevance_score"] <= 1.0


def test_every_candidate_is_accounted_for_once_f7(animals: ContextStore) -> None:
    pipeline = RerankingPipeline(animals.pipeline(), Favourite(word="hen", best=3))
    payload = pipeline.assemble("where sleeps the owl?", budget=40)
    entries = payload.ledger.entries
    ids = [f.uko_node for f in payload.fragments]
    ids += [e.uko_node for e in entries if e.reason is not LeftOut.DUPLICATE]
    assert sorted(ids) == sorted(
        f"fact-{kind}" for kind in ("cat", "dog", "owl", "bat", "cow", "hen")
    )
    assert payload.strategies_used
    assert payload.metrics["fragments_total"] == len(payload.fragments) + len(entries)
    assert payload.is_within_budget


def test_k_is_an_upper_bound_on_what_is_packed_and_not_on_what_is_rated(
    animals: ContextStore,
) -> None:
    pipeline = RerankingPipeline(animals.pipeline(), Favourite(word="hen"))
    retriever = ACMSRetriever(pipeline=pipeline, k=1)
    assert "the hen" in retriever.invoke("where sleeps the owl?")[0].page_content


def test_where_it_gives_an_order_alone_the_places_count(
    run: Callable[..., Any], animals: ContextStore
) -> None:
    class Letters(BaseCrossEncoder):
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            return [float(text.count("bat")) for _, text in text_pairs]

    reranker = CrossEncoderReranker(model=Letters(), top_n=2)
    retriever = ACMSRetriever(pipeline=RerankingPipeline(animals.pipeline(), reranker))
    first, second = run(retriever, "where sleeps the owl?")
    assert "the bat" in first.page_content
    assert first.metadata["relevance_score"] > second.metadata["relevance_score"]


def test_a_reranker_that_rates_some_alone_is_an_error(animals: ContextStore) -> None:
    class Lazy(Favourite):
        def compress_documents(self, *args: Any, **named: Any) -> Sequence[Document]:
            rated = super().compress_documents(*args, **named)
            del rated[0].metadata["relevance_score"]
            return rated

    with pytest.raises(StrategyError, match="rates all documents or none, not 5"):
        RerankingPipeline(animals.pipeline(), Lazy(word="hen")).assemble("the owl?", budget=40)


@pytest.mark.parametrize(
    "given_back",
    [
        [Document(page_content="something else", metadata={"relevance_score": 1.0})],
        [Document(page_content="x", id="made up", metadata={"relevance_score": 1.0})],
    ],
)
def test_what_it_was_not_given_is_an_error(
    given_back: list[Document], run: Callable[..., Any], animals: ContextStore
) -> None:
    class Inventing(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            return given_back

    retriever = ACMSRetriever(pipeline=RerankingPipeline(animals.pipeline(), Inventing()))
    with pytest.raises(StrategyError, match="that it was given"):
        run(retriever, "where sleeps the owl?")


def test_where_nothing_is_found_the_reranker_is_not_asked(run: Callable[..., Any]) -> None:
    class Fussy(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            raise ValueError("no documents")

    empty = ContextStore.in_memory(embedder=None)
    retriever = ACMSRetriever(pipeline=RerankingPipeline(empty.pipeline(), Fussy()))
    assert run(retriever, "where sleeps the owl?") == []


def test_its_own_asynchronous_way_is_used(animals: ContextStore) -> None:
    class Remote(Favourite):
        async def acompress_documents(self, *args: Any, **named: Any) -> Any:
            await asyncio.sleep(0)
            return self.compress_documents(*args, **named)

    pipeline = RerankingPipeline(animals.pipeline(), Remote(word="hen"))
    payload = asyncio.run(pipeline.aassemble("where sleeps the owl?", budget=20))
    assert "the hen" in payload.render()


def test_what_is_inherited_comes_in_when_packing_and_is_not_rated_k4(
    animals: ContextStore,
) -> None:
    parent = animals.pipeline().assemble("the cat", budget=40)
    rated: list[str] = []

    class Watching(Favourite):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            rated.extend(document.page_content for document in documents)
            return super().compress_documents(documents, query, callbacks)

    payload = RerankingPipeline(animals.pipeline(), Watching(word="hen")).assemble(
        {"query": "the hen", "parent_context": parent, "inherit_strategy": "full"}, budget=70
    )
    assert payload.skeleton_fragments
    assert len(rated) == 6
    assert payload.is_within_budget


def test_it_stands_in_for_a_pipeline_in_an_agent(animals: ContextStore) -> None:
    pipeline = RerankingPipeline(animals.pipeline(), Favourite(word="hen"))
    middleware = ACMSContextMiddleware(pipeline, max_tokens=70)
    state: Any = {"messages": [_human("where sleeps the owl?")]}
    turn = asyncio.run(_in_a_run(middleware, state))
    assert "the hen" in turn["acms_context"]


def _human(text: str) -> Any:
    from langchain_core.messages import HumanMessage

    return HumanMessage(text)


async def _in_a_run(middleware: ACMSContextMiddleware, state: Any) -> Any:
    from langchain_core.runnables import RunnableLambda

    async def step(_: Any) -> Any:
        return await middleware.abefore_agent(state, None)

    return await RunnableLambda(step).ainvoke(None)


@pytest.mark.parametrize("options", [{"candidates": 0}, {"widen": 0}, {"widen": 1.5}])
def test_a_number_below_one_is_refused(options: Any, animals: ContextStore) -> None:
    with pytest.raises(ValueError, match="whole number"):
        RerankingPipeline(animals.pipeline(), Favourite(word="x"), **options)
