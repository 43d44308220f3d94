"""Writing resources: each is replaced as a whole, and takes along all that it brought."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from acms_adapters.backends.sqlite.codec import dump_json, to_micros
from acms_adapters.backends.sqlite.entities import write_entities
from acms_adapters.backends.sqlite.fields import FieldTokens
from acms_adapters.backends.sqlite.filters import Condition, one_of
from acms_adapters.backends.sqlite.hits import batches
from acms_adapters.backends.sqlite.naming import names_of, tail_of, tails_of
from acms_adapters.backends.sqlite.node_rows import (
    clear_rows,
    drop_loose,
    give_ids,
    write_edges,
    write_metadata,
    write_renderings,
    write_row,
)
from acms_adapters.backends.sqlite.schema import PRESENT
from acms_adapters.backends.sqlite.seals import links_seal, node_seal
from acms_adapters.backends.sqlite.words import WordChanges
from acms_adapters.errors import RequestError
from acms_adapters.models import TIERS, IndexedNode, IndexedResource, content_hash
from acms_adapters.models.base import repair_text
from acms_adapters.models.fragment import MAX_DEPTH

TokenCounts = Mapping[tuple[str, int], int]
"""Tokens of renderings, by node and depth."""

CONTAINS = "contains"


def replace_resource(
    connection: sqlite3.Connection,
    resource: IndexedResource,
    counts: TokenCounts,
    vector_hashes: Mapping[str, str],
) -> None:
    """Write a resource in place of what it was; the last node of a URI counts.

    Raises:
        RequestError: A node's URI is empty, or a depth, tier or field is out of its range.
    """
    nodes = {repair_text(node.uko_node): node for node in resource.nodes}
    for node in nodes.values():
        _check(node)
    owner = _owner(connection, resource)
    words = WordChanges(connection)
    known = _rows(connection, [one_of("uri", batch) for batch in batches(nodes)])
    old = _rows(connection, [one_of("owner", [owner])])
    loose = _forget(connection, owner, known | old, words)
    ids = give_ids(connection, nodes)
    for uri, node in nodes.items():
        tokens = FieldTokens.of(node.fields)
        row = _row(node, owner, vector_hashes.get(node.uko_node))
        _write_node(connection, ids[uri], row, node, counts=counts, tokens=tokens)
        words.put_in(ids[uri], tokens)
    words.write()
    _write_links(connection, owner, resource)
    drop_loose(connection, loose)
    before = {uri: names for uri, (_, names) in (known | old).items()}
    after = {uri: set(names_of(node)) for uri, node in nodes.items()}
    _touch(connection, owner, before, after)


def remove_resource(connection: sqlite3.Connection, resource_uri: str) -> bool:
    """Remove a resource with all it brought; False when there is none."""
    row = connection.execute(
        "SELECT id FROM resources WHERE uri = ?", (repair_text(resource_uri),)
    ).fetchone()
    if row is None:
        return False
    (owner,) = row
    words = WordChanges(connection)
    old = _rows(connection, [one_of("owner", [owner])])
    loose = _forget(connection, owner, old, words)
    words.write()
    connection.execute("DELETE FROM resources WHERE id = ?", (owner,))
    connection.execute("DELETE FROM dirty WHERE owner = ?", (owner,))
    drop_loose(connection, loose)
    _touch(connection, None, {uri: names for uri, (_, names) in old.items()}, {})
    return True


def _check(node: IndexedNode) -> None:
    if not node.uko_node or not node.resource_uri:
        raise RequestError(f"a node and its resource need a non-empty URI: {node.uko_node!r}")
    if node.tier not in TIERS:
        raise RequestError(f"the tier of {node.uko_node!r} must be one of {TIERS}: {node.tier!r}")
    for depth in (*node.renderings, node.searched_depth):
        if not 0 <= depth <= MAX_DEPTH:
            raise RequestError(f"a depth of {node.uko_node!r} is not 0 to {MAX_DEPTH}: {depth!r}")


def _owner(connection: sqlite3.Connection, resource: IndexedResource) -> int:
    uri = repair_text(resource.resource_uri)
    connection.execute(
        "INSERT INTO resources (uri, content_hash) VALUES (?, ?)"
        " ON CONFLICT (uri) DO UPDATE SET content_hash = excluded.content_hash",
        (uri, repair_text(resource.content_hash)),
    )
    row = connection.execute("SELECT id FROM resources WHERE uri = ?", (uri,)).fetchone()
    return int(row[0])


def _rows(
    connection: sqlite3.Connection, conditions: Iterable[Condition]
) -> dict[str, tuple[int, set[str]]]:
    """Nodes that are there: URI to number and names."""
    found: dict[str, tuple[int, set[str]]] = {}
    for chosen in conditions:
        rows = connection.execute(
            "SELECT n.uri, n.id, m.name FROM nodes n LEFT JOIN names m ON m.node = n.id"
            f" WHERE {chosen.sql} AND n.state = {PRESENT}",
            chosen.params,
        )
        for uri, node, name in rows:
            found.setdefault(uri, (node, set()))[1].update([name] if name is not None else [])
    return found


def _forget(
    connection: sqlite3.Connection,
    owner: int,
    nodes: Mapping[str, tuple[int, set[str]]],
    words: WordChanges,
) -> list[int]:
    """Take nodes and a resource's links away; what may now be named by nothing."""
    ids = [node for node, _ in nodes.values()]
    words.take_out(ids)
    clear_rows(connection, ids)
    ends = connection.execute("SELECT source, target FROM edges WHERE owner = ?", (owner,))
    loose = {*ids, *(end for edge in ends for end in edge)}
    connection.execute("DELETE FROM edges WHERE owner = ?", (owner,))
    connection.execute("DELETE FROM mentions WHERE owner = ?", (owner,))
    return sorted(loose)


def _row(node: IndexedNode, owner: int, vector_hash: str | None) -> tuple[Any, ...]:
    at = searched_depth(node.renderings, node.searched_depth)
    is_searched = at in node.renderings and bool(node.fields)
    text_hash = vector_hash or content_hash(repair_text(node.renderings.get(at, "")))
    return (
        PRESENT,
        owner,
        repair_text(node.kind),
        repair_text(node.resource_uri),
        repair_text(node.resource_type),
        repair_text(node.location),
        node.tier,
        to_micros(node.created_at),
        at,
        text_hash if is_searched else None,
        dump_json(node.metadata),
    )


def _write_node(
    connection: sqlite3.Connection,
    number: int,
    row: tuple[Any, ...],
    node: IndexedNode,
    *,
    counts: TokenCounts,
    tokens: FieldTokens,
) -> None:
    texts = {
        depth: (repair_text(text), counts.get((node.uko_node, depth)))
        for depth, text in node.renderings.items()
    }
    uri, names = repair_text(node.uko_node), names_of(node)
    seal = node_seal(uri, row[2:], renderings=texts, names=names, tokens=tokens.kept)
    write_row(connection, number, (*row, seal))
    write_renderings(connection, number, texts)
    write_metadata(connection, number, row[-1])
    connection.executemany(
        "INSERT INTO names (name, node, title) VALUES (?, ?, ?)",
        [(name, number, title) for name, title in names.items()],
    )
    if tokens.is_prose:
        write_entities(connection, number, texts.get(row[8], ("",))[0])


def searched_depth(depths: Iterable[int], wanted: int) -> int:
    """The deepest depth at or below the wanted one, else the shallowest, else the wanted one."""
    there = sorted(depths)
    below = [depth for depth in there if depth <= wanted]
    return (below[-1:] or there[:1] or [wanted])[0]


def _write_links(connection: sqlite3.Connection, owner: int, resource: IndexedResource) -> None:
    links = [(edge.source, edge.relation, edge.target) for edge in resource.edges]
    links += [(n.parent, CONTAINS, n.uko_node) for n in resource.nodes if n.parent]
    plain = [(repair_text(s), repair_text(r), repair_text(t)) for s, r, t in links]
    mentions = [
        (repair_text(m.source), repair_text(m.name), repair_text(m.relation))
        for m in resource.references
    ]
    ends = [end for source, _, target in plain for end in (source, target)]
    ids = give_ids(connection, [*ends, *(source for source, _, _ in mentions)])
    edges = [(ids[source], relation, ids[target], owner) for source, relation, target in plain]
    write_edges(connection, edges, derived=False)
    connection.executemany(
        "INSERT INTO mentions (owner, source, name, relation, tail) VALUES (?, ?, ?, ?, ?)",
        [(owner, ids[s], name, relation, tail_of(name)) for s, name, relation in mentions],
    )
    seal = links_seal(plain, mentions)
    connection.execute("UPDATE resources SET seal = ? WHERE id = ?", (seal, owner))


def _touch(
    connection: sqlite3.Connection,
    owner: int | None,
    before: Mapping[str, set[str]],
    after: Mapping[str, set[str]],
) -> None:
    """Note whose mentions have to be looked up again."""
    tails: set[str] = set()
    for uri in before.keys() | after.keys():
        gone_or_new = before.get(uri, set()) ^ after.get(uri, set())
        if gone_or_new or (uri in before) != (uri in after):
            tails |= tails_of(uri, gone_or_new)
    connection.executemany("INSERT OR IGNORE INTO touched VALUES (?)", [(t,) for t in tails])
    if owner is not None:
        connection.execute("INSERT OR IGNORE INTO dirty VALUES (?)", (owner,))
