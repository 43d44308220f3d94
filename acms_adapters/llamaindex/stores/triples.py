"""Reading edges from property graph stores, which differ in what they answer.

docs/reference/llamaindex_graph_stores.md tells the differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

from llama_index.core.graph_stores.types import PropertyGraphStore

from acms_adapters.llamaindex.stores.traits import GraphStoreTraits
from acms_adapters.models import Edge

REVERSED = "~"
"""How the label of an edge begins that was written only to be found from its target."""

_ROWS = 100  # an answer of 128 rows or more is dropped whole by stores that clean theirs
_EITHER_END = (
    "MATCH (a)-[r]->(b) WHERE a.id IN $ids OR b.id IN $ids "
    "RETURN a.id AS source, r.label AS relation, label(r) AS kind, b.id AS target "
    "ORDER BY source, target, relation, kind SKIP {skip} LIMIT {limit}"
)
_RELATIONSHIPS = {
    "CONTAINS": ("contains", False),
    "MENTIONS": ("mentions", False),
    "CHILD": ("contains", False),
    "PARENT": ("contains", True),
    "SOURCE": ("contains", True),
    "NEXT": ("next", False),
    "PREVIOUS": ("next", True),
}
"""Labels that the framework makes of nodes' relationships, and ours as some stores write them: the
relation, and whether it is turned round."""


class Reader(Protocol):
    """Reads edges."""

    def read(self, ids: Sequence[str]) -> list[Edge]:
        """Edges that leave or reach any of the ids, and perhaps others."""
        ...


def reader_of(store: PropertyGraphStore, traits: GraphStoreTraits) -> Reader:
    """What reads edges of a store."""
    if traits.reads == "cypher":
        return CypherReader(store, traits.batch)
    return TripletReader(store, traits)


class TripletReader:
    """Reads edges by `get_triplets`."""

    def __init__(self, store: PropertyGraphStore, traits: GraphStoreTraits) -> None:
        self._store = store
        self._traits = traits

    def read(self, ids: Sequence[str]) -> list[Edge]:
        """Edges that leave or reach any of the ids, and perhaps others.

        Of a store that finds edges from their source alone, those that reach a node are the ones
        that were written in reverse as well.
        """
        found: list[Edge] = []
        for batch in _batches(sorted(map(encoded, ids)), self._traits.batch):
            for source, relation, target in self._store.get_triplets(ids=batch):
                edge, was_reversed = edge_of(source.id, relation.label, target.id)
                if not was_reversed or self._traits.reads == "out":
                    found.append(edge)
        return found


class CypherReader:
    """Reads edges of Kuzu and its kin, page by page.

    Their `get_triplets` finds no edge from its target, gives 100 at most, and none of chunks.
    """

    def __init__(self, store: PropertyGraphStore, batch: int) -> None:
        self._store = store
        self._batch = batch

    def read(self, ids: Sequence[str]) -> list[Edge]:
        """Edges that leave or reach any of the ids, and perhaps others."""
        found: list[Edge] = []
        for batch in _batches(sorted(map(encoded, ids)), self._batch):
            for row in self._rows(batch):
                relation = row.get("relation") or str(row.get("kind") or "").lower()
                found.append(edge_of(row["source"], relation, row["target"])[0])
        return found

    def _rows(self, ids: list[str]) -> Iterator[dict[str, Any]]:
        skip = 0
        while True:
            asked = _EITHER_END.format(skip=skip, limit=_ROWS)
            rows = self._store.structured_query(asked, param_map={"ids": ids}) or []
            yield from rows
            if len(rows) < _ROWS:
                return
            skip += _ROWS


def edge_of(source: str, label: str, target: str) -> tuple[Edge, bool]:
    """An edge as the pipeline knows it, and whether it was written in reverse."""
    was_reversed = label.startswith(REVERSED)
    relation, turned = _RELATIONSHIPS.get(label, (label.removeprefix(REVERSED), was_reversed))
    if turned:
        source, target = target, source
    return Edge(source=decoded(source), target=decoded(target), relation=relation), was_reversed


def encoded(node: str) -> str:
    """An id as stores keep it, without the double quotes that the framework turns into blanks."""
    return node.replace("%22", "%2522").replace('"', "%22")


def decoded(name: str) -> str:
    """The id that was encoded so."""
    return "%22".join(part.replace("%22", '"') for part in name.split("%2522"))


def _batches(ids: Sequence[str], size: int) -> Iterator[list[str]]:
    waiting = iter(ids)
    while batch := list(islice(waiting, size)):
        yield batch
