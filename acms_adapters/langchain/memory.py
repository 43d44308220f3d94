"""What chains inherit: a step between the prompt and the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from acms_adapters.errors import BudgetError, RequestError
from acms_adapters.langchain.fence import in_messages
from acms_adapters.models import ContextPayload
from acms_adapters.pipeline.block import fit_block
from acms_adapters.pipeline.inherited import INHERITED_KEY
from acms_adapters.protocols import TokenCounter
from acms_adapters.tokens import token_counter


class InheritedContext(Runnable[LanguageModelInput, list[BaseMessage]]):
    """Adds inherited context to the leading system message, which is made if missing (ruling A3).

    ``prompt | InheritedContext(skeleton) | model`` reads always the same;
    ``chain.invoke(x, inheriting(skeleton))`` hands something down for one call, to all chains
    inside it. The text never goes through a template. A block that is there already is replaced.

    Args:
        payload: What is inherited, such as `hand_down` makes it, where a call says nothing else.
        max_tokens: Most tokens of the block, its fence included; None for no bound.
        tokenizer: How to count; anything `token_counter` reads.

    Raises:
        ValueError: `max_tokens` is out of its range.
    """

    def __init__(
        self,
        payload: ContextPayload | None = None,
        *,
        max_tokens: int | None = None,
        tokenizer: Any = None,
    ) -> None:
        if max_tokens is not None and (type(max_tokens) is not int or max_tokens < 1):
            raise BudgetError(f"max_tokens must be a whole number >= 1, not {max_tokens!r}")
        self.payload = payload
        self.max_tokens = max_tokens
        self._counter: TokenCounter = token_counter(tokenizer)

    def invoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[BaseMessage]:
        """The messages with the block in their leading system message."""
        payload = self._payload(ensure_config(config))

        def merge(given: LanguageModelInput) -> list[BaseMessage]:
            messages = _messages(given)
            if payload is None:
                return messages
            block = fit_block(payload, self.max_tokens, counter=self._counter)
            return in_messages(messages, block) if block is not None else messages

        return self._call_with_config(merge, input, config)

    def _payload(self, config: RunnableConfig) -> ContextPayload | None:
        found = config.get("configurable", {}).get(INHERITED_KEY, self.payload)
        if found is not None and not isinstance(found, ContextPayload):
            raise RequestError(f"{INHERITED_KEY} must be a ContextPayload, not {found!r:.80}")
        return found


def inheriting(payload: ContextPayload) -> RunnableConfig:
    """A configuration that hands a payload down to the chains of one call."""
    return {"configurable": {INHERITED_KEY: payload}}


def _messages(given: LanguageModelInput) -> list[BaseMessage]:
    if isinstance(given, PromptValue):
        return given.to_messages()
    if isinstance(given, str | BaseMessage):
        return convert_to_messages([given])
    return convert_to_messages(_checked(given))


def _checked(given: Any) -> Sequence[Any]:
    if not isinstance(given, Sequence):
        raise RequestError(f"expected a prompt or messages, not {given!r:.80}")
    return given
