"""Turning mentions of other nodes into edges, once the whole index is known (ruling I2).

A mention is looked up, within its project, as: a URI; a path from the mentioning resource; an
exact name; a dotted path with a package in between left out, as re-exports do; a title. It counts
only where that leads to one node.
"""

from __future__ import annotations

import posixpath
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator

from acms_adapters.backends.sqlite.naming import stored_name, title_key
from acms_adapters.backends.sqlite.node_rows import write_edges
from acms_adapters.backends.sqlite.schema import PRESENT

_MOST_NAMESAKES = 50

_Found = tuple[int, str, int, int]
"""Source, relation, target and owner of an edge."""

_Namesake = tuple[int, str, str]
"""Number, URI and resource of a node."""


def waiting_mentions(connection: sqlite3.Connection) -> bool:
    """Whether anything changed since mentions were last looked up."""
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM dirty) OR EXISTS (SELECT 1 FROM touched)"
    ).fetchone()
    return bool(row[0])


def resolve_mentions(connection: sqlite3.Connection) -> int:
    """Look stale mentions up again; how many of them led to a node."""
    owners = connection.execute(
        "SELECT owner FROM dirty UNION"
        " SELECT m.owner FROM mentions m JOIN touched t ON t.tail = m.tail"
    ).fetchall()
    lookup = _Lookup(connection)
    found = sum(_resolve_of(connection, owner, lookup) for (owner,) in owners)
    if owners:
        connection.execute("DELETE FROM dirty")
    if connection.execute("SELECT 1 FROM touched LIMIT 1").fetchone():
        connection.execute("DELETE FROM touched")
    return found


def misled(connection: sqlite3.Connection) -> list[str]:
    """Resources whose derived edges are not those that their mentions lead to."""
    stored: dict[int, set[_Found]] = defaultdict(set)
    rows = connection.execute("SELECT source, relation, target, owner FROM edges WHERE derived = 1")
    for row in rows:
        stored[row[3]].add(row)
    mentioning = connection.execute("SELECT DISTINCT owner FROM mentions").fetchall()
    lookup = _Lookup(connection)
    wrong = [
        owner
        for owner in sorted(stored.keys() | {owner for (owner,) in mentioning})
        if stored[owner] != set(_edges_of(connection, owner, lookup))
    ]
    names = dict(connection.execute("SELECT id, uri FROM resources"))
    return [str(names.get(owner, owner)) for owner in wrong]


def _resolve_of(connection: sqlite3.Connection, owner: int, lookup: _Lookup) -> int:
    edges = _edges_of(connection, owner, lookup)
    connection.execute("DELETE FROM edges WHERE owner = ? AND derived = 1", (owner,))
    write_edges(connection, edges, derived=True)
    return len(edges)


def _edges_of(connection: sqlite3.Connection, owner: int, lookup: _Lookup) -> list[_Found]:
    mentions = connection.execute(
        "SELECT m.source, n.uri, n.resource_uri, m.name, m.relation FROM mentions m"
        f" JOIN nodes n ON n.id = m.source WHERE m.owner = ? AND n.state = {PRESENT}",
        (owner,),
    ).fetchall()
    edges: dict[_Found, None] = {}
    for source, uri, resource, name, relation in mentions:
        target = lookup.target(name, uri=uri, resource=resource)
        if target is not None and target != source:
            edges[source, relation, target, owner] = None
    return list(edges)


def _root(uri: str) -> str:
    """The project a URI lies in: scheme and first part."""
    scheme, mark, rest = uri.partition("://")
    return f"{scheme}{mark}{rest.partition('/')[0].partition('#')[0]}" if mark else ""


class _Lookup:
    """Finds the one node that a mention means; remembers what it looked up."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._named: dict[tuple[str, str, str], list[_Namesake]] = {}

    def target(self, mention: str, *, uri: str, resource: str) -> int | None:
        """Number of the node, or None when there is none or more than one."""
        root = _root(uri)
        ways: tuple[Callable[[], int | None], ...] = (
            lambda: self._at(mention),
            lambda: self._along(mention, uri.partition("#")[0], root),
            lambda: _the_one(self._called("name", stored_name(mention), root), mention, resource),
            lambda: self._through(stored_name(mention), root),
            lambda: self._titled(mention, root, resource),
        )
        return next((found for way in ways if (found := way()) is not None), None)

    def _at(self, uri: str) -> int | None:
        row = self._connection.execute(
            f"SELECT id FROM nodes WHERE uri = ? AND state = {PRESENT}", (uri,)
        ).fetchone()
        return row[0] if row else None

    def _along(self, path: str, base: str, root: str) -> int | None:
        """A path from a resource, or from the project where it begins with a slash."""
        if "://" in path:
            return None
        plain, hash_, anchor = path.partition("#")
        if not plain:
            return self._at(f"{base}#{anchor}")
        folder = "/" if plain.startswith("/") else posixpath.dirname(base[len(root) :]) or "/"
        there = posixpath.normpath(posixpath.join("/", folder.lstrip("/"), plain.lstrip("/")))
        if _leaves(folder, plain):
            return None
        target = f"{root}{there}".rstrip("/") if root else there.lstrip("/")
        exact = self._at(f"{target}{hash_}{anchor}")
        return exact if exact is not None or not hash_ else self._at(target)

    def _called(self, column: str, name: str, root: str) -> list[_Namesake]:
        key = (column, name, root)
        if key not in self._named:
            rows = self._connection.execute(
                "SELECT DISTINCT n.id, n.uri, n.resource_uri FROM names m"
                f" JOIN nodes n ON n.id = m.node WHERE m.{column} = ? AND n.state = {PRESENT}"
                " ORDER BY n.uri",
                (name,),
            )
            same = (row for row in rows if _root(row[1]) == root)
            self._named[key] = [row for row, _ in zip(same, range(_MOST_NAMESAKES), strict=False)]
        return self._named[key]

    def _through(self, dotted: str, root: str) -> int | None:
        parts = dotted.split(".")
        if len(parts) < 2 or not all(parts):
            return None
        fits = [
            node
            for node, _, _ in self._called("name", parts[-1], root)
            if any(_leads_to(parts, name.split(".")) for name in self._names(node))
        ]
        return fits[0] if len(fits) == 1 else None

    def _names(self, node: int) -> Iterator[str]:
        rows = self._connection.execute("SELECT name FROM names WHERE node = ?", (node,))
        return (name for (name,) in rows.fetchall())

    def _titled(self, mention: str, root: str, resource: str) -> int | None:
        key = None if "/" in mention else title_key(mention)
        if key is None:
            return None
        return _the_one(self._called("title", key, root), mention, resource)


def _the_one(namesakes: list[_Namesake], mention: str, resource: str) -> int | None:
    """The only one; else the only one of the mentioning resource.

    A dotted path that one resource defines several times means the first.
    """
    own = [namesake for namesake in namesakes if namesake[2] == resource]
    for group in (namesakes, own):
        if len(group) == 1:
            return group[0][0]
    if "." in mention and len({place for _, _, place in namesakes}) == 1:
        return namesakes[0][0]
    return None


def _leads_to(mentioned: list[str], name: list[str]) -> bool:
    """Whether a name begins and ends as mentioned, with more in between."""
    if len(name) <= len(mentioned):
        return False
    return any(
        name[:cut] == mentioned[:cut] and name[cut - len(mentioned) :] == mentioned[cut:]
        for cut in range(1, len(mentioned))
    )


def _leaves(folder: str, path: str) -> bool:
    """Whether a path climbs above the project."""
    depth = len([part for part in folder.split("/") if part])
    for part in path.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return True
    return False
