"""What every model shares: frozen, strict about unknown fields, clean text, UTC times."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Set
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer
from pydantic_core import to_jsonable_python

Model = TypeVar("Model")

Tier = Literal["hot", "warm", "cold"]

TIERS: tuple[Tier, ...] = ("hot", "warm", "cold")


class FrozenModel(BaseModel):
    """Immutable model that refuses fields it does not know."""

    # a NaN in metadata has to come back as one (ruling B4)
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


def repair_text(text: str) -> str:
    """Replace lone surrogates by U+FFFD, so that the text can be encoded as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _repair(value: Any) -> Any:
    return repair_text(value) if isinstance(value, str) else value


def as_utc(moment: datetime) -> datetime:
    """Give the same moment in UTC; a naive one is taken as UTC (ruling M8)."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{moment!r} lies outside the years 1 to 9999 in UTC") from None


def now_utc() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


def unchecked(kind: type[Model], values: dict[str, Any], given: Set[str]) -> Model:
    """An instance of a pydantic model of values that need no check.

    Args:
        kind: The model.
        values: All fields, in their order.
        given: Names of those that were not left to their defaults; a set is kept, not copied.
    """
    # what `model_construct` and `model_copy` do, in a third of their time: there can be 100,000
    made: Any = object.__new__(kind)
    object.__setattr__(made, "__dict__", values)
    object.__setattr__(made, "__pydantic_fields_set__", given if type(given) is set else set(given))
    object.__setattr__(made, "__pydantic_extra__", None)
    object.__setattr__(made, "__pydantic_private__", None)
    return cast("Model", made)


def changed(model: Model, **values: Any) -> Model:
    """A copy of a pydantic model with some fields replaced by values that need no check."""
    given: Set[str] = model.__pydantic_fields_set__ | values.keys()  # type: ignore[attr-defined]
    return unchecked(type(model), {**model.__dict__, **values}, given)


def build_from_dump(data: Any, build: Callable[[Any], Model], *, derived: Collection[str]) -> Model:
    """Build a model from data that may hold its computed fields, as a dump does.

    Raises:
        ValueError: A computed field has another value than was given.
    """
    if not isinstance(data, dict):
        return build(data)
    model = build({name: value for name, value in data.items() if name not in derived})
    for name in derived:
        if name in data and data[name] != (value := getattr(model, name)):
            raise ValueError(f"{name} is {value!r} by the other fields, not {data[name]!r}")
    return model


def own_copy(value: Any) -> Any:
    """Copy JSON-like data with its text repaired; what cannot be copied is shared."""
    kind = type(value)
    if kind is str:
        return repair_text(value)
    if kind is dict:
        return {own_copy(key): own_copy(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return kind(map(own_copy, value))
    if value is None or kind is int or kind is float or kind is bool:
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # a lock, a client: nobody's data
        return value


def _as_json(value: dict[str, Any]) -> Any:
    return to_jsonable_python(value, fallback=str, bytes_mode="base64", inf_nan_mode="constants")


Text = Annotated[str, BeforeValidator(_repair)]
UtcDatetime = Annotated[datetime, AfterValidator(as_utc)]
Metadata = Annotated[
    dict[str, Any], AfterValidator(own_copy), PlainSerializer(_as_json, when_used="json")
]
"""Anything, copied on the way in; what JSON does not know is written as its text."""
