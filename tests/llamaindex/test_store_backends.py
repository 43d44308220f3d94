"""LlamaIndex's stores pass the suites, as far as they are declared to."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import EntityNode, PropertyGraphStore, Relation
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore

from acms_adapters.llamaindex.stores.docstore import DocstoreBackends
from acms_adapters.llamaindex.stores.graph import PropertyGraphBackend
from acms_adapters.llamaindex.stores.traits import GraphStoreTraits
from acms_adapters.llamaindex.stores.triples import encoded
from acms_adapters.llamaindex.stores.vector import VectorStoreBackend
from acms_adapters.models import Edge, SearchHit
from acms_adapters.protocols import GraphBackend, TextBackend, VectorBackend
from acms_adapters.testing import (
    GraphBackendCompliance,
    TextBackendCompliance,
    VectorBackendCompliance,
)


def texts_of(documents: Sequence[SearchHit]) -> Callable[[Sequence[str]], Mapping[str, SearchHit]]:
    """What is kept beside a graph store; nobody shares its metadata."""
    known = {item.uko_node: item for item in documents}

    def texts(nodes: Sequence[str]) -> dict[str, SearchHit]:
        return {
            node: replace(known[node], metadata=_as_json(known[node].metadata))
            for node in nodes
            if node in known
        }

    return texts


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    return [_as_json(item) for item in value] if isinstance(value, list | tuple) else value


class TestSimpleGraph(GraphBackendCompliance):
    def make_backend(
        self, documents: Sequence[SearchHit], edges: Sequence[Edge]
    ) -> PropertyGraphBackend:
        backend = PropertyGraphBackend(SimplePropertyGraphStore(), texts=texts_of(documents))
        backend.add([item.uko_node for item in documents], edges)
        return backend


class OutOnly(SimplePropertyGraphStore):
    """Finds edges from their source alone, as some servers do."""

    def get_triplets(self, *, ids: list[str]) -> Any:  # type: ignore[override]
        return [found for found in super().get_triplets(ids=ids) if found[0].id in ids]


class TestGraphOfEdgesFoundFromTheirSourceAlone(TestSimpleGraph):
    def make_backend(
        self, documents: Sequence[SearchHit], edges: Sequence[Edge]
    ) -> PropertyGraphBackend:
        backend = PropertyGraphBackend(
            OutOnly(), texts=texts_of(documents), traits=GraphStoreTraits(reads="out", batch=1_000)
        )
        backend.add([item.uko_node for item in documents], edges)
        return backend


class TestLadybugGraph(GraphBackendCompliance):
    """A real embedded database; filled in bulk, because one by one it takes minutes."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> Iterator[None]:
        self.folder, self.opened = tmp_path, []
        yield
        for store in self.opened:
            store.connection.close()
            store.db.close()

    def make_backend(
        self, documents: Sequence[SearchHit], edges: Sequence[Edge]
    ) -> PropertyGraphBackend:
        ladybug = pytest.importorskip("ladybug")
        from llama_index.graph_stores.ladybug import LadybugPropertyGraphStore

        # each database reserves as much of the address space as it may ever become large
        database = ladybug.Database(
            str(self.folder / f"graph-{len(self.opened)}"),
            buffer_pool_size=64 << 20,
            max_db_size=1 << 30,
        )
        store = LadybugPropertyGraphStore(database, use_vector_index=False)
        self.opened.append(store)
        names = {item.uko_node for item in documents}
        names |= {end for edge in edges for end in (edge.source, edge.target)}
        store.connection.execute(
            "UNWIND $names AS name CREATE (:Entity {id: name, name: name, label: 'acms'})",
            parameters={"names": sorted(map(encoded, names)) or [""]},
        )
        rows = [[encoded(e.source), e.relation, encoded(e.target)] for e in dict.fromkeys(edges)]
        if rows:
            store.connection.execute(
                "UNWIND $rows AS row MATCH (a:Entity {id: row[1]}), (b:Entity {id: row[3]}) "
                "CREATE (a)-[:LINKS {label: row[2]}]->(b)",
                parameters={"rows": rows},
            )
        return PropertyGraphBackend(store, texts=texts_of(documents))


def node_of(item: SearchHit, **fields: Any) -> TextNode:
    origin = item.provenance
    assert origin is not None
    metadata = copy.deepcopy(item.metadata)
    if origin.resource_type != "document":
        metadata["resource_type"] = origin.resource_type
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=origin.resource_uri)}
    return TextNode(
        id_=item.uko_node,
        text=item.content or "",
        metadata=metadata,
        relationships={} if origin.resource_uri == item.uko_node else source,
        **fields,
    )


class TestSimpleVectors(VectorBackendCompliance):
    def make_backend(
        self, documents: Sequence[SearchHit], vectors: Sequence[Sequence[float]]
    ) -> VectorBackend:
        nodes = {
            item.uko_node: node_of(item, embedding=list(map(float, row)))
            for item, row in zip(documents, vectors, strict=True)
        }
        store, docstore = SimpleVectorStore(), SimpleDocumentStore()
        store.add(list(nodes.values()))
        docstore.add_documents(list(nodes.values()))
        return VectorStoreBackend(store, docstore=docstore)


class TestDocstoreText(TextBackendCompliance):
    @pytest.fixture(autouse=True)
    def _opened(self) -> Iterator[None]:
        self.opened: list[DocstoreBackends] = []
        yield
        for backends in self.opened:
            backends.close()

    def make_backend(self, documents: Sequence[SearchHit]) -> TextBackend:
        docstore = SimpleDocumentStore()
        docstore.add_documents([node_of(item) for item in documents], allow_update=True)
        backends = DocstoreBackends(docstore)
        self.opened.append(backends)
        return backends.text


def test_simple_and_ladybug_are_the_graphs_that_are_known() -> None:
    graph: PropertyGraphStore = SimplePropertyGraphStore()
    graph.upsert_nodes([EntityNode(name="a"), EntityNode(name="b")])
    graph.upsert_relations([Relation(label="calls", source_id="a", target_id="b")])
    backend: GraphBackend = PropertyGraphBackend(graph)
    assert [edge.target for edge in backend.neighbors(["a"])] == ["b"]
