"""Context as a block of a memory: read for each turn, cut by fragments, never in the history."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from pydantic import ValidationError

from acms_adapters import ContextPayload, ContextStore, token_counter
from acms_adapters.llamaindex import ACMSMemoryBlock
from acms_adapters.pipeline.fencing import FENCE, fenced, unfenced
from acms_adapters.pipeline.inherited import Inherited


def tokens(text: str) -> int:
    return token_counter().count(text)


def asked(text: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text)]


def nodes(block: str) -> list[str]:
    return [line[4:] for line in block.splitlines() if line.startswith("=== ")]


async def test_an_agent_reads_what_the_question_needs_and_its_history_stays_clean(
    scripted: Any, store: ContextStore
) -> None:
    memory = Memory.from_defaults(memory_blocks=[ACMSMemoryBlock(store=store)])
    agent = FunctionAgent(name="keeper", llm=scripted.says("keeper", "Every ninety seconds."))
    await agent.run(user_msg="How often does the horn sound in fog?", memory=memory)
    assert "ninety seconds" in scripted.text("keeper")
    assert scripted.text("keeper").count(f"<{FENCE}>") == 1
    await agent.run(user_msg="When does the supply boat land?", memory=memory)
    assert scripted.text("keeper").count(f"<{FENCE}>") == 1
    assert "Mondays" in scripted.text("keeper")
    assert not any(FENCE in (m.content or "") for m in await memory.aget_all())


@pytest.mark.parametrize("limit", [40, 64, 150, 300, 600])
async def test_the_block_is_within_its_tokens(store: ContextStore, limit: int) -> None:
    block = ACMSMemoryBlock(store=store, max_tokens=limit)
    text = await block.aget(asked("lamp, tide, boat, fog and rota"))
    assert tokens(text) <= limit
    assert (unfenced(text) is not None) == bool(text)


async def test_truncation_takes_the_least_important_fragments_first(
    context: ContextPayload,
) -> None:
    block = ACMSMemoryBlock(max_tokens=4_000, inherited=Inherited(payload=context, strategy="full"))
    whole = await block.aget([])
    assert len(nodes(whole)) == 5
    previous = nodes(whole)
    for cut in range(100, tokens(whole), 150):
        text = await block.atruncate(whole, cut)
        if text is None:
            assert tokens(whole) - cut < 120
            continue
        assert tokens(text) <= tokens(whole) - cut
        assert nodes(text) == nodes(whole)[: len(nodes(text))]
        assert len(nodes(text)) <= len(previous)
        assert unfenced(text) is not None
        previous = nodes(text)
    assert await block.atruncate(whole, tokens(whole)) is None
    assert await block.atruncate("no block at all", 1) is None


async def test_the_last_fragment_loses_sentences_before_it_goes(context: ContextPayload) -> None:
    sentences = " ".join(f"Keeper {n} signed the log." for n in range(60))
    fragment = context.fragments[0].model_copy(update={"content": sentences})
    payload = ContextPayload(fragments=(fragment,))
    block = ACMSMemoryBlock(max_tokens=2_000, inherited=Inherited(payload=payload, strategy="full"))
    whole = await block.aget([])
    text = await block.atruncate(whole, tokens(whole) - 120)
    assert text is not None
    assert 80 <= tokens(text) <= 120
    assert "Keeper 0 signed the log." in text
    assert "Keeper 59" not in text


async def test_a_memory_short_of_tokens_keeps_a_part_of_the_block(store: ContextStore) -> None:
    block = ACMSMemoryBlock(store=store, max_tokens=800)
    memory = Memory.from_defaults(token_limit=400, memory_blocks=[block])
    await memory.aput(ChatMessage(role="user", content="lamp, tide, boat, fog, rota?"))
    messages = await memory.aget()
    text = "\n".join(message.content or "" for message in messages)
    assert f"<{FENCE}>" in text
    assert tokens(text[text.index(f"<{FENCE}>") :]) <= 400


async def test_what_leaves_the_conversation_is_found_again(store: ContextStore) -> None:
    block = ACMSMemoryBlock(store=store, max_tokens=600)
    memory = Memory.from_defaults(
        token_limit=300, token_flush_size=50, chat_history_token_ratio=0.3, memory_blocks=[block]
    )
    await memory.aput(ChatMessage(role="user", content="My parrot is called Zebedee."))
    await memory.aput(ChatMessage(role="assistant", content="A fine name for a parrot."))
    for n in range(8):
        await memory.aput(ChatMessage(role="user", content=f"Remark {n} " + "and so on " * 8))
        await memory.aput(ChatMessage(role="assistant", content="I see. " * 8))
    text = await block.aget(asked("What is the parrot called?"))
    assert "Zebedee" in text
    assert "user: My parrot" in text


async def test_nothing_to_read_is_an_empty_text(store: ContextStore) -> None:
    assert await ACMSMemoryBlock().aget(asked("anything?")) == ""
    assert await ACMSMemoryBlock(store=store).aget([]) == ""
    assert await ACMSMemoryBlock(store=store, max_tokens=5).aget(asked("lamp?")) == ""


async def test_the_context_that_was_read_can_be_handed_on(store: ContextStore) -> None:
    block = ACMSMemoryBlock(store=store)
    assert block.context is None
    await block.aget(asked("When is the lamp lit?"))
    assert block.context is not None
    assert "manual://lamp" in {f.uko_node for f in block.context.fragments}


def test_a_block_is_json_but_for_what_it_works_with(
    store: ContextStore, context: ContextPayload
) -> None:
    block = ACMSMemoryBlock(store=store, inherited=Inherited(payload=context), max_tokens=77)
    again = ACMSMemoryBlock.model_validate_json(block.model_dump_json())
    assert again.max_tokens == 77
    assert again.inherited == block.inherited
    assert again.pipeline is None


@pytest.mark.parametrize(
    "fields", [{"max_tokens": 0}, {"priority": -1}, {"unknown": 1}, {"request": {"nonsense": 1}}]
)
def test_a_value_outside_its_range_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ACMSMemoryBlock(**fields)


def test_a_fence_comes_off_as_it_was_put_on() -> None:
    assert unfenced(fenced("words")) == "words"
    assert unfenced("words") is None
