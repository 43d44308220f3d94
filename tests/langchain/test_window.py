"""Counting what a conversation takes of a model's window."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    get_buffer_string,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import tool

from acms_adapters import token_counter
from acms_adapters.langchain.window import MEDIA_TOKENS, count_messages, count_schemas

COUNTER = token_counter()


@tool
def search(query: str, limit: int = 5) -> str:
    """Search the archive for a question and give the best answers there are."""
    return query


CALLS = [{"name": "search", "args": {"query": "你好 world " * 9}, "id": "call-1"}]
CONVERSATION: list[BaseMessage] = [
    SystemMessage("You are terse."),
    HumanMessage("What is known of <|endoftext|> and 检索?"),
    AIMessage("Let me look.", tool_calls=CALLS),
    ToolMessage("A long result. " * 30, tool_call_id="call-1", name="search", artifact="x" * 999),
    AIMessage([{"type": "text", "text": "It is this."}, {"type": "thinking", "thinking": "hm"}]),
]


@pytest.mark.parametrize("count", range(1, len(CONVERSATION) + 1))
def test_messages_are_never_counted_too_low(count: int) -> None:
    messages = CONVERSATION[:count]
    counted = count_messages(messages, COUNTER)
    assert counted >= COUNTER.count(get_buffer_string(messages))
    assert counted >= count_tokens_approximately(messages)


def test_what_no_provider_sends_is_not_counted() -> None:
    plain = ToolMessage("result", tool_call_id="1")
    with_artifact = ToolMessage("result", tool_call_id="1", artifact={"text": "word " * 500})
    assert count_messages([plain], COUNTER) == count_messages([with_artifact], COUNTER)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 90_000}},
        {"type": "image", "base64": "A" * 90_000, "mime_type": "image/png"},
        {"type": "input_audio", "input_audio": {"data": "A" * 90_000, "format": "wav"}},
    ],
)
def test_data_of_images_and_sounds_is_charged_and_not_read_as_text(block: Any) -> None:
    message = HumanMessage([{"type": "text", "text": "Look:"}, block])
    assert MEDIA_TOKENS < count_messages([message], COUNTER) < MEDIA_TOKENS + 20


@pytest.mark.parametrize(
    "block",
    [
        {"type": "file", "base64": "A" * 90_000, "mime_type": "application/pdf"},
        {"type": "file", "file": {"file_data": "A" * 90_000}},
        {"type": "input_file", "file_data": "A" * 90_000},
        {"type": "document", "source": {"type": "base64", "data": "A" * 90_000}},
        {"type": "media", "mime_type": "application/pdf", "data": b"A" * 90_000},
        {"type": "audio", "base64": "A" * 900_000, "mime_type": "audio/mpeg"},
        {"type": "media", "mime_type": "video/mp4", "data": b"A" * 900_000},
    ],
)
def test_a_long_file_or_recording_is_charged_by_its_size(block: Any) -> None:
    assert 9_000 <= count_messages([HumanMessage([block])], COUNTER) < 9_100


LONG = "Words of a long document. " * 4_000


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "text", "data": LONG}},
        {"type": "document", "source": {"type": "content", "content": [{"text": LONG}]}},
        {"type": "file", "source_type": "text", "text": LONG},
        {"type": "text-plain", "text": LONG},
        {"type": "media", "mime_type": "text/plain", "data": LONG},
    ],
)
def test_a_text_that_is_sent_as_a_file_is_counted_as_text(block: Any) -> None:
    assert count_messages([HumanMessage([block])], COUNTER) >= COUNTER.count(LONG)


@pytest.mark.parametrize("kind", ["image", "file", "audio", "video"])
def test_what_lies_behind_an_address_is_charged_once(kind: str) -> None:
    block = {"type": kind, "url": "https://example.org/a"}
    assert count_messages([HumanMessage([block])], COUNTER) == MEDIA_TOKENS + 4


def test_tools_are_counted_as_the_schemas_that_are_sent() -> None:
    counted = count_schemas([search], COUNTER)
    assert counted > COUNTER.count(search.description) + 20
    provided = {"type": "web_search", "name": "web_search"}
    assert count_schemas([search, provided], COUNTER) > counted
    assert count_schemas([], COUNTER) == 0
