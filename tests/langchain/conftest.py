"""A model that plays a script, a small store, and something that listens to callbacks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field

from acms_adapters import ContextStore


class ScriptedModel(FakeMessagesListChatModel):
    """Answers what it was told to answer and remembers what it was given to read."""

    seen: list[list[BaseMessage]] = Field(default_factory=list)
    tools: list[Any] = Field(default_factory=list)
    profile: dict[str, Any] | None = None

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> ScriptedModel:
        self.tools[:] = tools
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **named: Any) -> Any:
        self.seen.append([message.model_copy(deep=True) for message in messages])
        return super()._generate(messages, *args, **named)


@pytest.fixture
def scripted() -> Callable[..., ScriptedModel]:
    """Make a model of its answers: texts, or lists of calls (tool, arguments)."""

    def make(*answers: Any, **fields: Any) -> ScriptedModel:
        responses: list[BaseMessage] = []
        for number, answer in enumerate(answers):
            if isinstance(answer, str):
                responses.append(AIMessage(answer))
                continue
            calls = [
                {"name": name, "args": args, "id": f"call-{number}-{place}"}
                for place, (name, args) in enumerate(answer)
            ]
            responses.append(AIMessage("", tool_calls=calls))
        return ScriptedModel(responses=responses, **fields)

    return make


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Invoke a runnable, once each way."""

    def invoke(runnable: Any, *args: Any, **named: Any) -> Any:
        if request.param == "sync":
            return runnable.invoke(*args, **named)
        return asyncio.run(runnable.ainvoke(*args, **named))

    return invoke


ANIMALS = ("cat", "dog", "owl", "bat", "cow", "hen")


@pytest.fixture(scope="session")
def animals() -> ContextStore:
    """Six facts about animals, each a document of its own."""
    store = ContextStore.in_memory(embedder="character-frequency-v1")
    store.add_documents(
        Document(
            id=f"fact-{animal}",
            page_content=f"Fact {number}: the {animal} sleeps in box {number} of the barn.",
            metadata={"number": number, "created_at": f"2024-01-0{number + 1}"},
        )
        for number, animal in enumerate(ANIMALS)
    )
    return store


class Listener(BaseCallbackHandler):
    """Notes runs with their parents, and custom events."""

    def __init__(self) -> None:
        self.runs: dict[Any, tuple[str, Any, tuple[str, ...]]] = {}
        self.ended: list[Any] = []
        self.failed: dict[Any, BaseException] = {}
        self.events: list[tuple[str, Any, Any]] = []

    def _start(self, run_id: Any, parent_run_id: Any, name: str, tags: Any) -> None:
        self.runs[run_id] = (name, parent_run_id, tuple(tags or ()))

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: Any,
        parent_run_id: Any = None,
        tags: Any = None,
        **named: Any,
    ) -> None:
        self._start(run_id, parent_run_id, str(named.get("name")), tags)

    def on_retriever_start(
        self,
        serialized: Any,
        query: str,
        *,
        run_id: Any,
        parent_run_id: Any = None,
        tags: Any = None,
        **named: Any,
    ) -> None:
        self._start(run_id, parent_run_id, str(named.get("name")), tags)

    def on_chain_end(self, outputs: Any, *, run_id: Any, **named: Any) -> None:
        self.ended.append(run_id)

    def on_retriever_end(self, documents: Any, *, run_id: Any, **named: Any) -> None:
        self.ended.append(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: Any, **named: Any) -> None:
        self.failed[run_id] = error

    def on_retriever_error(self, error: BaseException, *, run_id: Any, **named: Any) -> None:
        self.failed[run_id] = error

    def on_custom_event(self, name: str, data: Any, *, run_id: Any, **named: Any) -> None:
        self.events.append((name, data, run_id))

    def lineage(self, name: str) -> list[str]:
        """Names of a run and of those above it."""
        line = []
        at = next(run for run, (called, _, _) in self.runs.items() if called == name)
        while at in self.runs:
            called, at, _ = self.runs[at]
            line.append(called)
        return line


@pytest.fixture
def listener() -> Listener:
    return Listener()
