"""What of a conversation tells which context an agent needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from acms_adapters import ACMSPipeline, ContextPayload, ContextRequest, ContextStore
from acms_adapters.langchain import ACMSContextMiddleware, ACMSRetriever, RerankingPipeline
from acms_adapters.langchain.turns import conversation
from acms_adapters.pipeline.fencing import fenced

Run = Callable[..., Any]


@tool
def weigh(animal: str) -> str:
    """Weigh an animal."""
    return f"The {animal} weighs a lot."


class Listening:
    """A pipeline that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[ContextRequest] = []

    def assemble(self, request: ContextRequest, **options: Any) -> ContextPayload:
        self.asked.append(request)
        return ContextPayload(fragments=())

    async def aassemble(self, request: ContextRequest, **options: Any) -> ContextPayload:
        return self.assemble(request)


def test_the_question_is_the_last_thing_a_person_said_and_what_came_before_is_history() -> None:
    call = {"name": "weigh", "args": {"animal": "owl"}, "id": "1"}
    messages = [
        SystemMessage("rules"),
        HumanMessage("Where is the owl?"),
        AIMessage([{"type": "text", "text": "Let me look."}], tool_calls=[call]),
        ToolMessage("secret of the tool", tool_call_id="1"),
        AIMessage("In box 2."),
        AIMessage("", tool_calls=[call]),
        HumanMessage([{"type": "image_url", "image_url": {"url": "data:,"}}]),
        HumanMessage("And what does it eat?"),
        AIMessage("Let me see.", tool_calls=[call]),
    ]
    assert conversation(messages) == (
        "And what does it eat?",
        ("Where is the owl?", "Let me look.", "In box 2."),
    )


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], (None, ())),
        ([AIMessage("Hello!")], (None, ())),
        ([HumanMessage(" \n")], (None, ())),
        ([AIMessage("Order 7 is sent."), HumanMessage("When?")], ("When?", ("Order 7 is sent.",))),
    ],
)
def test_a_conversation_may_begin_with_anyone_and_may_say_nothing(
    messages: Any, expected: Any
) -> None:
    assert conversation(messages) == expected


def test_only_the_last_six_turns_are_history() -> None:
    messages = [
        message
        for turn in range(20)
        for message in (HumanMessage(f"question {turn}"), AIMessage(f"answer {turn}"))
    ]
    question, history = conversation(messages[:-1])
    assert question == "question 19"
    assert history == tuple(f"{what} {n}" for n in range(13, 19) for what in ("question", "answer"))


def test_a_block_of_context_behind_a_task_is_no_part_of_the_question() -> None:
    task = f"find the owl\n\n{fenced('the cat sleeps')}"
    assert conversation([HumanMessage(task), AIMessage("ok"), HumanMessage(task)]) == (
        "find the owl",
        ("find the owl", "ok"),
    )


def test_an_agent_asks_in_the_light_of_the_turns_before(run: Run, scripted: Any) -> None:
    pipeline = Listening()
    agent = create_agent(
        scripted([("weigh", {"animal": "owl"})], "In box 2.", "Mice."),
        [weigh],
        middleware=[ACMSContextMiddleware(pipeline)],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "t"}}
    for question in ("Where is the owl?", "What does it eat?"):
        run(agent, {"messages": question}, config)
    first, second = pipeline.asked
    assert (first.query, first.history) == ("Where is the owl?", None)
    assert second.query == "What does it eat?"
    assert second.history == ("Where is the owl?", "In box 2.")


def test_a_history_that_is_given_with_the_request_is_the_one_that_counts(
    run: Run, scripted: Any
) -> None:
    pipeline = Listening()
    middleware = ACMSContextMiddleware(pipeline, request={"history": ()})
    messages = [HumanMessage("the owl"), AIMessage("yes"), HumanMessage("and?")]
    run(create_agent(scripted("ok"), [], middleware=[middleware]), {"messages": messages})
    assert pipeline.asked[0].history == ()


@pytest.fixture(scope="module")
def meals() -> ContextStore:
    store = ContextStore.in_memory(embedder=None)
    kinds = ("cat", "dog", "owl", "bat", "cow", "hen")
    store.add_documents(
        Document(id=kind, page_content=f"Meals of the {kind}: it eats from bowl {number}.")
        for number, kind in enumerate(kinds)
    )
    return store


BEFORE = ["Where does the hen live?", "The hen lives in the barn."]


def test_what_was_said_before_decides_which_document_is_found(
    meals: ContextStore, run: Run
) -> None:
    retriever = ACMSRetriever(pipeline=meals.pipeline(), k=1)
    question = "From which bowl does it eat its meals?"
    assert run(retriever, question, history=BEFORE)[0].id == "hen"
    assert run(retriever.bind(history=["the owl"]), question)[0].id == "owl"
    assert run(retriever, question, history=[])[0].id == run(retriever, question)[0].id


def test_an_agents_second_question_finds_what_the_first_was_about(
    meals: ContextStore, run: Run, scripted: Any
) -> None:
    model = scripted("ok")
    middleware = ACMSContextMiddleware(meals.pipeline(), max_tokens=70)
    messages = [
        HumanMessage(BEFORE[0]),
        AIMessage(BEFORE[1]),
        HumanMessage("From which bowl does it eat its meals?"),
    ]
    run(create_agent(model, [], middleware=[middleware]), {"messages": messages})
    assert "the hen: it eats from bowl 5" in str(model.seen[0][0].content)


@pytest.mark.parametrize("history", ["one text", [1], [HumanMessage("no text")]])
def test_a_history_that_is_no_list_of_texts_is_refused(history: Any, run: Run) -> None:
    retriever = ACMSRetriever(pipeline=ACMSPipeline())
    with pytest.raises(ValueError, match="history"):
        run(retriever, "why?", history=history)


def test_a_reranker_rates_what_was_found_in_the_light_of_the_turns_before(
    meals: ContextStore, run: Run
) -> None:
    class Keeping(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            return documents

    pipeline = RerankingPipeline(meals.pipeline(), Keeping(), candidates=1)
    retriever = ACMSRetriever(pipeline=pipeline)
    found = run(retriever, "From which bowl does it eat its meals?", history=BEFORE)
    assert [document.id for document in found] == ["hen"]
