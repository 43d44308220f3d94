"""What is asked for (ruling M2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from acms_adapters.errors import RequestError, UnknownNameError
from acms_adapters.models.base import FrozenModel, Metadata, Text, Tier, UtcDatetime
from acms_adapters.models.budget import ContextBudget
from acms_adapters.models.fragment import Depth, Score
from acms_adapters.models.payload import ContextPayload
from acms_adapters.models.plan_context import PlanContext
from acms_adapters.models.window import parse_window

InheritStrategy = Literal["full", "skeleton", "none"]

_HOPS_LIMIT = 1_000_000


def _names(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError(f"expected a list of strings, not the string {value!r}")
    # a set has another order in every process
    return sorted(value) if isinstance(value, set | frozenset) else value


def _filled(value: tuple[str, ...]) -> tuple[str, ...]:
    if any(not name.strip() for name in value):
        raise ValueError(f"names must be non-empty strings, not {value!r}")
    return value


def _unique(value: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(value)) != len(value):
        raise ValueError(f"names must not repeat: {value!r}")
    return value


Names = Annotated[tuple[Text, ...], BeforeValidator(_names), AfterValidator(_filled)]
UniqueNames = Annotated[Names, AfterValidator(_unique)]
Hops = Annotated[int, Field(ge=0, le=_HOPS_LIMIT)]


class ContextRequest(FrozenModel):
    """What context is wanted. Every field may be left out; None means the default applies.

    A request can be read like a mapping of the fields that were set: ``"keywords" in request``,
    ``request.get("keywords", ())``.

    Attributes:
        query: The question, in words.
        focus_nodes: URIs of the nodes to start from; left out, resolved from names in `query`.
        breadth: Hops outwards along any relation (ruling M3).
        depth: Hops down containment.
        keywords: Words to search; left out, taken from `query`.
        resource_types: Kinds of resource wanted; empty or left out means all (ruling A4).
        detail_level: Rendering depth wanted, 0 to 9; left out, the fullest that fits.
        temporal_window: Such as ``7d``; see `parse_window`.
        strategy_hints: Strategies to prefer; `preferred_strategies` is another name for it.
        budget: Tokens; a whole number reserves nothing.
        plan_id: The plan it is for.
        plan_context: More about that plan.
        parent_context: Context of the parent plan, to inherit from.
        inherit_strategy: ``full``, ``skeleton`` or ``none``; left out, ``skeleton`` when a
            `parent_context` is given.
        skeleton_ratio: Fraction of the parent's context to remove.
        scope: URI prefixes, matched by whole path segments (ruling B5).
        as_of: Read the temporal store as it stood then (ruling T2).
        tokenizer: How to count; anything that `token_counter` reads.
        min_relevance: Fragments below it are left out.
        exclude_tiers: Tiers that are left out.
        metadata_filter: Metadata values a fragment must have; a list means any of them.
        history: Texts of the conversation before the question, oldest first; what the last of them
            says tells what the question is about.
    """

    query: Text | None = None
    focus_nodes: Names | None = None
    breadth: Hops | None = None
    depth: Hops | None = None
    keywords: Names | None = None
    resource_types: UniqueNames | None = None
    detail_level: Depth | None = None
    temporal_window: str | None = None
    strategy_hints: Names | None = None
    budget: ContextBudget | None = None
    plan_id: str | None = None
    plan_context: PlanContext | None = None
    parent_context: ContextPayload | None = None
    inherit_strategy: InheritStrategy | None = None
    skeleton_ratio: Score | None = None
    scope: UniqueNames | None = None
    as_of: UtcDatetime | None = None
    tokenizer: Any = None
    min_relevance: Score | None = None
    exclude_tiers: tuple[Tier, ...] | None = None
    metadata_filter: Metadata | None = None
    history: Annotated[tuple[Text, ...], BeforeValidator(_names)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _accept_synonym(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        if "preferred_strategies" in data:
            data = dict(data)
            preferred = data.pop("preferred_strategies")
            if data.setdefault("strategy_hints", preferred) != preferred:
                raise ValueError("strategy_hints and preferred_strategies are one field")
        for name in data:
            if name not in cls.model_fields:
                raise UnknownNameError("field", str(name), cls.model_fields)
        return data

    @field_validator("budget", mode="before")
    @classmethod
    def _accept_number(cls, value: Any) -> Any:
        return ContextBudget.of(value) if isinstance(value, int) else value

    @field_validator("tokenizer")
    @classmethod
    def _check_tokenizer(cls, value: Any) -> Any:
        known = ("exact", "encode", "encode_ordinary", "model_name", "model")
        counts = callable(value) or any(hasattr(value, name) for name in known)
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        if isinstance(value, str) or not counts:
            raise ValueError(
                f"tokenizer must be the name of an encoding or model, or count, not {value!r}"
            )
        return value

    @field_validator("temporal_window")
    @classmethod
    def _check_window(cls, value: str | None) -> str | None:
        if value is not None:
            parse_window(value)
        return value

    @classmethod
    def of(cls, value: ContextRequest | Mapping[str, Any] | str | None) -> ContextRequest:
        """Read a request: itself, a mapping of its fields, or a question.

        Raises:
            RequestError: Something else was given.
        """
        if isinstance(value, ContextRequest):
            return value
        if value is None:
            return cls()
        if isinstance(value, str):
            return cls(query=value)
        if isinstance(value, Mapping):
            return cls.model_validate(dict(value))
        raise RequestError(
            f"a request is a question, a mapping of fields or a ContextRequest, not {value!r}"
        )

    @property
    def preferred_strategies(self) -> tuple[str, ...] | None:
        """The same as `strategy_hints`."""
        return self.strategy_hints

    def keys(self) -> tuple[str, ...]:
        """Names of the fields that were set."""
        fields = type(self).model_fields
        return tuple(name for name in fields if getattr(self, name) is not None)

    def items(self) -> tuple[tuple[str, Any], ...]:
        """The fields that were set, with their values."""
        return tuple((name, getattr(self, name)) for name in self.keys())

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        """Names of the fields that were set."""
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        """Whether the field was set."""
        return isinstance(name, str) and self.get(name) is not None

    def __getitem__(self, name: str) -> Any:
        """Value of a field that was set."""
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """Value of a field, or `default` when it was not set."""
        if name == "preferred_strategies":
            name = "strategy_hints"
        value = getattr(self, name) if name in type(self).model_fields else None
        return default if value is None else value
