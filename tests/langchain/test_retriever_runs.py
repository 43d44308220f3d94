"""How retrievals show in traces, streams and threads, and what they retrieve from."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from acms_adapters import (
    ACMSPipeline,
    ContextFragment,
    ContextStore,
    NothingAnsweredError,
    StrategyCapabilities,
    token_counter,
)
from acms_adapters.langchain import (
    ACMSRetriever,
    DocumentGraphBackend,
    RetrieverTextBackend,
    VectorStoreBackend,
)
from acms_adapters.langchain.tracing import MOST_ENTRIES

CALLER: ContextVar[str] = ContextVar("caller", default="nobody")
INNER = RunnableLambda(lambda question: question.upper()).with_config(run_name="inner step")


class Asking:
    """A strategy that runs something of LangChain's and looks at who calls it."""

    capabilities = StrategyCapabilities(uses_text=True, quality_score=0.9)

    def __init__(self, name: str = "asking") -> None:
        self.name = name
        self.callers: list[str] = []

    def can_handle(self, request: Any, backends: Any) -> float:
        return 0.9

    def assemble(self, request: Any, backends: Any, budget: Any, plan_context: Any) -> Any:
        self.callers.append(CALLER.get())
        return [ContextFragment(uko_node=self.name, content=INNER.invoke(request.query))]

    def explain(self) -> str:
        return "asks"


class AskingAsync(Asking):
    async def aassemble(self, request: Any, backends: Any, budget: Any, plan_context: Any) -> Any:
        self.callers.append(CALLER.get())
        return [ContextFragment(uko_node=self.name, content=await INNER.ainvoke(request.query))]


class Failing(Asking):
    def assemble(self, *args: Any) -> Any:
        raise RuntimeError("out of order")


def asking(*strategies: Asking) -> ACMSPipeline:
    return ACMSPipeline(backends={"text": True}, strategies=strategies)


@pytest.mark.parametrize("kind", [Asking, AskingAsync])
def test_each_strategy_is_a_run_below_the_retriever_with_its_own_below_it_s11(
    kind: type[Asking], run: Callable[..., Any], listener: Any
) -> None:
    strategies = [kind("one"), kind("two")]
    retriever = ACMSRetriever(pipeline=asking(*strategies))
    chain = (RunnableLambda(str) | retriever).with_config(run_name="chain")
    token = CALLER.set("me")
    documents = run(chain, "why?", config={"callbacks": [listener], "tags": ["mine"]})
    CALLER.reset(token)
    assert {d.page_content for d in documents} == {"WHY?"}
    assert listener.lineage("acms:strategy:one") == [
        "acms:strategy:one",
        "ACMSRetriever",
        "chain",
    ]
    assert listener.lineage("inner step")[1:] in (
        ["acms:strategy:one", "ACMSRetriever", "chain"],
        ["acms:strategy:two", "ACMSRetriever", "chain"],
    )
    tags = {name: tags for name, _, tags in listener.runs.values()}
    assert {"mine", "acms:strategy:two"} <= set(tags["acms:strategy:two"])
    assert "acms:strategy:two" not in tags["inner step"]
    assert set(listener.ended) == set(listener.runs)
    assert [strategy.callers for strategy in strategies] == [["me"], ["me"]]


def test_a_standalone_retriever_is_traced_as_well(run: Callable[..., Any], listener: Any) -> None:
    retriever = ACMSRetriever(pipeline=asking(Asking()))
    run(retriever.with_config(callbacks=[listener]), "why?")
    assert listener.lineage("inner step") == ["inner step", "acms:strategy:asking", "ACMSRetriever"]


def test_a_strategy_that_fails_fails_its_own_run_alone(
    run: Callable[..., Any], listener: Any
) -> None:
    pipeline = asking(Asking(), Failing("broken"))
    run(ACMSRetriever(pipeline=pipeline).with_config(callbacks=[listener]), "why?")
    failed = {listener.runs[run_id][0]: error for run_id, error in listener.failed.items()}
    assert {name: str(error) for name, error in failed.items()} == {
        "acms:strategy:broken": "out of order"
    }
    ((_, data, _),) = listener.events
    assert data["failures"] == ["broken: error (assemble raised RuntimeError: out of order)"]


def test_an_outage_is_an_error_of_the_retriever_and_not_an_empty_list_s9(
    run: Callable[..., Any], listener: Any
) -> None:
    retriever = ACMSRetriever(pipeline=asking(Failing("broken")))
    with pytest.raises(NothingAnsweredError):
        run(retriever.with_config(callbacks=[listener]), "why?")
    assert "ACMSRetriever" in {listener.runs[run_id][0] for run_id in listener.failed}


def test_the_event_belongs_to_the_retriever_and_is_json_however_long_the_ledger_a5(
    run: Callable[..., Any], listener: Any
) -> None:
    class Many(Asking):
        def assemble(self, *args: Any) -> Any:
            return [
                ContextFragment(uko_node=f"n{i}", content=f"text number {i}", token_count=4)
                for i in range(90)
            ] + [ContextFragment(uko_node=f"n{i}", content=f"text number {i}") for i in range(90)]

    pipeline = asking(Many("many"))
    run(ACMSRetriever(pipeline=pipeline, max_tokens=8).with_config(callbacks=[listener]), "why?")
    ((name, data, run_id),) = listener.events
    assert name == "acms.assembled"
    assert listener.runs[run_id][0] == "ACMSRetriever"
    assert len(data["left_out"]) == MOST_ENTRIES < sum(data["reasons"].values())
    json.dumps(data)


def test_a_call_inside_a_running_loop_answers_as_well(animals: ContextStore) -> None:
    retriever = ACMSRetriever(pipeline=animals.pipeline())

    async def ask() -> list[Document]:
        return retriever.invoke("the cat")

    assert asyncio.run(ask())[0].id is not None


def test_eight_threads_with_200_calls_each_get_the_answers_of_one() -> None:
    kinds = ("cat", "dog", "owl", "bat", "cow")
    retriever = ACMSRetriever.from_texts(
        [f"Fact {n}: the {kind} sleeps in the barn." for n, kind in enumerate(kinds)],
        ids=kinds,
        embedder=None,
    )
    asked = [(f"where sleeps the {kind}?", tokens) for kind in kinds for tokens in (12, 25, 40)]
    alone = {pair: _ids(retriever.invoke(pair[0], max_tokens=pair[1])) for pair in asked}
    together, wrong = threading.Barrier(8), []

    def work(thread: int) -> None:
        together.wait()
        for call in range(200):
            question, tokens = asked[(7 * thread + call) % len(asked)]
            if _ids(retriever.invoke(question, max_tokens=tokens)) != alone[question, tokens]:
                wrong.append((question, tokens))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len({tuple(ids) for ids in alone.values()}) > 5


def _ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


def test_batches_and_streams_take_the_options_of_a_call(animals: ContextStore) -> None:
    retriever = ACMSRetriever(pipeline=animals.pipeline())
    questions = ["the cat", "the owl"]
    assert [len(found) for found in retriever.batch(questions, k=2)] == [2, 2]
    assert [len(found) for found in asyncio.run(retriever.abatch(questions, k=1))] == [1, 1]
    (streamed,) = retriever.stream("the cat", k=1)
    assert streamed[0].page_content

    async def stream() -> list[list[Document]]:
        return [found async for found in retriever.astream("the cat", k=1)]

    assert asyncio.run(stream())[0][0].id == streamed[0].id


def test_fields_that_are_configured_for_a_call_keep_the_pipeline() -> None:
    pipeline = asking(Asking("one"), Asking("two"))
    retriever = ACMSRetriever(pipeline=pipeline).configurable_fields(k=ConfigurableField(id="k"))
    assert len(retriever.invoke("why?")) == 2
    assert len(retriever.invoke("why?", config={"configurable": {"k": 1}})) == 1


def test_a_strategy_is_seen_by_an_event_stream() -> None:
    retriever = ACMSRetriever(pipeline=asking(AskingAsync("one")))

    async def names() -> list[str]:
        return [event["name"] async for event in retriever.astream_events("why?", version="v2")]

    assert "acms:strategy:one" in asyncio.run(names())


def test_texts_come_with_their_metadata_and_ids() -> None:
    retriever = ACMSRetriever.from_texts(
        ["the cat sleeps", "the dog barks"],
        [{"n": 1}, {"n": 2}],
        ids=["a", None],
        embedder=None,
        max_tokens=100,
    )
    found = {d.page_content: d for d in retriever.invoke("cat dog")}
    assert found["the cat sleeps"].id == "a"
    assert found["the dog barks"].id
    assert found["the dog barks"].metadata["n"] == 2
    assert ACMSRetriever.from_texts(["one cat"], embedder=None).invoke("cat")


def test_texts_without_as_many_metadatas_are_refused() -> None:
    with pytest.raises(ValueError, match="2 texts need as many"):
        ACMSRetriever.from_texts(["a", "b"], [{}], embedder=None)


@pytest.fixture(scope="module")
def vectors() -> InMemoryVectorStore:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents([Document(id=f"d{n}", page_content=f"text number {n}") for n in range(5)])
    return store


def test_a_vector_store_is_searched_within_the_budget(
    vectors: InMemoryVectorStore, run: Callable[..., Any]
) -> None:
    retriever = ACMSRetriever.from_store(vectors, max_tokens=20)
    documents = run(retriever, "text number 3")
    assert documents[0].id == "d3"
    text = "\n\n".join(document.page_content for document in documents)
    assert 1 < len(documents) < 5
    assert token_counter().count(text) <= 20


def test_a_retriever_like_runnable_is_searched_and_its_run_lies_below_the_strategy(
    vectors: InMemoryVectorStore, run: Callable[..., Any], listener: Any
) -> None:
    inner = vectors.as_retriever().with_config(run_name="inner retriever")
    retriever = ACMSRetriever.from_store(inner, max_tokens=100)
    assert run(retriever.with_config(callbacks=[listener]), "text number 3")[0].id == "d3"
    assert listener.lineage("inner retriever")[1:] == [
        "acms:strategy:simple-keyword",
        "ACMSRetriever",
    ]


def test_several_stores_are_searched_together(vectors: InMemoryVectorStore) -> None:
    other = Document(id="other", page_content="text from elsewhere", metadata={"links": ["d1"]})
    retriever = ACMSRetriever.from_store(
        VectorStoreBackend(vectors),
        RetrieverTextBackend(RunnableLambda(lambda question: [other])),
        DocumentGraphBackend([other]),
    )
    assert {"other", "d2"} <= {document.id for document in retriever.invoke("text number 2")}


@pytest.mark.parametrize("stores", [(), (object(),), ("a question",)])
def test_what_is_no_store_is_refused(stores: Any) -> None:
    with pytest.raises(ValueError, match="store"):
        ACMSRetriever.from_store(*stores)


def test_two_stores_of_a_kind_are_refused(vectors: InMemoryVectorStore) -> None:
    with pytest.raises(ValueError, match="one vector backend"):
        ACMSRetriever.from_store(vectors, vectors)
