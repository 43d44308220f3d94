"""Metadata with more entries than a fragment may have (ruling M6)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from acms_adapters.models.fragment import MAX_METADATA_ENTRIES

SURPLUS_KEY = "acms_surplus"
"""Under this key stand the entries beyond the 63rd."""


def nest_surplus(metadata: Mapping[Any, Any]) -> dict[Any, Any]:
    """Metadata of at most 64 entries; `restore_surplus` gives back what went in."""
    if len(metadata) <= MAX_METADATA_ENTRIES and SURPLUS_KEY not in metadata:
        return dict(metadata)
    items = iter(metadata.items())
    kept = {} if SURPLUS_KEY in metadata else dict(islice(items, MAX_METADATA_ENTRIES - 1))
    return {**kept, SURPLUS_KEY: dict(items)}


def restore_surplus(metadata: Mapping[Any, Any]) -> dict[Any, Any]:
    """Metadata as it was before `nest_surplus`; any other stays as it is."""
    if SURPLUS_KEY not in metadata:
        return dict(metadata)
    kept = {key: value for key, value in metadata.items() if key != SURPLUS_KEY}
    return {**kept, **metadata[SURPLUS_KEY]}
