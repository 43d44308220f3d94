"""Public names, what they need, and that none of them warns."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import acms_adapters.langchain as adapter
from acms_adapters import MissingExtraError
from acms_adapters.langchain import legacy

AGENTS = {
    "ACMSContextMiddleware",
    "ACMSDelegationMiddleware",
    "ACMSState",
    "LangGraphTemporalBackend",
    "SkeletonStore",
    "delegate_tool",
    "receipt_of",
    "retriever_tool",
}


@pytest.mark.parametrize("name", adapter.__all__)
def test_each_public_name_can_be_loaded(name: str) -> None:
    assert getattr(adapter, name) is not None
    assert name in dir(adapter)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Retreiver"):
        adapter.Retreiver  # noqa: B018


def run(code: str, **environment: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_importing_the_adapter_loads_no_framework() -> None:
    code = (
        "import sys, acms_adapters.langchain\n"
        "print([n for n in ('langchain', 'langchain_core', 'langgraph') if n in sys.modules])"
    )
    assert run(code).strip() == "[]"


def test_what_needs_no_agents_loads_without_them_and_the_rest_names_its_extra() -> None:
    code = f"""
import sys
for name in ("langchain", "langgraph", "langchain_classic"):
    sys.modules[name] = None
import acms_adapters.langchain as adapter
from acms_adapters import MissingExtraError
for name in adapter.__all__:
    try:
        getattr(adapter, name)
    except MissingExtraError as error:
        assert error.extra == "agents", error
        assert name in {AGENTS!r}, name
        assert "acms-adapters[agents]" in str(error)
    else:
        assert name not in {AGENTS!r}, name
retriever = adapter.ACMSRetriever.from_texts(["the owl sleeps"], embedder=None)
print(retriever.invoke("the owl")[0].page_content)
from acms_adapters.langchain import legacy
try:
    legacy.ACMSMemory
except MissingExtraError as error:
    print(error.extra)
"""
    assert run(code).splitlines() == ["the owl sleeps", "legacy"]


def test_without_langchain_core_each_name_says_which_extra_brings_it() -> None:
    code = """
import sys
sys.modules["langchain_core"] = None
import acms_adapters.langchain as adapter
from acms_adapters import MissingExtraError
try:
    adapter.ACMSRetriever
except MissingExtraError as error:
    print(error.extra)
"""
    assert run(code).strip() == "langchain"
    assert issubclass(MissingExtraError, ImportError)


def test_legacy_names_are_those_of_the_module() -> None:
    assert legacy.__all__ == ["ACMSChatMessageHistory", "ACMSMemory"]


USE = """
import asyncio, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import acms_adapters.langchain as adapter
    for name in adapter.__all__:
        getattr(adapter, name)
    from langchain.agents import create_agent
    from langchain_core.documents import Document
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.memory import InMemorySaver

    class Model(FakeMessagesListChatModel):
        def bind_tools(self, tools, **options):
            return self

    def calls(name, **args):
        return AIMessage("", tool_calls=[{"name": name, "args": args, "id": "1"}])

    retriever = adapter.ACMSRetriever.from_texts(["the owl sleeps"] * 2, embedder=None)
    adapter.ACMSDocumentCompressor(max_tokens=9).compress_documents(retriever.invoke("owl"), "")
    adapter.InheritedContext(retriever.assemble("the owl")).invoke("why?")
    child = create_agent(
        Model(responses=[AIMessage("ok")]), [], middleware=[adapter.ACMSContextMiddleware()]
    )
    tools = [
        adapter.delegate_tool(child, name="look", description="Look."),
        adapter.retriever_tool(retriever),
    ]
    for way in ("invoke", "ainvoke"):
        model = Model(
            responses=[
                calls("look", task="the owl"), calls("search_context", query="owl"), AIMessage("ok")
            ]
        )
        agent = create_agent(
            model,
            tools,
            middleware=[
                adapter.ACMSContextMiddleware(retriever.pipeline, window=5_000),
                adapter.ACMSDelegationMiddleware(tool="look", argument="task"),
            ],
            checkpointer=InMemorySaver(),
        )
        asked = {"messages": "the owl?"}, {"configurable": {"thread_id": "t"}}
        result = getattr(agent, way)(*asked)
        result = asyncio.run(result) if way == "ainvoke" else result
        assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]
ours = [
    f"{w.filename}: {w.message}"
    for w in caught
    if issubclass(w.category, (DeprecationWarning, PendingDeprecationWarning))
    and ("acms_" in w.filename or w.filename == "<string>")
]
print(*ours, sep="\\n", end="")
"""


def test_nothing_of_it_uses_what_langchain_has_deprecated() -> None:
    assert run(USE) == ""
