"""A function-calling model that follows a script, and something to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from acms_adapters import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    ContextStore,
    FragmentProvenance,
)

Script = Callable[[list[ChatMessage]], ChatMessage]


class Scripted:
    """Makes models and keeps what each was sent, in order."""

    def __init__(self) -> None:
        self.seen: dict[str, list[list[ChatMessage]]] = {}

    def model(self, name: str, script: Script) -> MockFunctionCallingLLM:
        self.seen[name] = []

        def respond(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
            self.seen[name].append([message.model_copy(deep=True) for message in messages])
            return script(list(messages))

        return MockFunctionCallingLLM(response_generator=respond)

    def says(self, name: str, answer: str) -> MockFunctionCallingLLM:
        """A model that always gives the same answer."""
        return self.model(name, lambda messages: ChatMessage(role="assistant", content=answer))

    def text(self, name: str, call: int = -1) -> str:
        """All text of one call."""
        return "\n".join(message.content or "" for message in self.seen[name][call])


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


def calls(*tools: tuple[str, dict[str, Any]]) -> ChatMessage:
    """An assistant's message that calls tools."""
    blocks = [
        ToolCallBlock(tool_name=name, tool_kwargs=arguments, tool_call_id=f"call-{place}")
        for place, (name, arguments) in enumerate(tools)
    ]
    return ChatMessage(role="assistant", blocks=blocks)


@pytest.fixture(name="calls")
def calls_fixture() -> Callable[..., ChatMessage]:
    return calls


TOPICS = {
    "lamp": "The lamp of the lighthouse burns rapeseed oil and is lit at dusk.",
    "tide": "The tide table lists high water twice a day for the harbour.",
    "boat": "The supply boat lands on Mondays when the swell is below two metres.",
    "fog": "In fog the keeper sounds the horn every ninety seconds.",
    "rota": "The rota gives each keeper four weeks on and two weeks off.",
}


def fragments(words: int = 60) -> list[ContextFragment]:
    return [
        ContextFragment(
            uko_node=f"manual://{name}",
            content=f"{text} " + " ".join(f"{name}{n}" for n in range(words)) + ".",
            relevance_score=0.9 - place / 10,
            provenance=FragmentProvenance(resource_uri=f"manual://{name}"),
        )
        for place, (name, text) in enumerate(TOPICS.items())
    ]


@pytest.fixture
def context() -> ContextPayload:
    """A parent's context of about 1,000 tokens."""
    found = [f.model_copy(update={"token_count": 200}) for f in fragments(80)]
    return ContextPayload(fragments=tuple(found), budget=ContextBudget(max_tokens=4_096))


@pytest.fixture
def store() -> Iterator[ContextStore]:
    with ContextStore.in_memory(embedder=None) as store:
        store.add_fragments(fragments())
        yield store
