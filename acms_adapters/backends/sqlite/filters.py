"""Scope, resource types and metadata as SQL conditions, so that they hold before any cut."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from acms_adapters.backends.sqlite.codec import dump_json, load_json
from acms_adapters.models.base import repair_text
from acms_adapters.models.matching import check_metadata, check_strings, matches_metadata

_MOST_FACTS = 200
_UNDER = "{0} = ? OR ({0} >= ? AND {0} < ?) OR ({0} >= ? AND {0} < ?)"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on ``n``, a row of `nodes`, and its parameters."""

    sql: str = "1"
    params: tuple[Any, ...] = ()

    def __and__(self, other: Condition) -> Condition:
        """Both."""
        if self.sql == "1" or other.sql == "1":
            return other if self.sql == "1" else self
        return Condition(f"{self.sql} AND {other.sql}", self.params + other.params)


def condition(
    *,
    scope: Sequence[str] | None = None,
    resource_types: Sequence[str] | None = None,
    metadata_filter: Mapping[str, Any] | None = None,
) -> Condition:
    """What a wanted node fulfils; nothing given or an empty one holds for all (rulings A4, B5).

    Raises:
        RequestError: No list of strings, or no mapping, where one is meant.
    """
    types = strings("resource_types", resource_types)
    return (
        scope_condition(scope)
        & (one_of("n.resource_type", types) if types else Condition())
        & _metadata_condition(check_metadata(metadata_filter))
    )


def scope_condition(
    scope: Sequence[str] | None, columns: Sequence[str] = ("n.uri", "n.resource_uri")
) -> Condition:
    """Whether one of the columns lies under a prefix, by whole segments (ruling B5)."""
    tests: list[str] = []
    params: list[str] = []
    for prefix in strings("scope", scope):
        stem = prefix.rstrip("/")
        for column in columns:
            tests.append(_UNDER.format(column))
            params += [stem, *_beyond(stem, "/"), *_beyond(stem, "#")]
    return Condition(f"({' OR '.join(tests)})", tuple(params)) if tests else Condition()


def one_of(column: str, values: Sequence[Any]) -> Condition:
    """Whether a column has one of some values; none of them holds for no row."""
    return Condition(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))


def strings(name: str, values: Sequence[str] | None) -> list[str]:
    """A list of strings as they are stored.

    Raises:
        RequestError: It is none.
    """
    return list(dict.fromkeys(map(repair_text, check_strings(name, values))))


def _beyond(stem: str, boundary: str) -> tuple[str, str]:
    """What goes on behind a boundary lies from the first of these to before the second."""
    return stem + boundary, stem + chr(ord(boundary) + 1)


def _metadata_condition(wanted: Mapping[str, Any]) -> Condition:
    found = Condition()
    written = dump_json(wanted)
    for key, value in load_json(written).items():
        options = list(_options(value))
        if None in options or len(options) > _MOST_FACTS:
            continue  # a missing key has no fact
        hashes = one_of("f.fact", [fact(key, option) for option in options])
        found &= Condition(
            f"EXISTS (SELECT 1 FROM facts f WHERE f.node = n.id AND {hashes.sql})", hashes.params
        )
    if wanted:
        found &= Condition("acms_matches(n.metadata, ?)", (written,))
    return found


def _options(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, list):
        for one in value:
            yield from _options(one)


def matches(metadata: bytes | None, wanted: bytes) -> bool:
    """The SQL function ``acms_matches``."""
    return matches_metadata(load_json(metadata), _load_wanted(wanted))


@lru_cache(maxsize=64)
def _load_wanted(wanted: bytes) -> dict[str, Any]:
    return load_json(wanted)


def facts_of(metadata: Mapping[str, Any]) -> set[int]:
    """Hashes of everything that a metadata filter may ask of metadata that came from JSON."""
    found: set[int] = set()
    for key, value in metadata.items():
        found.add(fact(key, value))
        if isinstance(value, list):
            found.update(fact(key, one) for one in value)
    return found


def fact(key: str, value: Any) -> int:
    """A hash that is equal for equal values of a key, whole numbers and truth values included."""
    said = json.dumps([key, _canonical(value)], sort_keys=True, ensure_ascii=False)
    digest = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _canonical(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    if isinstance(value, dict):
        return {key: _canonical(one) for key, one in value.items()}
    return value
