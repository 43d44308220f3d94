"""How property graph stores differ in what they answer.

docs/reference/llamaindex_graph_stores.md tells more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStoreTraits:
    """How a store behaves.

    Attributes:
        reads: ``both``: `get_triplets` finds edges from either end; ``out``: from their source
            alone; ``cypher``: the same, and the others can be asked for in Cypher.
        batch: Most ids of one question.
        mentions: Whether ``get(properties=…)`` looks at the properties.
    """

    reads: Literal["both", "out", "cypher"]
    batch: int = 50
    mentions: bool = True


TRAITS: dict[str, GraphStoreTraits] = {
    "SimplePropertyGraphStore": GraphStoreTraits(reads="both", batch=1_000),
    "LadybugPropertyGraphStore": GraphStoreTraits(reads="cypher", mentions=False),
    "KuzuPropertyGraphStore": GraphStoreTraits(reads="cypher", mentions=False),
    "MemgraphPropertyGraphStore": GraphStoreTraits(reads="out"),
    "NebulaPropertyGraphStore": GraphStoreTraits(reads="out"),
}
"""Stores that are known to differ, by class name."""

USUAL = GraphStoreTraits(reads="both")
"""Any other store."""
