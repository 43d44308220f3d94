"""Links that stand in the metadata of LangChain documents, as a graph."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from langchain_core.documents import Document

from acms_adapters.errors import RequestError
from acms_adapters.langchain.stores.hits import to_hits
from acms_adapters.models import Edge, SearchHit
from acms_adapters.models.wanted import Wanted
from acms_adapters.protocols import Direction

Links = Callable[[Document], Iterable[tuple[str, str]]]
"""From a document to pairs of a relation and the id of what it links to."""


class DocumentGraphBackend:
    """Walks from document to document, within memory.

    Args:
        documents: The nodes; of equal ids the last counts (ruling B3).
        links: Metadata keys whose values are an id or a list of ids, each key a relation; or a
            function that finds the links of a document.

    Raises:
        ValueError: `links` is one string.
    """

    def __init__(
        self,
        documents: Iterable[Document],
        *,
        links: Sequence[str] | Links = ("links",),
    ) -> None:
        if isinstance(links, str):
            raise RequestError(f"links is a list of metadata keys or a function, not {links!r}")
        find = links if callable(links) else partial(_metadata_links, links)
        self._hits: dict[str, SearchHit] = {}
        edges: dict[str, list[Edge]] = {}
        for document in documents:
            for hit in to_hits([document], [0.0]):
                self._hits[hit.uko_node] = hit
                edges[hit.uko_node] = [
                    Edge(source=hit.uko_node, target=target, relation=relation)
                    for relation, target in find(document)
                ]
        self._edges: dict[str, list[Edge]] = defaultdict(list)
        unique = {edge for found in edges.values() for edge in found}
        for edge in sorted(unique):
            for end in {edge.source, edge.target}:
                self._edges[end].append(edge)

    def neighbors(
        self,
        nodes: Sequence[str],
        *,
        direction: Direction = "both",
        relations: Sequence[str] | None = None,
        limit: int | None = None,
        scope: Sequence[str] | None = None,
    ) -> list[Edge]:
        """Edges that touch `nodes`, in a fixed order, at most `limit` for each node."""
        wanted = Wanted(scope=scope)
        found: dict[Edge, None] = {}
        for node in dict.fromkeys(nodes):
            touching = (
                edge
                for edge in self._edges.get(node, ())
                if node in edge.ends(direction)
                and (relations is None or edge.relation in relations)
                and wanted.admits(self._end(edge.other(node)))
            )
            found.update(dict.fromkeys(islice(touching, limit)))
        return list(found)

    def get(
        self,
        nodes: Sequence[str],
        *,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> list[SearchHit]:
        """The documents that are there, in the order asked for, score 0."""
        wanted = Wanted(scope=scope, resource_types=resource_types, metadata=metadata_filter)
        known = [self._hits[node] for node in dict.fromkeys(nodes) if node in self._hits]
        return [
            replace(hit, metadata=copy.deepcopy(hit.metadata))
            for hit in known
            if wanted.admits(hit)
        ]

    def _end(self, node: str) -> SearchHit:
        return self._hits.get(node) or SearchHit(uko_node=node)


def _metadata_links(keys: Sequence[str], document: Document) -> Iterator[tuple[str, str]]:
    for key in keys:
        value = document.metadata.get(key)
        targets = value if isinstance(value, list | tuple | set) else [value]
        yield from ((key, str(target)) for target in targets if target is not None)
