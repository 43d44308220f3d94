"""One pass over all nodes, holding each against its seal."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from acms_adapters.backends.sqlite.codec import load_json
from acms_adapters.backends.sqlite.fields import FIELDS
from acms_adapters.backends.sqlite.filters import facts_of, one_of
from acms_adapters.backends.sqlite.hits import batches
from acms_adapters.backends.sqlite.node_rows import NODE_COLUMNS
from acms_adapters.backends.sqlite.schema import POINTED_AT, PRESENT
from acms_adapters.backends.sqlite.seals import Link, links_seal, node_seal
from acms_adapters.backends.sqlite.word_counts import WordCounts


class NodeScan:
    """What a pass over the nodes finds.

    Attributes:
        damaged: Nodes that are not what was written, by number, each with its resource's number;
            plans and decisions have none.
        unfiltered: Numbers of nodes whose metadata filters do not find as they are.
        words: What their tokens add up to.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.damaged: dict[int, int | None] = {}
        self.unfiltered: list[int] = []
        self.words = WordCounts()
        self._connection = connection
        numbers = connection.execute(
            f"SELECT id FROM nodes WHERE state <> {POINTED_AT} OR seal IS NOT NULL ORDER BY id"
        ).fetchall()
        for batch in batches(number for (number,) in numbers):
            self._look_at(batch)

    def _look_at(self, nodes: Sequence[int]) -> None:
        renderings: dict[int, dict[int, tuple[str, int | None]]] = defaultdict(dict)
        for node, depth, text, count in self._of(
            "node, depth, content, token_count", "renderings", nodes
        ):
            renderings[node][depth] = (text, count)
        names: dict[int, dict[str, str | None]] = defaultdict(dict)
        for node, name, title in self._of("node, name, title", "names", nodes):
            names[node][name] = title
        facts: dict[int, set[int]] = defaultdict(set)
        for node, fact in self._of("node, fact", "facts", nodes):
            facts[node].add(fact)
        tokens: dict[int, str] = {}
        for node, prose, *lengths, text in self._of(
            f"node, prose, {', '.join(FIELDS)}, text", "tokens", nodes
        ):
            tokens[node] = text
            self.words.add(prose, lengths, text)
        columns = ", ".join(NODE_COLUMNS)
        for node, uri, state, owner, *plain, seal in self._of(
            f"id, uri, {columns}", "nodes", nodes, key="id"
        ):
            try:
                whole = seal is None or seal == node_seal(
                    uri,
                    plain,
                    renderings=renderings[node],
                    names=names[node],
                    tokens=tokens.get(node),
                )
                filtered = facts[node] == facts_of(load_json(plain[-1]))
            except (ValueError, TypeError, AttributeError):  # what is no text, or no JSON any more
                whole, filtered = False, True
            if not whole or (owner is not None and state != PRESENT):
                self.damaged[node] = owner
            elif not filtered:
                self.unfiltered.append(node)

    def _of(
        self, columns: str, table: str, nodes: Sequence[int], *, key: str = "node"
    ) -> Iterator[tuple[Any, ...]]:
        named = one_of(key, nodes)
        rows: Iterator[tuple[Any, ...]] = self._connection.execute(
            f"SELECT {columns} FROM {table} WHERE {named.sql}", named.params
        )
        return rows


def damaged_links(connection: sqlite3.Connection) -> list[int]:
    """Numbers of resources whose given edges or mentions are not what was written."""
    edges = _links(
        connection,
        "SELECT e.owner, s.uri, e.relation, t.uri FROM edges e JOIN nodes s ON s.id = e.source"
        " JOIN nodes t ON t.id = e.target WHERE e.derived = 0 AND e.owner <> 0",
    )
    mentions = _links(
        connection,
        "SELECT m.owner, n.uri, m.name, m.relation FROM mentions m JOIN nodes n ON n.id = m.source",
    )
    sealed = connection.execute("SELECT id, seal FROM resources WHERE seal IS NOT NULL ORDER BY id")
    return [one for one, seal in sealed if seal != links_seal(edges[one], mentions[one])]


def _links(connection: sqlite3.Connection, query: str) -> dict[int, list[Link]]:
    found: dict[int, list[Link]] = defaultdict(list)
    for owner, one, other, third in connection.execute(query):
        found[owner].append((one, other, third))
    return found
