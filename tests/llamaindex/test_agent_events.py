"""What agents and memory blocks tell of the context they read."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.event_handlers import BaseEventHandler
from pydantic import Field

from acms_adapters import ACMSPipeline, ContextStore
from acms_adapters.llamaindex import (
    ACMSFunctionAgent,
    ACMSMemoryBlock,
    ACMSRetriever,
    ContextPackedEvent,
)

QUESTION = "What about the lamp, the tide table, the boat and the fog?"


class Packed(BaseEventHandler):
    seen: list[ContextPackedEvent] = Field(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "Packed"

    def handle(self, event: Any, **_: Any) -> None:
        if isinstance(event, ContextPackedEvent):
            self.seen.append(event)


@pytest.fixture
def told() -> Iterator[list[ContextPackedEvent]]:
    handler = Packed()
    get_dispatcher().add_event_handler(handler)
    yield handler.seen
    get_dispatcher().event_handlers.remove(handler)


@pytest.fixture(params=["agent", "block"])
def read(request: Any, scripted: Any) -> Callable[[ACMSPipeline], Any]:
    """Lets an agent read context for a question, by itself or through its memory."""

    async def by_agent(pipeline: ACMSPipeline) -> None:
        llm = scripted.says("keeper", "ok")
        agent = ACMSFunctionAgent(name="keeper", pipeline=pipeline, max_tokens=300, llm=llm)
        await agent.run(user_msg=QUESTION)

    async def by_block(pipeline: ACMSPipeline) -> None:
        block = ACMSMemoryBlock(pipeline=pipeline, max_tokens=300)
        await block.aget([ChatMessage(role="user", content=QUESTION)])

    return by_agent if request.param == "agent" else by_block


async def test_a5_the_ledger_of_a_turn_reaches_instrumentation(
    read: Callable[[ACMSPipeline], Any], told: list[ContextPackedEvent], store: ContextStore
) -> None:
    await read(store.pipeline())
    (event,) = told
    assert event.kept
    assert all(entry["why"] for entry in event.left_out)
    assert event.left_out
    assert not event.degraded


async def test_s9_a_turn_in_which_nothing_answered_does_not_look_as_if_nothing_was_found(
    read: Callable[[ACMSPipeline], Any],
    told: list[ContextPackedEvent],
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Down:
        def search(self, query: str, **_: Any) -> Any:
            raise ConnectionError("the index is down")

    with caplog.at_level(logging.WARNING):
        await read(ACMSPipeline(backends={"text": Down()}))
    (event,) = told
    assert event.degraded
    assert "the index is down" in "".join(event.failures)
    assert "goes on without context" in caplog.text


def test_what_works_with_a_pipeline_can_be_copied_deeply(
    scripted: Any, store: ContextStore
) -> None:
    pipeline = store.pipeline()
    llm = scripted.says("keeper", "ok")
    retriever = copy.deepcopy(ACMSRetriever(pipeline, max_tokens=100))
    assert retriever.retrieve(QUESTION)
    agent = ACMSFunctionAgent(name="keeper", pipeline=pipeline, llm=llm).model_copy(deep=True)
    assert agent.pipeline is pipeline
    memory = Memory.from_defaults(memory_blocks=[ACMSMemoryBlock(store=store)])
    (block,) = memory.model_copy(deep=True).memory_blocks
    assert isinstance(block, ACMSMemoryBlock)
    assert block.store is store
