"""How many tokens there are."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, ModelWrapValidatorHandler, computed_field, model_validator

from acms_adapters.errors import BudgetError
from acms_adapters.models.base import FrozenModel, build_from_dump


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

    @model_validator(mode="wrap")
    @classmethod
    def _accept_dump(cls, data: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        return build_from_dump(data, build, derived=cls.model_computed_fields)

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
