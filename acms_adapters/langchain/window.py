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
"""Charged for each image, about the most that a large one takes, and at least for each sound, film
or file. What lies behind an address may be larger: pass a counter of messages where it is."""

SOUND_CHARS, FILE_CHARS = 100, 10
"""Characters of the data of a sound or film, and of a file, that are charged as one token. Pages
and seconds cannot be counted without a decoder, so both err towards too many: they fit a page of
3,000 tokens in 30,000 characters, and a second of 40 tokens in 4,000."""

_IMAGES = frozenset({"image", "image_url", "input_image"})
_SOUNDS = frozenset({"audio", "input_audio", "video"})
_FILES = frozenset({"document", "file", "input_file", "media"})


def count_messages(messages: Iterable[BaseMessage], counter: TokenCounter) -> int:
    """Tokens of messages as a model reads them, rather too many than too few.

    Text, tool calls, names and ids are counted, and `MESSAGE_TOKENS` for each message; images,
    sounds and files are charged, see `MEDIA_TOKENS`; artifacts and other things that no provider
    sends are not.
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
    if kind == "text" and isinstance(text := part.get("text"), str):
        return counter.count(text)
    if kind in _IMAGES | _SOUNDS | _FILES:
        return max(MEDIA_TOKENS, _data_tokens(part, counter))
    return counter.count(_json(part))


def _data_tokens(part: Mapping[str, Any], counter: TokenCounter) -> int:
    kind, source = part["type"], part.get("source")
    about = source if isinstance(source, Mapping) else {}
    of = str(part.get("mime_type") or about.get("media_type") or "")
    if kind in _IMAGES or of.startswith("image/"):
        return 0
    if {part.get("source_type"), about.get("type")} & {"text", "content"} or of.startswith("text/"):
        return counter.count(_json(part))
    is_sound = kind in _SOUNDS or of.startswith(("audio/", "video/"))
    return sum(map(len, _leaves(part))) // (SOUND_CHARS if is_sound else FILE_CHARS)


def _leaves(value: Any) -> Iterator[str | bytes]:
    if isinstance(value, str | bytes):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(inner)


def _schema(schema: Any) -> Any:
    return schema if isinstance(schema, Mapping) else convert_to_openai_tool(schema)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
