"""Context as a block of a LlamaIndex memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.memory import BaseMemoryBlock
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation, model_validator

from acms_adapters.indexing import ContextStore
from acms_adapters.llamaindex.blocks import truncate_block
from acms_adapters.llamaindex.turns import turn_context
from acms_adapters.models import (
    ContextFragment,
    ContextPayload,
    ContextRequest,
    FragmentProvenance,
)
from acms_adapters.models.fragment import MAX_CONTENT_CHARS, content_hash
from acms_adapters.pipeline import ACMSPipeline
from acms_adapters.pipeline.block import fit_block
from acms_adapters.pipeline.fencing import fenced
from acms_adapters.pipeline.inherited import Inherited
from acms_adapters.tokens import DEFAULT_ENCODING, token_counter

MEMORY_TAG = "memory"
"""The tag between which the framework's memory puts its blocks."""

_SLACK = 0.01  # the memory counts by a tokenizer of its own, and what is over it drops whole


class ACMSMemoryBlock(BaseMemoryBlock[str]):
    """Reads, at each turn, context for the last message, and remembers what left the conversation.

    The text is one fenced block (ruling A3), most important fragments first. When the memory is
    short of tokens, the last fragments go one by one before the block goes. The framework's memory
    puts it into a system message behind the agent's own; an `ACMSFunctionAgent` reads both in one.

    Attributes:
        name: Name of the block; it stands around the text as a tag.
        priority: 0 is never truncated and may exceed the memory's limit; of others the lower
            number is truncated first.
        max_tokens: Most tokens of the text, its fence included.
        pipeline: Finds and decides; None to read only what was inherited.
        store: Where messages go that the memory has no room for; they are found again. Left
            without a pipeline, it is searched itself.
        inherited: What a parent handed down.
        request: Fields of `ContextRequest` for every turn.
        tokenizer: Name of the encoding or model to count by.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str = "context"
    priority: int = Field(default=1, ge=0)
    max_tokens: int = Field(default=1024, gt=0)
    pipeline: SkipValidation[ACMSPipeline | None] = Field(default=None, exclude=True, repr=False)
    store: SkipValidation[ContextStore | None] = Field(default=None, exclude=True, repr=False)
    inherited: Inherited | None = None
    request: dict[str, Any] = Field(default_factory=dict)
    tokenizer: str = DEFAULT_ENCODING
    _context: ContextPayload | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _search_the_store(self) -> Self:
        ContextRequest(**self.request)
        if self.pipeline is None and self.store is not None:
            self.pipeline = self.store.pipeline()
        return self

    @property
    def context(self) -> ContextPayload | None:
        """What was read last; a child can inherit of it."""
        return self._context

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        counter = token_counter(self.tokenizer)
        room = self.max_tokens - counter.count(fenced("", around=self._around))
        self._context = None
        if room < 1:
            return ""
        payload = await turn_context(
            self.pipeline,
            question_of(messages or ()),
            self.inherited,
            fields={"tokenizer": self.tokenizer, **self.request},
            tokens=room,
        )
        if payload is None:
            return ""
        block = fit_block(payload, self.max_tokens, counter=counter, around=self._around)
        self._context = payload
        return block or ""

    @property
    def _around(self) -> tuple[str, str]:
        return (MEMORY_TAG, self.name)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        fragments = [fragment for message in messages for fragment in remembered(message)]
        if self.store is not None and fragments:
            await asyncio.to_thread(self.store.add_fragments, fragments)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The text with fewer fragments; None when none is left."""
        counter = token_counter(self.tokenizer)
        tokens = int((counter.count(content) - tokens_to_truncate) * (1 - _SLACK))
        if tokens < 1:
            return None
        return truncate_block(content, tokens, counter=counter, around=self._around)


def question_of(messages: Sequence[ChatMessage]) -> str:
    """What the user wrote last; empty if nothing."""
    asked = (m.content for m in reversed(messages) if m.role == MessageRole.USER)
    return next((text for text in asked if text), "")


def remembered(message: ChatMessage) -> list[ContextFragment]:
    """A message as something to be found again; none if it has no words."""
    text = (message.content or "").strip()
    if not text:
        return []
    session = str(message.additional_kwargs.get("session_id") or "session")
    words = f"{message.role.value}: {text}"[:MAX_CONTENT_CHARS]
    uri = f"conversation:{session}"
    return [
        ContextFragment(
            uko_node=f"{uri}#{content_hash(words)[:16]}",
            content=words,
            tier="hot",
            provenance=FragmentProvenance(resource_uri=uri, resource_type="conversation"),
            metadata={"session_id": session, "role": message.role.value},
        )
    ]
