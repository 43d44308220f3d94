"""The event loop goes on while anything of ours waits for something slow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.store.memory import InMemoryStore

from acms_adapters import ACMSPipeline, ContextFragment, ContextPayload, SearchHit
from acms_adapters.langchain import (
    ACMSContextMiddleware,
    ACMSDocumentCompressor,
    ACMSRetriever,
    DocumentGraphBackend,
    InheritedContext,
    LangGraphTemporalBackend,
    RerankingPipeline,
    delegate_tool,
    retriever_tool,
)

OWL = Document(id="owl", page_content="the owl sleeps")
SKELETON = ContextPayload(fragments=(ContextFragment(uko_node="owl", content="the owl sleeps"),))


class Gate:
    """Blocks its caller until a coroutine opens it, which must run in the loop it was made in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._entered = asyncio.Event()
        self._opened = threading.Event()
        self.passed = False

    def pass_through(self) -> None:
        self._loop.call_soon_threadsafe(self._entered.set)
        assert self._opened.wait(30), "the loop stood still"
        self.passed = True

    async def open(self) -> None:
        await self._entered.wait()
        self._opened.set()

    def count(self, text: str) -> int:
        """Count tokens, slowly."""
        self.pass_through()
        return len(text.split())


def words(gate: Gate) -> Any:
    class Text:
        def search(self, query: str, **options: Any) -> list[SearchHit]:
            gate.pass_through()
            return [SearchHit(uko_node="owl", content="the owl sleeps", score=0.9)]

    return ACMSRetriever(pipeline=ACMSPipeline(backends={"text": Text()}))


def vectors(gate: Gate) -> Any:
    class Store(InMemoryVectorStore):
        def similarity_search_with_score(self, *args: Any, **named: Any) -> Any:
            gate.pass_through()
            return super().similarity_search_with_score(*args, **named)

    store = Store(DeterministicFakeEmbedding(size=8))
    store.add_documents([OWL])
    return ACMSRetriever.from_store(store)


def runnable(gate: Gate) -> Any:
    def retrieve(question: str) -> list[Document]:
        gate.pass_through()
        return [OWL]

    return ACMSRetriever.from_store(RunnableLambda(retrieve))


def graph(gate: Gate) -> Any:
    class Graph(DocumentGraphBackend):
        def neighbors(self, *args: Any, **named: Any) -> Any:
            gate.pass_through()
            return super().neighbors(*args, **named)

    return ACMSRetriever.from_store(Graph([OWL]), request={"focus_nodes": ["owl"], "breadth": 1})


def embedding(gate: Gate) -> Any:
    class Slow(DeterministicFakeEmbedding):
        def embed_query(self, text: str) -> list[float]:
            gate.pass_through()
            return super().embed_query(text)

    return ACMSRetriever.from_documents([OWL], embedder=Slow(size=8))


def reranker(gate: Gate) -> Any:
    class Slow(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            gate.pass_through()
            return documents

    pipeline = ACMSRetriever.from_documents([OWL], embedder=None).pipeline
    return ACMSRetriever(pipeline=RerankingPipeline(pipeline, Slow()))


@pytest.mark.parametrize("make", [words, vectors, runnable, graph, embedding, reranker])
async def test_whatever_a_retriever_waits_for_a_coroutine_of_the_same_loop_may_release_it(
    make: Callable[[Gate], ACMSRetriever],
) -> None:
    gate = Gate()
    retriever = make(gate)
    found, _ = await asyncio.gather(retriever.ainvoke("the owl sleeps"), gate.open())
    assert gate.passed
    assert [document.id for document in found] == ["owl"]


def by_middleware(gate: Gate, model: Any) -> Any:
    middleware = ACMSContextMiddleware(words(gate).pipeline)
    return create_agent(model("ok"), [], middleware=[middleware])


def by_tool(gate: Gate, model: Any) -> Any:
    tool = retriever_tool(words(gate))
    return create_agent(model([(tool.name, {"query": "the owl"})], "ok"), [tool])


def by_counting(gate: Gate, model: Any) -> Any:
    pipeline = ACMSRetriever.from_documents([OWL], embedder=None).pipeline

    def count(messages: Sequence[Any]) -> int:
        gate.pass_through()
        return 10

    middleware = ACMSContextMiddleware(pipeline, count_messages=count)
    return create_agent(model("ok"), [], middleware=[middleware])


def by_archiving(gate: Gate, model: Any) -> Any:
    class Slow(LangGraphTemporalBackend):
        def archive(self, plan_id: str) -> int:
            gate.pass_through()
            return super().archive(plan_id)

    pipeline = ACMSRetriever.from_documents([OWL], embedder=None).pipeline
    middleware = ACMSContextMiddleware(pipeline, archive=Slow(InMemoryStore()))
    return create_agent(model("ok"), [], middleware=[middleware])


def by_delegating(gate: Gate, model: Any) -> Any:
    child = create_agent(model("ok"), [], middleware=[ACMSContextMiddleware(words(gate).pipeline)])
    tool = delegate_tool(child, name="ask", description="Ask.")
    pipeline = ACMSRetriever.from_documents([OWL], embedder=None).pipeline
    return create_agent(
        model([("ask", {"task": "the owl"})], "ok"),
        [tool],
        middleware=[ACMSContextMiddleware(pipeline)],
    )


@pytest.mark.parametrize("make", [by_middleware, by_tool, by_counting, by_archiving, by_delegating])
async def test_whatever_an_agent_waits_for_a_coroutine_of_the_same_loop_may_release_it(
    make: Callable[..., Any], scripted: Any
) -> None:
    gate = Gate()
    agent = make(gate, scripted)
    result, _ = await asyncio.gather(agent.ainvoke({"messages": "the owl?"}), gate.open())
    assert gate.passed
    assert result["messages"][-1].text == "ok"


async def test_counting_for_a_compressor_or_a_chain_stops_no_loop() -> None:
    gate = Gate()
    compressor = ACMSDocumentCompressor(max_tokens=50, tokenizer=gate.count)
    kept, _ = await asyncio.gather(compressor.acompress_documents([OWL], "?"), gate.open())
    assert kept == [OWL]
    gate = Gate()
    step = InheritedContext(SKELETON, max_tokens=50, tokenizer=gate.count)
    messages, _ = await asyncio.gather(step.ainvoke("why?"), gate.open())
    assert len(messages) == 2
