"""What a store holds, in figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.indexing.vectors import NodeVectors


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextStoreStats:
    """What a store holds.

    Attributes:
        resources: Files and documents, projects included.
        nodes: Nodes by kind.
        edges: Edges between nodes that are there, by relation.
        terms: Different words of the text index.
        vectors: Nodes that are found by their vector.
        embedder: Whose vectors they are; None where there are none.
        bytes: Size of the database without vectors.
        generation: Counts the writes that were committed.
    """

    resources: int
    nodes: dict[str, int]
    edges: dict[str, int]
    terms: int
    vectors: int
    embedder: str | None
    bytes: int
    generation: int

    @classmethod
    def of(cls, texts: SQLiteStore, vectors: NodeVectors | None) -> Self:
        """Count them."""
        found = texts.stats()
        return cls(
            resources=found.resources,
            nodes=found.nodes,
            edges=found.edges,
            terms=found.terms,
            vectors=vectors.index.count() if vectors else 0,
            embedder=vectors.embedder.name if vectors else None,
            bytes=found.bytes,
            generation=found.generation,
        )

    def __str__(self) -> str:
        """For people."""
        vectors = f"{self.vectors} vectors by {self.embedder}" if self.embedder else "no vectors"
        nodes, edges = sum(self.nodes.values()), sum(self.edges.values())
        size = f"{self.bytes / 1e6:.1f} MB"
        return f"{self.resources} resources, {nodes} nodes, {edges} edges, {vectors}, {size}"

    def as_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return asdict(self)
