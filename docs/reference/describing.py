"""Reads what pages tell of classes: options, defaults, values, meanings."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

REQUIRED = "required"
DERIVED = "derived"


class Option(NamedTuple):
    """One argument or field."""

    name: str
    default: str
    values: str
    meaning: str


def options(kind: type) -> list[Option]:
    """The fields of a model or data class, or the arguments of any other class."""
    meanings: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        meanings |= entries(base.__doc__ or "", "Attributes") | entries(base.__doc__ or "", "Args")
    rows: list[tuple[str, str, str]] = []
    if issubclass(kind, BaseModel):
        rows = [
            (name, _default(f), values_of(f.annotation, f.metadata))
            for name, f in kind.model_fields.items()
        ]
    elif is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        rows = [
            (f.name, _dataclass_default(f), values_of(hints[f.name]))
            for f in fields(kind)
            if f.init and f.repr
        ]
    elif kind.__init__ is not object.__init__:
        rows = [
            (name, REQUIRED if p.default is p.empty else show(p.default), values_of(p.annotation))
            for name, p in arguments(kind.__init__)
        ]
    return [Option(*row, meanings.get(row[0], "")) for row in rows]


def arguments(function: Callable[..., Any]) -> list[tuple[str, inspect.Parameter]]:
    """Parameters of a method, without the object it belongs to."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError:  # a name that only type checkers import
        signature = inspect.signature(function)
    return [(n, p) for n, p in signature.parameters.items() if n not in ("self", "cls")]


def call(name: str, function: Callable[..., Any]) -> str:
    """How a method is called, such as ``order(fragments, strategy=None)``."""
    parts: list[str] = []
    for argument, p in arguments(function):
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        shown = "" if p.default is p.empty else f"={_plain(p.default)}"
        parts.append(f"{stars}{argument}{shown}")
    return f"{name}({', '.join(parts)})"


def methods(kind: type) -> Iterable[tuple[str, str]]:
    """Each public method and property: how it is called, and what it does in a sentence."""
    for name, member in vars(kind).items():
        function = getattr(member, "__func__", member)
        if name.startswith("_"):
            continue
        if isinstance(member, property | cached_property):
            yield name, first_sentence(member.__doc__ or "")
        elif inspect.isfunction(function):
            yield call(name, function), first_sentence(function.__doc__ or "")


def first_sentence(doc: str) -> str:
    """The summary of a docstring, in one line."""
    return tidy(inspect.cleandoc(doc).partition("\n\n")[0])


def introduction(kind: type) -> str:
    """What a docstring says before its lists, as paragraphs."""
    text = inspect.cleandoc(kind.__doc__ or "")
    told = re.split(r"^(?:Attributes|Args|Raises|Returns):$", text, maxsplit=1, flags=re.M)[0]
    return "\n\n".join(tidy(paragraph) for paragraph in told.strip().split("\n\n"))


def entries(doc: str, section: str) -> dict[str, str]:
    """What a section of a docstring says of each name."""
    _, _, text = inspect.cleandoc(doc).partition(f"{section}:\n")
    text = re.split(r"^\S", text, maxsplit=1, flags=re.M)[0]
    found = re.findall(r"^ {4}\*{0,2}(\w+): (.*(?:\n {8}.*)*)", text, re.M)
    return {name: tidy(said) for name, said in found}


def tidy(text: str) -> str:
    """One line of Markdown."""
    return re.sub(r"\s+", " ", text).strip().replace("``", "`").replace("|", r"\|")


def values_of(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    """The values that a type admits, in words."""
    bounds = _bounds(metadata)
    if isinstance(annotation, str):
        return f"`{annotation}`".replace(" | None", "").replace("|", r"\|")
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return values_of(inner[0], [*metadata, *inner[1:]])
    if origin in (Union, UnionType):
        chosen = [values_of(one, metadata) for one in inner if one is not NoneType]
        return " or ".join(dict.fromkeys(chosen))
    if origin is Literal:
        return ", ".join(f"`{one}`" for one in inner)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"table of {values_of(inner[1])}"
    if isinstance(origin, type) and issubclass(origin, Callable):  # type: ignore[arg-type]
        return "function"
    if origin is tuple and Ellipsis not in inner:
        return f"({', '.join(map(values_of, inner))})"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"list of {values_of(inner[0])}"
    if annotation is bool:
        return "true, false"
    words = {int: "whole number", float: "number", str: "text", datetime: "time", Any: "anything"}
    name = words.get(annotation) or f"`{getattr(annotation, '__name__', annotation)}`"
    return f"{name}{bounds}"


def _bounds(metadata: Iterable[Any]) -> str:
    flat: list[Any] = []
    for one in metadata:
        flat.extend(one.metadata if isinstance(one, FieldInfo) else [one])
    least = next((one for one in flat if isinstance(one, Ge | Gt)), None)
    most = next((one for one in flat if isinstance(one, Le | Lt)), None)
    if isinstance(least, Ge) and isinstance(most, Le):
        return f" {least.ge:g} to {most.le:,.15g}"
    parts = []
    if least is not None:
        parts.append(f"≥ {least.ge:g}" if isinstance(least, Ge) else f"> {least.gt:g}")
    if most is not None:
        parts.append(f"≤ {most.le:,.15g}" if isinstance(most, Le) else f"< {most.lt:,.15g}")
    return f" {', '.join(parts)}" if parts else ""


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return show(field.default_factory()) if field.default_factory in (dict, list) else DERIVED
    if field.default is PydanticUndefined:
        return REQUIRED
    return DERIVED if field.default == -1 else show(field.default)


def _dataclass_default(field: Any) -> str:
    if field.default_factory is not MISSING:
        return DERIVED
    return REQUIRED if field.default is MISSING else show(field.default)


def show(value: Any) -> str:
    """A default in Markdown."""
    return "–" if value is None else f"`{_plain(value)}`"


def _plain(value: Any) -> str:
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if isinstance(value, BaseModel):
        return f"{type(value).__name__}()"
    if isinstance(value, float) and value.is_integer():
        return f"{value:g}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_plain, value))})"
    if isinstance(value, dict | list):
        return json.dumps(value)
    return json.dumps(value) if isinstance(value, str) else str(value)
