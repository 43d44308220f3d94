"""How values are written into columns and read again (ruling B4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_core import to_jsonable_python

from acms_adapters.models.base import as_utc

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EMPTY = b"{}"
_MICROSECOND = timedelta(microseconds=1)


def dump_json(value: Mapping[Any, Any]) -> bytes:
    """Write a mapping so that it comes back equal: NaN, long integers and lone surrogates too.

    Tuples and sets become lists, keys strings, times their ISO form, and what JSON has no word
    for its text.

    Raises:
        ValueError: It contains itself, or an integer of more than 4,300 digits.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=_as_plain)
    except TypeError:  # a key that JSON does not know
        text = json.dumps(_with_plain_keys(value), ensure_ascii=False, default=_as_plain)
    return text.encode("utf-8", "surrogatepass")


def load_json(data: bytes | None) -> dict[str, Any]:
    """Read what `dump_json` wrote; a new object at every call."""
    if not data or data == _EMPTY:
        return {}
    loaded: dict[str, Any] = json.loads(data.decode("utf-8", "surrogatepass"))
    return loaded


def _with_plain_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): _with_plain_keys(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_plain_keys(item) for item in value]
    return value


def _key(key: Any) -> Any:
    return key if key is None or isinstance(key, str | int | float) else str(key)


def _as_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)  # the same list in every process
    if callable(tolist := getattr(value, "tolist", None)):  # numbers and rows of numpy
        return tolist()
    return to_jsonable_python(value, fallback=str, bytes_mode="base64", inf_nan_mode="constants")


def to_micros(moment: datetime | None) -> int | None:
    """Microseconds since 1970 in UTC; a naive time is taken as UTC (ruling M8)."""
    return None if moment is None else (as_utc(moment) - _EPOCH) // _MICROSECOND


def from_micros(micros: int | None) -> datetime | None:
    """The time that `to_micros` wrote."""
    return None if micros is None else _EPOCH + micros * _MICROSECOND
