"""Where the block of context stands in a conversation (ruling A3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from acms_adapters.pipeline.fencing import without_blocks

_GAP = "\n\n"

M = TypeVar("M", bound=BaseMessage)


def in_system(system: SystemMessage | None, block: str) -> SystemMessage:
    """A system message that ends with the block, in place of one that was there before."""
    if system is None:
        return SystemMessage(content=block)
    bare = without_block(system)
    if isinstance(bare.content, str):
        content = f"{bare.content}{_GAP}{block}" if bare.content else block
        return bare.model_copy(update={"content": content})
    gap = _GAP if bare.content else ""
    # other parts stay as they are: some carry marks of their provider
    parts = [*bare.content, {"type": "text", "text": f"{gap}{block}"}]
    return bare.model_copy(update={"content": parts})


def in_messages(messages: Sequence[BaseMessage], block: str) -> list[BaseMessage]:
    """Messages with the block in the leading system message, which is made where it is missing."""
    if messages and isinstance(messages[0], SystemMessage):
        return [in_system(messages[0], block), *messages[1:]]
    return [in_system(None, block), *messages]


def before_question(messages: Sequence[M], block: str) -> list[M | HumanMessage]:
    """Messages with the block as one more, right before the last that a person wrote."""
    places = [place for place, message in enumerate(messages) if message.type == "human"]
    place = places[-1] if places else len(messages)
    return [*messages[:place], HumanMessage(content=block), *messages[place:]]


def without_block(message: M) -> M:
    """A message without any block in it."""
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": without_blocks(content)})
    parts: list[str | dict[str, object]] = []
    for part in content:
        text = part if isinstance(part, str) else part.get("text")
        bare = without_blocks(text) if isinstance(text, str) else text
        if not isinstance(bare, str) or bare == text:
            parts.append(part)
        elif bare:
            parts.append(bare if isinstance(part, str) else {**part, "text": bare})
    return message.model_copy(update={"content": parts})
