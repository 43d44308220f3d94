"""A LlamaIndex agent that reads context of its own, inside a workflow of several as well."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, FunctionAgent
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import Field
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool

from acms_adapters.llamaindex.handover import inherited_for, known_turn, note_turn
from acms_adapters.llamaindex.memory import question_of
from acms_adapters.llamaindex.turns import turn_context
from acms_adapters.models import ContextPayload
from acms_adapters.pipeline.block import fit_block
from acms_adapters.pipeline.fencing import fenced, without_blocks
from acms_adapters.pipeline.inherited import Inherited
from acms_adapters.protocols import TokenCounter
from acms_adapters.tokens import token_counter

_PER_MESSAGE = 4
"""Tokens of a message beside its text."""
_GAP = "\n\n"


class ACMSFunctionAgent(FunctionAgent):
    """Reads, at each step, the context of the turn in its system message (ruling A3).

    At the beginning of a turn it assembles context for what the user wrote and for what was handed
    down to it. Inside an `AgentWorkflow`, an agent that takes over inherits a skeleton of the
    context of the one before. Nothing of it is ever in the history, and what is kept in the
    workflow's `Context` is JSON.

    Attributes:
        pipeline: Finds and decides; None for an agent that reads only what it inherits.
        max_tokens: Most tokens of the block, its fence included; less where the model's window
            has less room.
        ratio: Fraction to remove of the context of an agent it takes over from; left out, 0.3.
        request: Fields of `ContextRequest` for every turn.
        tokenizer: How to count; anything `token_counter` reads.
    """

    pipeline: Any = Field(default=None, exclude=True, repr=False)
    max_tokens: int = Field(default=2048, gt=0)
    ratio: float | None = Field(default=None, ge=0.0, le=1.0)
    request: dict[str, Any] = Field(default_factory=dict)
    tokenizer: Any = Field(default=None, exclude=True, repr=False)

    async def take_step(
        self,
        ctx: AgentContext,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
    ) -> AgentOutput:
        """Take a step with the context of the turn in front."""
        context = await self._context(ctx, llm_input)
        given = await asyncio.to_thread(self._with_context, llm_input, tools, context)
        return await super().take_step(ctx, in_one(given), tools, memory)

    async def _context(
        self, ctx: AgentContext, messages: Sequence[ChatMessage]
    ) -> ContextPayload | None:
        """The context of the turn, assembled once."""
        question = await ctx.store.get("user_msg_str", default="") or question_of(messages)
        inherited = await inherited_for(ctx, self.name, question, ratio=self.ratio)
        known = await known_turn(ctx, self.name, question, inherited)
        if known is not None:
            return known
        context = await self._assembled(question, inherited)
        if context is not None:
            await note_turn(ctx, self.name, question, inherited, context)
        return context

    async def _assembled(self, question: str, inherited: Inherited | None) -> ContextPayload | None:
        counter = self._counter()
        room = self.max_tokens - counter.count(fenced(""))
        if room < 1:
            return None
        fields = {"tokenizer": counter, **self.request}
        return await turn_context(self.pipeline, question, inherited, fields=fields, tokens=room)

    def _with_context(
        self,
        messages: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        context: ContextPayload | None,
    ) -> list[ChatMessage]:
        if context is None:
            return messages
        counter = self._counter()
        spent = _size(messages, tools, counter) + counter.count(_GAP)
        about = self.llm.metadata
        room = min(self.max_tokens, about.context_window - max(0, about.num_output) - spent)
        block = fit_block(context, room, counter=counter) if room > 0 else None
        return in_system(messages, block) if block is not None else messages

    def _counter(self) -> TokenCounter:
        return token_counter(self.tokenizer)


def in_system(messages: Sequence[ChatMessage], block: str) -> list[ChatMessage]:
    """Messages with the block in the leading system message, which is made where it is missing.

    A block that stands there already is replaced. The given messages stay as they are.
    """
    if not messages or messages[0].role != MessageRole.SYSTEM:
        return [ChatMessage(role=MessageRole.SYSTEM, content=block), *messages]
    system = messages[0]
    texts = [part.text for part in system.blocks if isinstance(part, TextBlock)]
    if len(texts) < len(system.blocks):
        blocks = [*system.blocks, TextBlock(text=f"{_GAP}{block}")]
    else:
        text = without_blocks("\n".join(texts))
        blocks = [TextBlock(text=f"{text}{_GAP}{block}" if text else block)]
    return [system.model_copy(update={"blocks": blocks}), *messages[1:]]


def in_one(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Messages whose leading system messages, such as the agent's and the memory's, are one."""
    leading = [*takewhile(lambda message: message.role == MessageRole.SYSTEM, messages)]
    if len(leading) < 2:
        return [*messages]
    blocks = [*leading[0].blocks]
    for message in leading[1:]:
        blocks += [TextBlock(text=_GAP), *message.blocks]
    if texts := [block.text for block in blocks if isinstance(block, TextBlock)]:
        others = [block for block in blocks if not isinstance(block, TextBlock)]
        blocks = [TextBlock(text="".join(texts)), *others]
    return [leading[0].model_copy(update={"blocks": blocks}), *messages[len(leading) :]]


def _size(
    messages: Sequence[ChatMessage], tools: Sequence[AsyncBaseTool], counter: TokenCounter
) -> int:
    texts = [message.content or "" for message in messages]
    texts += [json.dumps(tool.metadata.to_openai_tool()) for tool in tools]
    return sum(counter.count(text) + _PER_MESSAGE for text in texts)
