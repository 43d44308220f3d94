"""Inherited context behind LangChain's older memory interfaces.

`BaseChatMessageHistory` and `BaseMemory` are deprecated in LangChain and go with its version 2;
these shims go with them, and say so when they are made. New code uses `ACMSContextMiddleware` in
agents and `InheritedContext` in chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, HumanMessage

from acms_adapters.langchain.deprecation import warn_of_its_end
from acms_adapters.lazy import lazy_names
from acms_adapters.models import ContextPayload
from acms_adapters.pipeline.block import fit_block
from acms_adapters.tokens import token_counter

if TYPE_CHECKING:
    from acms_adapters.langchain.legacy_memory import ACMSMemory

__all__ = ["ACMSChatMessageHistory", "ACMSMemory"]

__getattr__ = lazy_names(
    __name__,
    {"acms_adapters.langchain.legacy_memory": ("ACMSMemory",)},
    extra="legacy",
    needs=("langchain_classic", "langchain-classic"),
)


class ACMSChatMessageHistory(BaseChatMessageHistory):
    """A history that begins with inherited context, which it never stores.

    The context is one message of a person, because a second system message is refused by some
    providers; there is one from the first reading to the last, because readers cut off what they
    read before.

    Args:
        payload: What is inherited, such as `hand_down` makes it.
        history: Where messages are stored; left out, in memory.
        max_tokens: Most tokens of the context, its fence included; None for no bound.
        tokenizer: How to count; anything `token_counter` reads.
    """

    def __init__(
        self,
        payload: ContextPayload | None,
        history: BaseChatMessageHistory | None = None,
        *,
        max_tokens: int | None = None,
        tokenizer: Any = None,
    ) -> None:
        warn_of_its_end(type(self).__name__, "ACMSContextMiddleware or InheritedContext")
        self._history = history
        self._kept: list[BaseMessage] = []
        block = None
        if payload is not None:
            block = fit_block(payload, max_tokens, counter=token_counter(tokenizer))
        self._above = [] if block is None else [HumanMessage(content=block)]

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The inherited context, then what was stored."""
        stored = self._kept if self._history is None else self._history.messages
        return [*self._above, *stored]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages, but for the inherited context."""
        new = [message for message in messages if message not in self._above]
        if self._history is None:
            self._kept.extend(new)
        else:
            self._history.add_messages(new)

    def clear(self) -> None:
        """Forget what was stored; what is inherited stays."""
        if self._history is None:
            self._kept.clear()
        else:
            self._history.clear()
