"""The chat model of the LangChain examples: a real one when its key is set, else a script."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage

REAL = {
    "OPENAI_API_KEY": "openai:gpt-4.1-mini",
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-4-5",
}
"""Environment variable to the model that it opens; `ACMS_EXAMPLE_MODEL` names another one."""

DOCUMENTS = {
    "adr/7": "Decision: sessions live in Redis, because the web servers must stay stateless.",
    "src/session.py": "class SessionStore: keeps sessions in Redis; they expire after a day.",
    "src/limiter.py": "class RateLimiter: a token bucket for each client, refilled every second.",
    "src/login.py": "def login(user, password): checks the password and opens a session.",
    "docs/deploy.md": "Deploy by pushing a tag; the servers are replaced one after the other.",
}
"""A small project to ask about."""


class Script(FakeMessagesListChatModel):
    """Says its lines, whatever it is asked."""

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Script:
        """Tools change nothing."""
        return self


def chat_model(*lines: str | tuple[str, dict[str, Any]]) -> BaseChatModel:
    """A model: texts to say and tools to call in the script, or a real one that decides itself."""
    for variable, name in REAL.items():
        if os.environ.get(variable):
            from langchain.chat_models import init_chat_model

            return init_chat_model(os.environ.get("ACMS_EXAMPLE_MODEL", name))
    answers: list[BaseMessage] = []
    for number, line in enumerate(lines):
        if isinstance(line, str):
            answers.append(AIMessage(line))
        else:
            call = {"name": line[0], "args": line[1], "id": f"call-{number}"}
            answers.append(AIMessage("", tool_calls=[call]))
    return Script(responses=answers)
