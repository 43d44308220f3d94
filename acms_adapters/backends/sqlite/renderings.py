"""A node's text at every depth."""

from __future__ import annotations

from acms_adapters.backends.sqlite.database import Database
from acms_adapters.backends.sqlite.schema import PRESENT
from acms_adapters.models import Rendering
from acms_adapters.models.base import repair_text

_OF_NODE = (
    f"FROM renderings r JOIN nodes n ON n.id = r.node WHERE n.uri = ? AND n.state = {PRESENT}"
)


class SQLiteRenderings:
    """The renderings that a store keeps."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def at(self, node: str, depth: int) -> Rendering | None:
        """The deepest rendering at or below `depth`; None if there is none."""
        with self._database.reading() as connection:
            row = connection.execute(
                f"SELECT r.depth, r.content, r.token_count {_OF_NODE} AND r.depth <= ?"
                " ORDER BY r.depth DESC LIMIT 1",
                (repair_text(node), depth),
            ).fetchone()
        if row is None:
            return None
        found, content, count = row
        return Rendering(uko_node=node, detail_depth=found, content=content, token_count=count)

    def depths(self, node: str) -> list[int]:
        """Depths there are, ascending; empty for an unknown node."""
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT r.depth {_OF_NODE} ORDER BY r.depth", (repair_text(node),)
            )
            return [depth for (depth,) in rows]
