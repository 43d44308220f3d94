"""The model of the LlamaIndex examples: a real one when its key is set, else a script."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import TextNode

from acms_adapters.backends.embedders import as_embedder

REAL = {
    "OPENAI_API_KEY": ("llama_index.llms.openai", "OpenAI", "gpt-4.1-mini"),
    "ANTHROPIC_API_KEY": ("llama_index.llms.anthropic", "Anthropic", "claude-sonnet-4-5"),
}
"""Environment variable to module, class and model; `ACMS_EXAMPLE_MODEL` names another model."""

TEXTS = {
    "adr/7": "Decision: sessions live in Redis, because the web servers must stay stateless.",
    "src/session.py": "class SessionStore: keeps sessions in Redis; they expire after a day.",
    "src/limiter.py": "class RateLimiter: a token bucket for each client, refilled every second.",
    "src/login.py": "def login(user, password): checks the password and opens a session.",
    "docs/deploy.md": "Deploy by pushing a tag. The servers are replaced one after the other. "
    "Sessions outlive that. Watch the error rate for ten minutes. Roll back by pushing the tag "
    "before. Never deploy on a Friday. Tell the operators in the channel.",
}
"""A small project to ask about."""

Line = str | Sequence[tuple[str, dict[str, Any]]]


def text_nodes() -> list[TextNode]:
    """The project as nodes."""
    return [TextNode(id_=name, text=text) for name, text in TEXTS.items()]


def language_model(*lines: Line) -> FunctionCallingLLM:
    """A model: texts to say, and tools to call at once, in the script; or a real one."""
    for variable, (module, kind, name) in REAL.items():
        if os.environ.get(variable):
            made = getattr(import_module(module), kind)
            model: FunctionCallingLLM = made(model=os.environ.get("ACMS_EXAMPLE_MODEL", name))
            return model
    waiting = list(lines)

    def respond(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        line = waiting.pop(0)
        if isinstance(line, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=line)
        calls = [
            ToolCallBlock(tool_name=tool, tool_kwargs=asked, tool_call_id=f"call-{number}")
            for number, (tool, asked) in enumerate(line)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=calls)

    return MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)


class LetterEmbedding(BaseEmbedding):
    """Embeds by letters, so that nothing has to be downloaded; take a real one in its place."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(x) for x in as_embedder("character-frequency-v1").embed_query(text)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)
