"""Numbers that a caller may only give within bounds."""

from __future__ import annotations

from typing import Any

from acms_adapters.errors import RequestError


def whole(value: Any, name: str, *, least: int = 0) -> int:
    """The value, if it is a whole number of at least so much.

    Raises:
        ValueError: It is not, named as the caller knows it.
    """
    if type(value) is not int or value < least:
        raise RequestError(f"{name} must be a whole number >= {least}, not {value!r}")
    return value
