"""Any LlamaIndex property graph store as a graph to walk."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from llama_index.core import PropertyGraphIndex
from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    LabelledNode,
    PropertyGraphStore,
    Relation,
)
from llama_index.core.storage.docstore import BaseDocumentStore
from llama_index.core.vector_stores.utils import metadata_dict_to_node

from acms_adapters.llamaindex.stores.hits import Texts, repaired, to_hit
from acms_adapters.llamaindex.stores.traits import TRAITS, USUAL, GraphStoreTraits
from acms_adapters.llamaindex.stores.triples import REVERSED, decoded, encoded, reader_of
from acms_adapters.models import Edge, FragmentProvenance, SearchHit
from acms_adapters.models.wanted import Wanted
from acms_adapters.protocols import Direction

MENTIONS = "mentions"
"""Relation from a chunk of text to an entity that was found in it."""

_WORDS = re.compile(r"[\w'’.-]+")
_LONGEST_NAME = 4  # words
_MOST_WORDS = 64  # of a question that names are looked for in


class PropertyGraphBackend:
    """Walks a property graph store from frontier to frontier, one question for each hop.

    It never asks for a map of relations, which stores answer in ways that differ too much. One
    thread at a time asks the store.

    Args:
        store: The store, or a `PropertyGraphIndex`, which is used as it is.
        texts: What is known of nodes by id: a docstore, or a function. Stores lose much of what is
            written beside a name, so texts are kept elsewhere. Left out, chunks have their text,
            and entities lead on to the chunks they were found in.
        traits: How the store behaves; left out, by the name of its class.
    """

    def __init__(
        self,
        store: PropertyGraphStore | PropertyGraphIndex,
        *,
        texts: Texts | BaseDocumentStore | None = None,
        traits: GraphStoreTraits | None = None,
    ) -> None:
        if isinstance(store, PropertyGraphIndex):
            store = store.property_graph_store
        self.store = store
        self.traits = traits or TRAITS.get(type(store).__name__, USUAL)
        self._reader = reader_of(store, self.traits)
        self._texts = texts
        self._turn = threading.RLock()

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
        asked = list(dict.fromkeys(nodes))
        if not asked or limit == 0:
            return []
        kinds = None if relations is None else {name.casefold() for name in relations}
        touching: dict[str, set[Edge]] = {node: set() for node in asked}
        for edge in self._edges(asked):
            if kinds is None or edge.relation.casefold() in kinds:
                for node in edge.ends(direction):
                    touching.get(node, set()).add(edge)
        outside = self._outside(asked, touching, scope)
        found: dict[Edge, None] = {}
        for node in asked:
            ordered = sorted(e for e in touching[node] if e.other(node) not in outside)
            found.update(dict.fromkeys(islice(ordered, limit)))
        return list(found)

    def get(
        self,
        nodes: Sequence[str],
        *,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> list[SearchHit]:
        """The nodes that are there, in the order asked for, score 0."""
        wanted = Wanted(scope=scope, resource_types=resource_types, metadata=metadata_filter)
        asked = list(dict.fromkeys(nodes))
        there = self._known(asked)
        return [there[node] for node in asked if node in there and wanted.admits(there[node])]

    def resolve(
        self, text: str, *, limit: int = 10, scope: Sequence[str] | None = None
    ) -> list[tuple[str, int]]:
        """Entities whose name stands in `text`, those of more words first."""
        names = list(_names(text))
        there = {decoded(node.id) for node in self._stored(names)}
        wanted = Wanted(scope=scope)
        found = [name for name in names if name in there]
        if scope:
            known = self._known(found)
            found = [name for name in found if name in known and wanted.admits(known[name])]
        return [(name, 1) for name in found[:limit]]

    def add(self, nodes: Iterable[str], edges: Iterable[Edge]) -> None:
        """Write nodes and edges; writing them again changes nothing (ruling B3).

        Nodes are written as entities, the one kind that every store walks. Where a store finds
        edges from their source alone, each is written in reverse as well.
        """
        kept = list(dict.fromkeys(edges))
        names = dict.fromkeys([*nodes, *(end for e in kept for end in (e.source, e.target))])
        relations = [_relation(e.source, e.relation, e.target) for e in kept]
        if self.traits.reads == "out":
            relations += [_relation(e.target, REVERSED + e.relation, e.source) for e in kept]
        with self._turn:
            self.store.upsert_nodes([EntityNode(name=encoded(n), label="acms") for n in names])
            self.store.upsert_relations(relations)

    def _edges(self, nodes: Sequence[str]) -> list[Edge]:
        with self._turn:
            found = self._reader.read(nodes)
            if self.traits.mentions and self._texts is None:
                found += self._mentions(nodes)
        return found

    def _mentions(self, nodes: Sequence[str]) -> Iterator[Edge]:
        """Edges between chunks and entities, which most stores keep as a property alone."""
        for node in self._stored(nodes):
            name = decoded(node.id)
            if isinstance(node, ChunkNode):
                for entity in self.store.get(properties={TRIPLET_SOURCE_KEY: node.id}):
                    if entity.properties.get(TRIPLET_SOURCE_KEY) == node.id:
                        yield Edge(source=name, target=decoded(entity.id), relation=MENTIONS)
            elif chunk := node.properties.get(TRIPLET_SOURCE_KEY):
                yield Edge(source=decoded(str(chunk)), target=name, relation=MENTIONS)

    def _outside(
        self,
        asked: Sequence[str],
        touching: Mapping[str, Iterable[Edge]],
        scope: Sequence[str] | None,
    ) -> set[str]:
        """Other ends that lie out of scope, by their resource where that is known."""
        if not scope:
            return set()
        ends = {edge.other(node) for node in asked for edge in touching.get(node, ())}
        known, wanted = self._known(sorted(ends)), Wanted(scope=scope)
        return {end for end in ends if not wanted.admits(known.get(end) or SearchHit(uko_node=end))}

    def _known(self, nodes: Sequence[str]) -> dict[str, SearchHit]:
        if not nodes:
            return {}
        texts = self._texts
        if isinstance(texts, BaseDocumentStore):
            kept = texts.get_nodes(list(nodes), raise_error=False)
            known = {node.node_id: to_hit(node) for node in kept}
        else:
            given = texts(nodes) if texts is not None else {}
            known = {node: repaired(hit) for node, hit in given.items()}
        missing = [node for node in nodes if node not in known]
        return known | {decoded(node.id): _hit(node) for node in self._stored(missing)}

    def _stored(self, nodes: Sequence[str]) -> list[LabelledNode]:
        names, size = [encoded(node) for node in nodes], self.traits.batch
        found: list[LabelledNode] = []
        with self._turn:
            for start in range(0, len(names), size):  # asked for none, some stores give all
                found.extend(self.store.get(ids=names[start : start + size]))
        return found


def _hit(node: LabelledNode) -> SearchHit:
    """What a graph store knows of a node; an entity has no text of its own."""
    name = decoded(node.id)
    if isinstance(node, ChunkNode):
        with suppress(Exception):  # not written by the framework's own index
            return to_hit(metadata_dict_to_node(dict(node.properties), text=node.text))
        return SearchHit(
            uko_node=name, content=node.text, provenance=FragmentProvenance(resource_uri=name)
        )
    return SearchHit(uko_node=name, provenance=FragmentProvenance(resource_uri=name))


def _relation(source: str, label: str, target: str) -> Relation:
    return Relation(label=label, source_id=encoded(source), target_id=encoded(target))


def _names(text: str) -> Iterator[str]:
    """What in a text could be an entity's name, as it stands and in the usual spellings."""
    words = [word.strip(".'’-") for word in _WORDS.findall(text)[:_MOST_WORDS]]
    seen: set[str] = set()
    for size in range(min(_LONGEST_NAME, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            name = " ".join(words[start : start + size])
            for spelling in (name, name.title(), name.lower(), name.upper()):
                if spelling and spelling not in seen:
                    seen.add(spelling)
                    yield spelling
