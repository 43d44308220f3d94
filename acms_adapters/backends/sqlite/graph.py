"""Walking from node to node, and finding nodes by the names people use (rulings B1, B5, B6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from acms_adapters.backends.sqlite.database import Database
from acms_adapters.backends.sqlite.filters import (
    Condition,
    condition,
    one_of,
    scope_condition,
    strings,
)
from acms_adapters.backends.sqlite.hits import batches, load_hits
from acms_adapters.backends.sqlite.hubs import find_hubs, hub_edges
from acms_adapters.backends.sqlite.kept import Kept
from acms_adapters.backends.sqlite.resolving import resolve_names
from acms_adapters.backends.sqlite.schema import PAST, PRESENT
from acms_adapters.backends.sqlite.sharing import shared_names
from acms_adapters.errors import RequestError
from acms_adapters.models import Edge, SearchHit
from acms_adapters.models.base import repair_text
from acms_adapters.protocols import Direction

_ENDS = {"out": ("source", "target"), "in": ("target", "source")}

_Key = tuple[int, str, str, str]
"""Place in its group, relation, direction, other end: the order of a node's edges."""


class SQLiteGraphBackend:
    """The graph of a store: what is there now, and the edges between."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def neighbors(
        self,
        nodes: Sequence[str],
        *,
        direction: Direction = "both",
        relations: Sequence[str] | None = None,
        limit: int | None = None,
        scope: Sequence[str] | None = None,
    ) -> list[Edge]:
        """Edges that touch `nodes`, each once, node by node, at most `limit` for each node.

        A node's edges come in turn from each relation and direction, there by the other end's URI,
        so that a limit leaves some of each. Edges whose other end is not there or out of scope do
        not count. Of more than 1,000 other ends of a relation a limit chooses among the 1,000 (or
        `limit`) wanted ones that come first by a hash of their URIs, of the first 10,000.

        Raises:
            RequestError: An unknown direction, or a negative limit.
        """
        if direction not in ("out", "in", "both"):
            raise RequestError(f"direction must be 'out', 'in' or 'both', not {direction!r}")
        if limit is not None and limit < 0:
            raise RequestError(f"limit must be >= 0 or None, not {limit!r}")
        uris = strings("nodes", nodes)
        kinds = tuple(strings("relations", relations))
        with self._database.reading() as connection:
            # what lies in a scope is not kept: there may be any number of scopes
            kept = Kept() if scope else self._database.kept(connection)
            keys = {uri: (uri, direction, kinds, limit) for uri in uris}
            found = {uri: edges for uri in uris if (edges := kept.edges.get(keys[uri])) is not None}
            missing = [uri for uri in uris if uri not in found]
            wanted = scope_condition(scope) & Condition(f"n.state = {PRESENT}")
            read = _read(connection, missing, direction, kinds, wanted, limit)
        kept.charge(0, sum(map(len, read.values())) + 2 * len(read))
        kept.edges.update((keys[uri], edges) for uri, edges in read.items())
        found |= read
        return list(dict.fromkeys(edge for uri in uris for edge in found[uri]))

    def get(
        self,
        nodes: Sequence[str],
        *,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> list[SearchHit]:
        """The nodes that are there and wanted, in the order asked for, each once, score 0."""
        wanted = condition(
            scope=scope, resource_types=resource_types, metadata_filter=metadata_filter
        )
        with self._database.reading() as connection:
            kept = self._database.kept(connection)
            return load_hits(connection, strings("nodes", nodes), kept=kept, wanted=wanted)

    def resolve(
        self, text: str, *, limit: int = 10, scope: Sequence[str] | None = None
    ) -> list[tuple[str, int]]:
        """Nodes whose symbol or title stands in `text`, rarest name first.

        Symbols count where they are written as such: dotted, called, in snake or camel case, with
        digits, in backticks. Titles of several words count in any case; one word only where it is
        capitalised within a sentence.

        Returns:
            Pairs of node URI and how many nodes of the scope share that name.
        """
        wanted = scope_condition(scope) & Condition(f"n.state = {PRESENT}")
        with self._database.reading() as connection:
            return resolve_names(connection, repair_text(text), wanted, limit=limit)

    def sharing(
        self, nodes: Sequence[str], *, limit: int = 20, scope: Sequence[str] | None = None
    ) -> dict[str, dict[str, float]]:
        """Nodes in whose text rare names stand that also stand in that of `nodes`.

        Returns:
            For each of `nodes` that has such, at most `limit` others with the sum, over the names
            they share, of 1 / how many nodes of the scope hold the name.
        """
        wanted = scope_condition(scope) & Condition(f"n.state = {PRESENT}")
        with self._database.reading() as connection:
            kept = Kept() if scope else self._database.kept(connection)
            asked = strings("nodes", nodes)
            return shared_names(connection, asked, wanted, limit=limit, kept=kept)


def _read(
    connection: sqlite3.Connection,
    uris: Sequence[str],
    direction: Direction,
    relations: Sequence[str],
    wanted: Condition,
    limit: int | None,
) -> dict[str, tuple[Edge, ...]]:
    """The edges of each node, in order, at most so many."""
    found: dict[str, list[tuple[_Key, Edge]]] = {uri: [] for uri in uris}
    for side in ("out", "in") if direction == "both" else (direction,):
        for batch in batches(uris):
            for row in _rows(connection, batch, side, relations, wanted, limit):
                found[row[0]].append(_keyed(side, *row))
    return {uri: _cut(edges, limit) for uri, edges in found.items()}


def _rows(
    connection: sqlite3.Connection,
    uris: Sequence[str],
    side: str,
    relations: Sequence[str],
    wanted: Condition,
    limit: int | None,
) -> Iterator[tuple[str, str, str, int]]:
    """Node, relation, other end and its place among those of the relation."""
    hubs = {} if limit is None else find_hubs(connection, uris, _ENDS[side][0])
    for uri, hub in hubs.items():
        edges = hub_edges(
            connection, hub, _ENDS[side], relations=relations, wanted=wanted, limit=limit or 0
        )
        yield from ((uri, *edge) for edge in edges)
    rest = [uri for uri in uris if uri not in hubs]
    if relations:
        wanted &= one_of("e.relation", relations)
    yield from _rows_of_many(connection, rest, _ENDS[side], wanted, limit)


def _rows_of_many(
    connection: sqlite3.Connection,
    uris: Sequence[str],
    ends: tuple[str, str],
    wanted: Condition,
    limit: int | None,
) -> Iterator[tuple[str, str, str, int]]:
    near, far = ends
    asked = one_of("a.uri", uris)
    rows: Iterator[tuple[str, str, str, int]] = connection.execute(
        "SELECT near, relation, far, place FROM ("
        " SELECT near, relation, far,"
        "  row_number() OVER (PARTITION BY near, relation ORDER BY far) AS place FROM ("
        # an edge may have several owners
        "  SELECT DISTINCT a.uri AS near, e.relation AS relation, n.uri AS far"
        f"  FROM nodes a JOIN edges e ON e.{near} = a.id JOIN nodes n ON n.id = e.{far}"
        f"  WHERE {asked.sql} AND a.state >= {PAST} AND {wanted.sql}"
        ")) WHERE ? IS NULL OR place <= ?",
        (*asked.params, *wanted.params, limit, limit),
    )
    return rows


def _keyed(side: str, node: str, relation: str, other: str, place: int) -> tuple[_Key, Edge]:
    source, target = (node, other) if side == "out" else (other, node)
    return (place, relation, side, other), Edge(source=source, target=target, relation=relation)


def _cut(edges: Iterable[tuple[_Key, Edge]], limit: int | None) -> tuple[Edge, ...]:
    # a loop comes on its way out and on its way in
    ordered = dict.fromkeys(edge for _, edge in sorted(edges, key=itemgetter(0)))
    return tuple(ordered)[:limit]
