"""The LangChain retriever."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from acms_adapters import ACMSPipeline, token_counter
from acms_adapters.langchain import ACMSRetriever

DOCUMENTS = [
    Document(
        id="limiter",
        page_content="The rate limiter refills its token bucket every second.",
        metadata={"team": "core", "nested": {"a": [1, None]}},
    ),
    Document(
        id="parser",
        page_content="The parser closes the brackets of an unfinished JSON string.",
        metadata={"team": "text"},
    ),
    Document(
        id="cache",
        page_content="The cache forgets its oldest entry when it is full.",
        metadata={"team": "core"},
    ),
]
QUESTION = "How is broken JSON parsed?"
ONE = token_counter().count(DOCUMENTS[1].page_content) + 1
"""Room for the document that answers, and for no other one beside it."""

Invoke = Callable[..., list[Document]]


@pytest.fixture(scope="module")
def retriever() -> ACMSRetriever:
    return ACMSRetriever.from_documents(DOCUMENTS, max_tokens=500)


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Invoke:
    def run(retriever: Any, question: str, **options: Any) -> list[Document]:
        if request.param == "sync":
            return retriever.invoke(question, **options)
        return asyncio.run(retriever.ainvoke(question, **options))

    return run


def joined(documents: list[Document]) -> str:
    return "\n\n".join(document.page_content for document in documents)


def test_the_document_that_answers_comes_first_with_its_own_id_and_metadata(
    retriever: ACMSRetriever, invoke: Invoke
) -> None:
    best = invoke(retriever, QUESTION)[0]
    assert best.id == "parser"
    assert best.metadata["team"] == "text"
    assert 0.0 < best.metadata["relevance_score"] <= 1.0
    assert best.metadata["acms"]["uko_node"] == "parser"
    assert best.metadata["acms"]["detail_depth"] == 9


def test_metadata_tell_where_each_document_comes_from_and_what_it_costs(
    retriever: ACMSRetriever, invoke: Invoke
) -> None:
    for document in invoke(retriever, QUESTION):
        told = document.metadata["acms"]
        assert told["token_count"] == token_counter().count(document.page_content)
        assert told["tier"] in ("hot", "warm", "cold")
        assert told["provenance"]["resource_uri"] == told["uko_node"] == document.id
        assert told["provenance"]["strategy"]
        assert told["fragment_id"]


def test_nested_metadata_comes_back_as_it_went_in_b4(
    retriever: ACMSRetriever, invoke: Invoke
) -> None:
    found = {d.id: d for d in invoke(retriever, "token bucket")}
    assert found["limiter"].metadata["nested"] == {"a": [1, None]}


@pytest.mark.parametrize("budget", [1, 5, ONE - 1, ONE, 25, 30, 1000])
def test_the_joined_texts_are_within_the_budget_a1(
    budget: int, retriever: ACMSRetriever, invoke: Invoke
) -> None:
    documents = invoke(retriever, QUESTION, max_tokens=budget)
    assert token_counter().count(joined(documents)) <= budget


def test_a_budget_in_the_request_counts_where_the_call_names_no_tokens(
    retriever: ACMSRetriever, invoke: Invoke
) -> None:
    """M2.budget."""
    narrow = retriever.model_copy(update={"request": {"budget": ONE}})
    for asked, options in (
        (retriever, {"budget": ONE}),
        (retriever.bind(budget=ONE), {}),
        (narrow, {}),
        (narrow, {"budget": 500, "max_tokens": ONE}),
    ):
        assert [d.id for d in invoke(asked, QUESTION, **options)] == ["parser"]
    assert len(invoke(narrow, QUESTION, max_tokens=500)) > 1
    assert retriever.assemble(QUESTION, budget=ONE).budget.max_tokens == ONE


@pytest.mark.parametrize("k", [1, 2])
def test_k_is_an_upper_bound_for_a_call_a_binding_and_the_object_a1(
    k: int, retriever: ACMSRetriever, invoke: Invoke
) -> None:
    assert len(invoke(retriever, QUESTION, k=k)) == k
    assert len(invoke(retriever.bind(k=k), QUESTION)) == k
    assert len(invoke(retriever.model_copy(update={"k": k}), QUESTION)) == k


def test_a_filter_keeps_only_documents_with_that_metadata(
    retriever: ACMSRetriever, invoke: Invoke
) -> None:
    found = invoke(retriever, QUESTION, filter={"team": "core"})
    assert {d.metadata["team"] for d in found} == {"core"}


def test_changing_a_returned_document_changes_no_later_answer(
    retriever: ACMSRetriever, invoke: Invoke
) -> None:
    first = invoke(retriever, "token bucket")
    expected = copy.deepcopy(first)
    for document in first:
        for value in document.metadata.values():
            if isinstance(value, dict):
                value.get("a", []).append(7)
                value.clear()
        document.metadata.clear()
    again = invoke(retriever, "token bucket")
    assert [d.page_content for d in again] == [d.page_content for d in expected]
    for found, before in zip(again, expected, strict=True):
        now, then = found.metadata.pop("acms"), before.metadata.pop("acms")
        assert found.metadata == before.metadata
        assert now["provenance"] == then["provenance"]


def test_assemble_gives_the_ledger_of_the_same_retrieval_a5(retriever: ACMSRetriever) -> None:
    payload = retriever.assemble(QUESTION, max_tokens=ONE)
    assert [f.uko_node for f in payload.fragments] == ["parser"]
    # what several strategies found stands there once more for each of them
    reasons = [e.reason.value for e in payload.ledger.entries if e.reason.value != "duplicate"]
    assert set(reasons) == {"over_budget"}


class Recorder(BaseCallbackHandler):
    def __init__(self) -> None:
        self.starts: list[Any] = []
        self.ends: list[Any] = []
        self.errors: list[Any] = []
        self.custom: list[tuple[str, Any]] = []

    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: Any, **kwargs: Any
    ) -> None:
        self.starts.append(run_id)

    def on_retriever_end(self, *args: Any, run_id: Any, **kwargs: Any) -> None:
        self.ends.append(run_id)

    def on_retriever_error(self, error: Any, **kwargs: Any) -> None:
        self.errors.append(error)

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.custom.append((name, data))


def test_one_run_starts_and_ends_and_its_event_carries_the_ledger_a5(
    retriever: ACMSRetriever, invoke: Invoke
) -> None:
    recorder = Recorder()
    invoke(retriever.with_config(callbacks=[recorder]), QUESTION, max_tokens=ONE)
    assert len(recorder.starts) == len(recorder.ends) == 1
    ((name, data),) = recorder.custom
    assert name == "acms.assembled"
    assert {entry["reason"] for entry in data["left_out"]} == {"over_budget", "duplicate"}
    assert data["metrics"]["fragments_selected"] == 1


def test_inside_a_chain_the_event_reaches_the_callbacks_of_the_chain(
    retriever: ACMSRetriever, invoke: Invoke
) -> None:
    recorder = Recorder()
    chain = RunnableLambda(lambda question: question) | retriever
    invoke(chain.with_config(callbacks=[recorder]), QUESTION)
    assert [name for name, _ in recorder.custom] == ["acms.assembled"]


def test_event_streams_show_the_assembled_context(retriever: ACMSRetriever) -> None:
    async def names() -> list[str]:
        return [e["event"] async for e in retriever.astream_events(QUESTION, version="v2")]

    events = asyncio.run(names())
    assert {"on_retriever_start", "on_retriever_end", "on_custom_event"} <= set(events)


def test_a_dead_pipeline_raises_and_reports_the_error_to_callbacks(invoke: Invoke) -> None:
    recorder = Recorder()
    dead = ACMSRetriever(pipeline=ACMSPipeline()).with_config(callbacks=[recorder])
    with pytest.raises(Exception, match="nothing answered"):
        invoke(dead, QUESTION)
    assert len(recorder.errors) == 1


def test_interleaved_calls_with_two_questions_and_budgets_do_not_cross(
    retriever: ACMSRetriever,
) -> None:
    asked = [(QUESTION, ONE), ("token bucket of the limiter", 500)] * 20
    alone = {pair: joined(retriever.invoke(pair[0], max_tokens=pair[1])) for pair in asked[:2]}
    start = threading.Barrier(8)
    wrong: list[tuple[str, int]] = []

    def work(share: list[tuple[str, int]]) -> None:
        start.wait()
        for question, budget in share:
            if joined(retriever.invoke(question, max_tokens=budget)) != alone[question, budget]:
                wrong.append((question, budget))

    threads = [threading.Thread(target=work, args=(asked[n::8],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    "fields", [{"max_tokens": 0}, {"k": 0}, {"max_token": 5}, {"max_tokens": "many"}]
)
def test_a_value_outside_its_range_and_an_unknown_field_are_refused(
    fields: dict[str, Any],
) -> None:
    with pytest.raises(ValidationError):
        ACMSRetriever(pipeline=ACMSPipeline(), **fields)


def test_a_request_with_an_unknown_field_is_refused_when_the_retriever_is_made() -> None:
    with pytest.raises(ValidationError, match="breadht"):
        ACMSRetriever(pipeline=ACMSPipeline(), request={"breadht": 2})


def test_a_retriever_in_place_of_a_pipeline_is_refused_and_told_apart(
    retriever: ACMSRetriever,
) -> None:
    with pytest.raises(ValueError, match="pass the retriever's `pipeline`"):
        ACMSRetriever(pipeline=retriever)


def test_one_text_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(ValueError, match="list of texts, not the text 'abc'"):
        ACMSRetriever.from_texts("abc")


@pytest.mark.parametrize("options", [{"k": 0}, {"max_tokens": 0}, {"breadht": 2}])
def test_a_call_with_a_bad_option_is_refused(
    options: dict[str, Any], retriever: ACMSRetriever, invoke: Invoke
) -> None:
    with pytest.raises(ValueError, match=next(iter(options))[:2]):
        invoke(retriever, QUESTION, **options)


def test_an_unknown_option_of_a_call_is_refused_with_the_near_one(
    retriever: ACMSRetriever, invoke: Invoke
) -> None:
    with pytest.raises(ValueError, match="did you mean 'max_tokens'"):
        invoke(retriever, QUESTION, max_token=5)


TEXTS = st.text(
    alphabet=st.one_of(
        st.characters(codec="utf-8"), st.sampled_from("你好👩‍👧\x00\r\n\ud83d<|endoftext|>")
    ),
    max_size=200,
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(
    documents=st.lists(
        st.builds(
            Document,
            page_content=TEXTS,
            metadata=st.dictionaries(st.text(max_size=5), VALUES, max_size=3),
        ),
        max_size=8,
    ),
    budget=st.integers(1, 8192),
)
def test_any_documents_fit_any_budget_and_stay_unchanged_a1(
    documents: list[Document], budget: int
) -> None:
    before = copy.deepcopy(documents)
    retriever = ACMSRetriever.from_documents(
        documents, embedder="character-frequency-v1", max_tokens=budget
    )
    found = retriever.invoke("hello 你好 endoftext")
    assert token_counter().count(joined(found)) <= budget
    assert documents == before


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[None]:
    yield
    left = [t for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    assert all("asyncio" in t.name or "ThreadPool" in t.name for t in left)
