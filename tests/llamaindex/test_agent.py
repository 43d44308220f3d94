"""An agent that reads its own context, alone and inside a workflow of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.workflow import Context

from acms_adapters import ContextPayload, ContextStore, token_counter
from acms_adapters.llamaindex import ACMSFunctionAgent, ACMSMemoryBlock, hand_over
from acms_adapters.llamaindex.agent import in_system
from acms_adapters.pipeline.fencing import FENCE, fenced

Calls = Callable[..., ChatMessage]


def tokens(text: str) -> int:
    return token_counter().count(text)


async def test_one_block_stands_in_the_one_leading_system_message_at_every_step_a3(
    scripted: Any, calls: Calls, store: ContextStore
) -> None:
    def look(what: str) -> str:
        """Look."""
        return f"looked at {what}"

    def script(messages: list[ChatMessage]) -> ChatMessage:
        if messages[-1].role == "tool":
            return ChatMessage(role="assistant", content="At dusk.")
        return calls(("look", {"what": "lamp"}))

    agent = ACMSFunctionAgent(
        name="keeper",
        system_prompt="You keep the light.",
        tools=[look],
        pipeline=store.pipeline(),
        llm=scripted.model("keeper", script),
    )
    memory = ChatMemoryBuffer.from_defaults(token_limit=10_000)
    await agent.run(user_msg="When is the lamp lit?", memory=memory)
    first, second = scripted.seen["keeper"]
    for sent in (first, second):
        assert [m.role.value for m in sent].count("system") == 1
        assert sent[0].content.startswith(f"You keep the light.\n\n<{FENCE}>")
        assert "at dusk" in sent[0].content
    assert first[0].content == second[0].content
    assert not any(FENCE in (m.content or "") for m in memory.get_all())


async def test_the_block_shrinks_to_the_room_that_the_model_s_window_leaves(
    scripted: Any, store: ContextStore
) -> None:
    llm = scripted.says("keeper", "ok")  # its window is 3,900 tokens, 256 of them for the answer
    agent = ACMSFunctionAgent(name="keeper", pipeline=store.pipeline(), max_tokens=2_048, llm=llm)
    for words in (10, 3_300, 3_500, 3_620):
        question = "lamp tide boat fog rota " + "well " * words
        memory = ChatMemoryBuffer.from_defaults(token_limit=30_000)
        await agent.run(user_msg=question, memory=memory)
        assert tokens(scripted.text("keeper")) <= 3_900 - 256
    assert FENCE not in scripted.text("keeper")
    assert FENCE in scripted.text("keeper", 0)


async def test_who_takes_over_in_a_workflow_inherits_a_skeleton_of_the_one_before(
    scripted: Any, calls: Calls, store: ContextStore
) -> None:
    def hands_off(messages: list[ChatMessage]) -> ChatMessage:
        return calls(("handoff", {"to_agent": "second", "reason": "yours"}))

    first = ACMSFunctionAgent(
        name="first",
        description="Finds.",
        system_prompt="FIRST",
        pipeline=store.pipeline(),
        llm=scripted.model("first", hands_off),
    )
    second = ACMSFunctionAgent(
        name="second",
        description="Answers.",
        system_prompt="SECOND",
        ratio=0.5,
        max_tokens=4_000,
        llm=scripted.says("second", "On Mondays."),
    )
    workflow = AgentWorkflow(agents=[first, second], root_agent="first")
    ctx = Context(workflow)
    result = await workflow.run(
        user_msg="Of lamp, tide, boat, fog: when does the boat land?", ctx=ctx
    )
    assert str(result) == "On Mondays."
    sent = scripted.seen["second"][0]
    assert sent[0].content.startswith(f"SECOND\n\n<{FENCE}>")
    assert "Mondays" in sent[0].content
    assert scripted.text("first").count("manual://") > sent[0].content.count("manual://")
    again = Context.from_dict(workflow, ctx.to_dict())
    for key in ("acms_inherited", "acms_turns", "acms_active"):
        assert await again.store.get(key) == await ctx.store.get(key)
    await workflow.run(user_msg="Thank you.", ctx=again)
    assert FENCE not in scripted.text("second")


async def test_a_skeleton_can_be_handed_to_an_agent_by_name(
    scripted: Any, context: ContextPayload
) -> None:
    agent = ACMSFunctionAgent(name="helper", llm=scripted.says("helper", "ok"))
    workflow = AgentWorkflow(agents=[agent])
    ctx = Context(workflow)
    await hand_over(ctx, "helper", context)
    await hand_over(ctx, "somebody else", ContextPayload(fragments=()))
    await workflow.run(user_msg="How is the lamp lit?", ctx=ctx)
    assert "rapeseed" in scripted.text("helper")


async def test_without_anything_to_read_nothing_is_added(scripted: Any) -> None:
    agent = ACMSFunctionAgent(name="a", system_prompt="S", llm=scripted.says("a", "ok"))
    await agent.run(user_msg="Hello.")
    assert [m.content for m in scripted.seen["a"][0]] == ["S", "Hello."]


def test_a_block_replaces_the_one_before_and_changes_no_message() -> None:
    system = ChatMessage(role="system", content=f"S\n\n{fenced('old')}")
    user = ChatMessage(role="user", content="u")
    before = system.model_dump_json()
    first, second = in_system([system, user], fenced("new"))
    assert first.content == f"S\n\n{fenced('new')}"
    assert second is user
    assert system.model_dump_json() == before
    made = in_system([user], fenced("new"))
    assert [m.role.value for m in made] == ["system", "user"]


def test_other_parts_of_a_system_message_stay() -> None:
    image = ImageBlock(url="https://example.org/i.png")
    system = ChatMessage(role="system", blocks=[TextBlock(text="S"), image])
    (merged,) = in_system([system], fenced("new"))
    assert merged.blocks[:2] == system.blocks
    assert merged.blocks[2].text.endswith(fenced("new"))


@pytest.mark.parametrize("fields", [{"max_tokens": 0}, {"ratio": 2.0}])
def test_a_value_outside_its_range_is_refused(scripted: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="max_tokens|ratio"):
        ACMSFunctionAgent(name="a", llm=scripted.says("a", "ok"), **fields)


@pytest.mark.parametrize("prompt", [None, "SYSTEM"])
async def test_what_a_memory_brings_stands_in_the_one_leading_system_message_a3(
    scripted: Any, store: ContextStore, prompt: str | None
) -> None:
    agent = ACMSFunctionAgent(
        name="reader", system_prompt=prompt, llm=scripted.says("reader", "At dusk.")
    )
    block = ACMSMemoryBlock(store=store, max_tokens=300)
    memory = Memory.from_defaults(memory_blocks=[block])
    await agent.run(user_msg="When is the lamp lit?", memory=memory)
    (sent,) = scripted.seen["reader"]
    assert [message.role.value for message in sent] == ["system", "user"]
    system = sent[0].content or ""
    assert system.startswith(prompt or "")
    assert system.count(f"<{FENCE}>") == 1
    assert "at dusk" in system
    assert sent[1].content == "When is the lamp lit?"
