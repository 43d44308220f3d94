"""Rows of `nodes` as answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from acms_adapters.backends.sqlite.codec import from_micros, load_json
from acms_adapters.backends.sqlite.filters import Condition, one_of
from acms_adapters.backends.sqlite.kept import Found, Kept
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
    kept: Kept,
    wanted: Condition | None = None,
    scores: Mapping[str, float] | None = None,
) -> list[SearchHit]:
    """The nodes that are there and wanted, in the order of their URIs given, each once.

    Every hit has objects of its own, so that nobody changes what another one got.
    """
    uris = list(dict.fromkeys(map(repair_text, nodes)))
    if wanted is not None and wanted.sql != "1":
        fulfil = _fulfilling(connection, uris, wanted)
        uris = [uri for uri in uris if uri in fulfil]
    found = {uri: hit for uri in uris if (hit := kept.hits.get(uri))}
    found |= _read(connection, [uri for uri in uris if uri not in found], kept)
    known = scores or {}
    return [_hit(found[uri], known.get(uri, 0.0)) for uri in uris if uri in found]


def _fulfilling(connection: sqlite3.Connection, uris: Sequence[str], wanted: Condition) -> set[str]:
    found: set[str] = set()
    for batch in batches(uris):
        chosen = one_of("n.uri", batch) & wanted
        rows = connection.execute(f"SELECT n.uri FROM nodes n WHERE {chosen.sql}", chosen.params)
        found.update(uri for (uri,) in rows)
    return found


def _read(connection: sqlite3.Connection, uris: Sequence[str], kept: Kept) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for batch in batches(uris):
        chosen = one_of("n.uri", batch) & Condition(f"n.state = {PRESENT}")
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM nodes n LEFT JOIN renderings r"
            f" ON r.node = n.id AND r.depth = n.searched_depth WHERE {chosen.sql}",
            chosen.params,
        )
        found |= {row[0]: _found(row) for row in rows.fetchall()}
    if found:
        sizes = (len(hit.content or "") + len(data or b"") for hit, data in found.values())
        kept.charge(sum(sizes), 3 * len(found))
        kept.hits.update(found)
    return found


def _found(row: Sequence[Any]) -> Found:
    uri, resource_uri, location, resource_type, tier, created, metadata, depth, text, count = row
    hit = SearchHit(
        uko_node=uri,
        content=text,
        detail_depth=depth,
        token_count=count,
        provenance=FragmentProvenance(
            resource_uri=resource_uri, location=location, resource_type=resource_type
        ),
        tier=tier,
        created_at=from_micros(created),
    )
    return hit, metadata


def _hit(found: Found, score: float) -> SearchHit:
    hit, metadata = found
    return SearchHit(
        uko_node=hit.uko_node,
        content=hit.content,
        score=score,
        detail_depth=hit.detail_depth,
        token_count=hit.token_count,
        metadata=load_json(metadata),
        provenance=hit.provenance,
        tier=hit.tier,
        created_at=hit.created_at,
    )
