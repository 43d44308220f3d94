"""How many tokens there are."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, computed_field, model_validator

from acms_adapters.errors import BudgetError
from acms_adapters.models.base import FrozenModel


class ContextBudget(FrozenModel):
    """Tokens for context.

    Attributes:
        max_tokens: All tokens there are, at least 1.
        reserved_tokens: Tokens kept for other text, such as a system prompt; below `max_tokens`.
    """

    max_tokens: int = Field(gt=0)
    reserved_tokens: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _leave_something(self) -> Self:
        if self.reserved_tokens >= self.max_tokens:
            raise ValueError(
                f"reserved_tokens must be below max_tokens ({self.max_tokens}), "
                f"not {self.reserved_tokens!r}"
            )
        return self

    @computed_field  # type: ignore[prop-decorator]
    @property
    def available_tokens(self) -> int:
        """Tokens that context may use."""
        return self.max_tokens - self.reserved_tokens

    @model_validator(mode="before")
    @classmethod
    def _accept_dump(cls, data: object) -> object:
        # model_dump() holds the derived number; it must load again, but not contradict
        if isinstance(data, dict) and "available_tokens" in data:
            data = dict(data)
            given = data.pop("available_tokens")
            derived = data.get("max_tokens", 0) - data.get("reserved_tokens", 0)
            if given != derived:
                raise ValueError(f"available_tokens is max - reserved = {derived}, not {given!r}")
        return data

    @classmethod
    def of(cls, value: Any) -> ContextBudget:
        """Read a budget: itself, or a number of tokens with nothing reserved (ruling S3).

        Raises:
            BudgetError: The number is no whole number of at least 1.
        """
        if isinstance(value, ContextBudget):
            return value
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BudgetError(
                f"a budget is a ContextBudget or a whole number of tokens >= 1, not {value!r}"
            )
        return cls(max_tokens=value)
