"""Inherited context as a `BaseMemory`; see `acms_adapters.langchain.legacy`."""

from __future__ import annotations

from typing import Any

from langchain_classic.base_memory import BaseMemory
from pydantic import Field

from acms_adapters.langchain.deprecation import warn_of_its_end
from acms_adapters.models import ContextPayload
from acms_adapters.pipeline.block import fit_block
from acms_adapters.tokens import token_counter


class ACMSMemory(BaseMemory):
    """Gives a chain its inherited context as one variable, and stores nothing.

    Attributes:
        payload: What is inherited, such as `hand_down` makes it.
        memory_key: Name of the variable.
        max_tokens: Most tokens of the context, its fence included; None for no bound.
        tokenizer: How to count; anything `token_counter` reads.
    """

    payload: ContextPayload | None = None
    memory_key: str = "context"
    max_tokens: int | None = Field(default=None, ge=1)
    tokenizer: Any = None

    def __init__(self, **fields: Any) -> None:
        warn_of_its_end(type(self).__name__, "InheritedContext")
        super().__init__(**fields)

    @property
    def memory_variables(self) -> list[str]:
        """The name of the variable."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The context, fenced; empty where nothing is inherited."""
        if self.payload is None:
            return {self.memory_key: ""}
        counter = token_counter(self.tokenizer)
        return {self.memory_key: fit_block(self.payload, self.max_tokens, counter=counter) or ""}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Nothing: what is inherited does not change."""

    def clear(self) -> None:
        """Nothing: what is inherited does not change."""
