"""Errors of a validation, told by file, key and value."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from acms_adapters.config.documents import STRATEGIES, KeyPath, Origins
from acms_adapters.config.facades import CONTEXT_KEYS


def describe(error: ValidationError, origins: Origins, *, under: KeyPath | None = None) -> str:
    """One line for each value that is wrong.

    Args:
        under: The table the values stand in; left out, that of each key.
    """
    lines = []
    for problem in error.errors(include_url=False):
        path = _path(problem["loc"], under)
        source = origins.of(path)
        said = problem["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        value = repr(problem["input"])
        # a whole table is not shown: what is wrong in it was said
        given = "" if value in said or not problem["loc"] else f", not {value}"
        lines.append(f"{source}: {_key(path)}: {said[:1].lower()}{said[1:]}{given}")
    return "\n".join(lines)


def _path(location: Sequence[int | str], under: KeyPath | None) -> KeyPath:
    names = tuple(part if isinstance(part, str) else f"[{part}]" for part in location)
    if under is not None:
        return (*under, *names)
    if names[:1] == ("tables",):
        names = names[1:]
    return ("context", *names) if names[0] in CONTEXT_KEYS else (*STRATEGIES, *names)


def _key(path: KeyPath) -> str:
    quoted = (f'"{name}"' if "." in name else name for name in path)
    return ".".join(quoted).replace(".[", "[")
