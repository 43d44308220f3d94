"""Retrieval as a tool: LangChain's own suites, and its budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, create_retriever_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from langgraph.checkpoint.memory import InMemorySaver

from acms_adapters import ContextStore, token_counter
from acms_adapters.langchain import ACMSRetriever, retriever_tool


def own_tool() -> BaseTool:
    retriever = ACMSRetriever.from_texts(["the owl sleeps", "the cat purrs"], embedder=None)
    return retriever_tool(retriever)


def plain_tool() -> BaseTool:
    retriever = ACMSRetriever.from_texts(["the owl sleeps", "the cat purrs"], embedder=None)
    return create_retriever_tool(retriever, "search", "Search.")


class Suite:
    @property
    def tool_constructor(self) -> Any:
        return own_tool()

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "the owl"}


class TestRetrieverToolUnit(Suite, ToolsUnitTests):
    pass


class TestRetrieverToolIntegration(Suite, ToolsIntegrationTests):
    pass


class Plain(Suite):
    @property
    def tool_constructor(self) -> Any:
        return plain_tool()


class TestPlainRetrieverToolUnit(Plain, ToolsUnitTests):
    pass


class TestPlainRetrieverToolIntegration(Plain, ToolsIntegrationTests):
    pass


@dataclass
class Settings:
    context_tokens: int | None = None


@pytest.fixture
def retriever(animals: ContextStore) -> ACMSRetriever:
    return ACMSRetriever(pipeline=animals.pipeline(), max_tokens=60)


def result_of(tool: BaseTool, run: Callable[..., Any], scripted: Any, context: Any) -> Any:
    model = scripted([(tool.name, {"query": "where sleeps the owl?"})], "done")
    agent = create_agent(model, [tool], context_schema=type(context), checkpointer=InMemorySaver())
    asked = {"messages": [HumanMessage("Where sleeps the owl?")]}
    config = {"configurable": {"thread_id": "t"}}
    return run(agent, asked, config, context=context)["messages"][2]


@pytest.mark.parametrize(
    ("context", "most"),
    [
        (Settings(20), 20),
        ({"context_tokens": 40}, 40),
        (Settings(10_000), 60),
        (Settings(), 60),
        ({}, 60),
    ],
)
def test_the_budget_comes_from_the_context_of_the_run_up_to_the_retrievers_own(
    context: Any, most: int, retriever: ACMSRetriever, run: Callable[..., Any], scripted: Any
) -> None:
    message = result_of(retriever_tool(retriever), run, scripted, context)
    assert most - 20 < token_counter().count(message.content) <= most
    assert message.content == "\n\n".join(d.page_content for d in message.artifact)
    assert "the owl" in message.artifact[0].page_content


def test_another_name_of_the_budget_can_be_chosen(
    retriever: ACMSRetriever, run: Callable[..., Any], scripted: Any
) -> None:
    tool = retriever_tool(retriever, name="look", description="Look.", budget="room")
    assert (tool.name, tool.description) == ("look", "Look.")
    message = result_of(tool, run, scripted, {"room": 20})
    assert token_counter().count(message.content) <= 20


@pytest.mark.parametrize("tokens", [0, -1, "many", 1.5])
def test_a_budget_that_is_none_is_refused(
    tokens: Any, retriever: ACMSRetriever, run: Callable[..., Any], scripted: Any
) -> None:
    with pytest.raises(ValueError, match="context_tokens must be a whole number"):
        result_of(retriever_tool(retriever), run, scripted, {"context_tokens": tokens})


def test_the_model_is_told_when_nothing_was_found_and_never_sees_the_runtime() -> None:
    empty = ACMSRetriever.from_texts([], embedder=None)
    tool = retriever_tool(empty)
    assert tool.invoke({"query": "the owl"}) == "Nothing was found."
    assert list(tool.tool_call_schema.model_json_schema()["properties"]) == ["query"]


@pytest.mark.parametrize("query", ["", " \n"])
def test_a_model_that_asks_for_nothing_is_told_so_and_may_ask_again(
    query: str, retriever: ACMSRetriever, run: Callable[..., Any], scripted: Any
) -> None:
    tool = retriever_tool(retriever)
    agent = create_agent(scripted([(tool.name, {"query": query})], "Nothing."), [tool])
    told, answer = run(agent, {"messages": [HumanMessage("the owl?")]})["messages"][-2:]
    assert "the question is empty" in told.text
    assert answer.text == "Nothing."


def test_the_retrieval_is_a_run_below_that_of_the_tool(
    retriever: ACMSRetriever, run: Callable[..., Any], listener: Any
) -> None:
    run(retriever_tool(retriever), {"query": "the owl"}, config={"callbacks": [listener]})
    names = {name for name, _, _ in listener.runs.values()}
    assert "ACMSRetriever" in names
    assert any(name.startswith("acms:strategy:") for name in names)
