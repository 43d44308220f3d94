"""How much of a model's window a conversation takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from acms_adapters.protocols import TokenCounter

CountMessages = Callable[[Sequence[BaseMessage]], int]

MESSAGE_TOKENS = 4
"""Charged for the role and the limits of each message; providers were seen to take 3 or 4."""

MEDIA_TOKENS = 1600
"""Charged for each image, sound or file: no text says how large they are. It is about the most
that a large image takes; pass a counter of messages where that is not near enough."""

_MEDIA = frozenset(
    {
        "audio",
        "document",
        "file",
        "image",
        "image_url",
        "input_audio",
        "input_file",
        "input_image",
        "media",
        "video",
    }
)


def count_messages(messages: Iterable[BaseMessage], counter: TokenCounter) -> int:
    """Tokens of messages as a model reads them, rather too many than too few.

    Text, tool calls, names and ids are counted, and `MESSAGE_TOKENS` for each message; artifacts
    and other things that no provider sends are not.
    """
    return sum(
        MESSAGE_TOKENS + sum(_tokens(part, counter) for part in _parts(message))
        for message in messages
    )


def count_schemas(schemas: Iterable[Any], counter: TokenCounter) -> int:
    """Tokens of tools, functions or JSON schemas, as JSON."""
    return sum(MESSAGE_TOKENS + counter.count(_json(_schema(schema))) for schema in schemas)


def _parts(message: BaseMessage) -> Iterator[Any]:
    content = message.content
    yield from [content] if isinstance(content, str) else content
    if message.name:
        yield message.name
    if isinstance(message, ToolMessage):
        yield message.tool_call_id
    if isinstance(message, AIMessage):
        yield from map(dict, (*message.tool_calls, *message.invalid_tool_calls))


def _tokens(part: Any, counter: TokenCounter) -> int:
    if isinstance(part, str):
        return counter.count(part)
    kind = part.get("type")
    if kind in _MEDIA:
        return MEDIA_TOKENS
    if kind == "text" and isinstance(text := part.get("text"), str):
        return counter.count(text)
    return counter.count(_json(part))


def _schema(schema: Any) -> Any:
    return schema if isinstance(schema, Mapping) else convert_to_openai_tool(schema)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
