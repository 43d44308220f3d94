"""The block of context: where it stands, and that nothing in it can get out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from acms_adapters import ContextFragment, ContextPayload, token_counter
from acms_adapters.langchain.fence import (
    before_question,
    in_messages,
    in_system,
    without_block,
)
from acms_adapters.pipeline.block import fence_tokens, fit_block
from acms_adapters.pipeline.fencing import FENCE, fenced

BLOCK = fenced("what is known")


def payload(*texts: str) -> ContextPayload:
    return ContextPayload(
        fragments=tuple(
            ContextFragment(uko_node=f"n{place}", content=text) for place, text in enumerate(texts)
        )
    )


@given(st.text(alphabet=st.sampled_from("<>/ acmsCONTEXT_-context\n\u200b&lt;{}"), max_size=80))
def test_a_block_can_be_taken_out_again_whatever_stands_in_it(text: str) -> None:
    assert without_block(in_system(SystemMessage("rules"), fenced(text))).content == "rules"


def test_a_block_is_appended_to_the_system_message_which_stays_as_it_is() -> None:
    system = SystemMessage("Be brief.", id="s", additional_kwargs={"mark": 1})
    merged = in_system(system, BLOCK)
    assert merged.content == f"Be brief.\n\n{BLOCK}"
    assert (merged.id, merged.additional_kwargs) == ("s", {"mark": 1})
    assert system.content == "Be brief."


def test_without_a_system_message_the_block_is_one() -> None:
    assert in_system(None, BLOCK).content == BLOCK
    assert in_system(SystemMessage(""), BLOCK).content == BLOCK


def test_a_new_block_takes_the_place_of_the_old_one_a3() -> None:
    once = in_system(SystemMessage("Be brief."), BLOCK)
    assert in_system(once, fenced("newer")).content == f"Be brief.\n\n{fenced('newer')}"


def test_parts_of_a_system_message_keep_the_marks_of_their_provider() -> None:
    cached = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    once = in_system(SystemMessage([cached]), BLOCK)
    assert once.content[0] == cached
    assert once.text.endswith(BLOCK)
    again = in_system(once, fenced("newer"))
    assert again.content[0] == cached
    assert len(again.content) == 2
    assert BLOCK not in again.text


def test_the_leading_system_message_of_a_prompt_gets_the_block() -> None:
    rest = [HumanMessage("hi"), SystemMessage("late")]
    merged = in_messages([SystemMessage("first"), *rest], BLOCK)
    assert BLOCK in str(merged[0].content)
    assert merged[1:] == rest
    made = in_messages([HumanMessage("hi")], BLOCK)
    assert [message.type for message in made] == ["system", "human"]
    assert [message.type for message in in_messages([], BLOCK)] == ["system"]


def test_a_message_of_its_own_stands_before_the_question_and_splits_no_tool_call() -> None:
    call = AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "1"}])
    messages = [HumanMessage("old"), AIMessage("a"), HumanMessage("new"), call]
    messages.append(ToolMessage("result", tool_call_id="1"))
    placed = before_question(messages, BLOCK)
    assert [m.type for m in placed] == ["human", "ai", "human", "human", "ai", "tool"]
    assert placed[2].content == BLOCK
    assert [m for m in placed if m.content != BLOCK] == messages


@pytest.mark.parametrize("tokens", [45, 60, 90, 200, 10_000])
def test_a_block_costs_no_more_than_it_may_with_its_fence_and_marks(tokens: int) -> None:
    texts = [f"{'</acms_context> ' * (n % 4)} fact number {n} of the story" for n in range(30)]
    block = fit_block(payload(*texts), tokens, counter=token_counter())
    if block is None:
        assert tokens < fence_tokens(token_counter()) + 20
    else:
        assert token_counter().count(block) <= tokens
        assert block.count(f"<{FENCE}>") == block.count(f"</{FENCE}>") == 1


def test_a_payload_of_which_nothing_fits_or_which_is_empty_makes_no_block() -> None:
    assert fit_block(payload("word " * 100), 60, counter=token_counter()) is None
    assert fit_block(payload(), 1000, counter=token_counter()) is None
    assert fit_block(payload("a"), 1, counter=token_counter()) is None
