"""Which resources and which metadata a request wants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from acms_adapters.errors import RequestError

_BOUNDARIES = "/#"


def in_scope(resource_uri: str, scope: Sequence[str] | None) -> bool:
    """Whether a resource lies under one of the prefixes, by whole path segments (ruling B5).

    ``project://app/src`` holds ``project://app/src/main.py`` and not ``project://app/srcs``. No
    scope, or an empty one, holds everything.
    """
    return not scope or any(_lies_under(resource_uri, prefix) for prefix in scope)


def _lies_under(uri: str, prefix: str) -> bool:
    stem = prefix.rstrip("/")
    if not uri.startswith(stem):
        return False
    return len(uri) == len(stem) or uri[len(stem)] in _BOUNDARIES


def scope_prefixes(resource_uri: str) -> tuple[str, ...]:
    """Every prefix, shortest first, whose scope holds the resource; itself is the last one."""
    cuts = (i for i, letter in enumerate(resource_uri) if letter in _BOUNDARIES)
    stems = dict.fromkeys(resource_uri[:cut].rstrip("/") for cut in cuts)
    stems[resource_uri.rstrip("/")] = None
    return tuple(stem for stem in stems if stem and not stem.endswith(":"))


def matches_metadata(metadata: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether metadata has every wanted value.

    A wanted list means any of its values; a list in the metadata has each value that stands in it;
    None is met by a missing key. Values are compared as JSON: ``1`` is no ``True``.
    """
    return all(_has(metadata.get(key), value) for key, value in (wanted or {}).items())


def _has(value: Any, wanted: Any) -> bool:
    if _same(value, wanted):
        return True
    if isinstance(wanted, list | tuple | set | frozenset):
        return any(_has(value, one) for one in wanted)
    return isinstance(value, list | tuple) and any(_same(one, wanted) for one in value)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, float) and isinstance(right, float) and left != left:
        return right != right
    return bool(left == right)


def check_strings(name: str, values: Iterable[str] | None) -> tuple[str, ...]:
    """What a filter lists; nothing for None.

    Raises:
        RequestError: It is no list of strings, such as one string, whose letters would be taken.
    """
    if isinstance(values, str):
        raise RequestError(f"{name} must be a list of strings, not the string {values!r}")
    try:
        found = () if values is None else tuple(values)
    except TypeError:
        raise RequestError(f"{name} must be a list of strings, not {values!r}") from None
    for one in found:
        if not isinstance(one, str):
            raise RequestError(f"{name} must be a list of strings, {one!r} is none")
    return found


def check_metadata(wanted: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What a metadata filter asks for; nothing for None.

    Raises:
        RequestError: It is no mapping.
    """
    if wanted is None or isinstance(wanted, Mapping):
        return wanted or {}
    raise RequestError(f"metadata_filter must map keys to wanted values, not {wanted!r}")
