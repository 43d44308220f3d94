"""Rows of `nodes` as answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from acms_adapters.backends.sqlite.codec import from_micros, load_json
from acms_adapters.backends.sqlite.filters import Condition, one_of
from acms_adapters.backends.sqlite.schema import PRESENT
from acms_adapters.models import FragmentProvenance, SearchHit
from acms_adapters.models.base import repair_text

Item = TypeVar("Item")

BATCH = 500
"""Values bound in one statement; SQLite of old takes 999."""

_COLUMNS = """
    n.uri, n.resource_uri, n.location, n.resource_type, n.tier, n.created_at, n.metadata,
    n.searched_depth, r.content, r.token_count
"""


def batches(items: Iterable[Item], size: int = BATCH) -> Iterator[list[Item]]:
    """Cut into lists of at most `size`."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def load_hits(
    connection: sqlite3.Connection,
    nodes: Sequence[str],
    *,
    wanted: Condition | None = None,
    scores: Mapping[str, float] | None = None,
) -> list[SearchHit]:
    """The nodes that are there and wanted, in the order of their URIs given, each once.

    Every hit has objects of its own, so that nobody changes what another one got.
    """
    found: dict[str, SearchHit] = {}
    uris = list(dict.fromkeys(map(repair_text, nodes)))
    for batch in batches(uris):
        named = one_of("n.uri", batch) & Condition(f"n.state = {PRESENT}")
        chosen = named & (wanted or Condition())
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM nodes n LEFT JOIN renderings r"
            f" ON r.node = n.id AND r.depth = n.searched_depth WHERE {chosen.sql}",
            chosen.params,
        )
        found |= {row[0]: _hit(row, (scores or {}).get(row[0], 0.0)) for row in rows}
    return [found[uri] for uri in uris if uri in found]


def _hit(row: Sequence[Any], score: float) -> SearchHit:
    uri, resource_uri, location, resource_type, tier, created, metadata, depth, text, count = row
    return SearchHit(
        uko_node=uri,
        content=text,
        score=score,
        detail_depth=depth,
        token_count=count,
        metadata=load_json(metadata),
        provenance=FragmentProvenance(
            resource_uri=resource_uri, location=location, resource_type=resource_type
        ),
        tier=tier,
        created_at=from_micros(created),
    )
