"""A node's text at every depth."""

from __future__ import annotations

from acms_adapters.backends.sqlite.database import Database
from acms_adapters.backends.sqlite.schema import PRESENT
from acms_adapters.models import Rendering
from acms_adapters.models.base import repair_text

_OF_NODE = (
    "SELECT r.depth, r.content, r.token_count FROM renderings r JOIN nodes n ON n.id = r.node"
    f" WHERE n.uri = ? AND n.state = {PRESENT} ORDER BY r.depth"
)


class SQLiteRenderings:
    """The renderings that a store keeps."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def at(self, node: str, depth: int) -> Rendering | None:
        """The deepest rendering at or below `depth`; None if there is none."""
        shallower = self.below(node, depth + 1)
        return shallower[-1] if shallower else None

    def depths(self, node: str) -> list[int]:
        """Depths there are, ascending; empty for an unknown node."""
        return [rendering.detail_depth for rendering in self._all(node)]

    def below(self, node: str, depth: int) -> list[Rendering]:
        """All renderings that are less deep, ascending."""
        return [rendering for rendering in self._all(node) if rendering.detail_depth < depth]

    def _all(self, node: str) -> tuple[Rendering, ...]:
        with self._database.looking() as (connection, kept):
            known = kept.renderings.get(node)
            if known is not None:
                return known
        with self._database.reading() as connection:
            rows = connection.execute(_OF_NODE, (repair_text(node),)).fetchall()
            kept = self._database.kept(connection)
        found = tuple(
            Rendering(uko_node=node, detail_depth=depth, content=content, token_count=count)
            for depth, content, count in rows
        )
        kept.charge(sum(len(one.content) for one in found), 1 + len(found))
        kept.renderings[node] = found
        return found
