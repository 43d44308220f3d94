"""LlamaIndex's own stores and indexes answer the pipeline as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import PropertyGraphIndex, StorageContext, VectorStoreIndex
from llama_index.core.bridge.pydantic import Field
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    EntityNode,
    PropertyGraphStore,
    Relation,
)
from llama_index.core.indices.property_graph import ImplicitPathExtractor
from llama_index.core.llms.mock import MockLLM
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceWindowNodeParser
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
    TransformComponent,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from acms_adapters import ContextRequest
from acms_adapters.errors import BackendError
from acms_adapters.llamaindex import (
    DocstoreBackends,
    GraphStoreTraits,
    HybridStoreBackend,
    PropertyGraphBackend,
    VectorStoreBackend,
)
from acms_adapters.models import Edge
from acms_adapters.pipeline import ACMSPipeline
from acms_adapters.protocols import SearchesText
from acms_adapters.testing import PlainEmbedder

TEXTS = {
    "lamp": "The lamp burns rapeseed oil and is lit at dusk.",
    "tide": "The tide table lists high water twice a day.",
    "boat": "The supply boat lands on Mondays.",
}


def text_nodes() -> list[BaseNode]:
    return [TextNode(id_=name, text=text) for name, text in TEXTS.items()]


def links(edges: Sequence[Edge]) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.relation, edge.target) for edge in edges}


# ---------------------------------------------------------------- vectors


class Answers(BasePydanticVectorStore):
    """Answers with the same nodes and scores to every question, and keeps what it was asked."""

    stores_text: bool = True
    found: list[tuple[str, float]]
    scored: bool = True
    asked: list[Any] = Field(default_factory=list)

    @property
    def client(self) -> None:
        return None

    def add(self, nodes: list[BaseNode], **_: Any) -> list[str]:
        return []

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        pass

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        self.asked.append(query)
        found = self.found[: query.similarity_top_k]
        return VectorStoreQueryResult(
            nodes=[TextNode(id_=name, text=TEXTS[name]) for name, _ in found],
            similarities=[score for _, score in found] if self.scored else None,
            ids=[name for name, _ in found],
        )


def test_of_a_store_that_calls_distances_similarities_the_nearest_stays_first_m7() -> None:
    distances = Answers(found=[("lamp", 0.1), ("tide", 0.7), ("boat", 1.9)])
    hits = VectorStoreBackend(distances).similarity_search([1.0, 0.0])
    assert [hit.uko_node for hit in hits] == ["lamp", "tide", "boat"]
    assert hits[0].score > hits[1].score > hits[2].score


def test_similarities_that_descend_are_the_scores_m7() -> None:
    store = Answers(found=[("lamp", 0.9), ("tide", 0.7), ("boat", 0.1)])
    hits = VectorStoreBackend(store).similarity_search([1.0, 0.0])
    assert [hit.score for hit in hits] == [0.9, 0.7, 0.1]


def test_a_store_without_scores_gives_its_order() -> None:
    store = Answers(found=[("tide", 0.0), ("lamp", 0.0)], scored=False)
    hits = VectorStoreBackend(store).similarity_search([1.0, 0.0])
    assert [hit.uko_node for hit in hits] == ["tide", "lamp"]
    assert hits[0].score > hits[1].score > 0.0


def test_a_threshold_bounds_only_scores_that_are_known_as_cosines_b7() -> None:
    store = Answers(found=[("lamp", 1.0), ("tide", math.exp(-0.5)), ("boat", math.exp(-1.0))])
    ask = {"embedding": [1.0, 0.0], "min_similarity": 0.5}
    assert len(VectorStoreBackend(store).similarity_search(**ask)) == 3
    declared = VectorStoreBackend(store, to_cosine=lambda score: 1.0 + math.log(score))
    hits = declared.similarity_search(**ask)
    assert [(hit.uko_node, round(hit.score, 6)) for hit in hits] == [("lamp", 1.0), ("tide", 0.5)]


def test_a_store_that_fails_is_named() -> None:
    class Down(Answers):
        def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
            raise ConnectionError("refused")

    with pytest.raises(BackendError, match="Down cannot be searched: ConnectionError: refused"):
        VectorStoreBackend(Down(found=[])).similarity_search([1.0])


def test_a_store_that_keeps_no_texts_needs_the_docstore() -> None:
    with pytest.raises(ValueError, match="SimpleVectorStore keeps no texts: pass the docstore"):
        VectorStoreBackend(SimpleVectorStore())


def test_a_store_is_asked_for_vectors_alone_unless_its_mode_is_declared_b1() -> None:
    store = Answers(found=[("lamp", 0.9)])
    VectorStoreBackend(store).similarity_search([1.0, 0.0])
    assert store.asked[-1].mode == VectorStoreQueryMode.DEFAULT
    assert store.asked[-1].query_str is None
    hybrid = HybridStoreBackend(store, mode="hybrid", embedder=PlainEmbedder(), alpha=0.3)
    assert isinstance(hybrid, SearchesText)
    hits = hybrid.search_text("When is the lamp lit?", top_k=5)
    assert [hit.content for hit in hits] == [TEXTS["lamp"]]
    asked = store.asked[-1]
    assert (asked.mode, asked.query_str, asked.alpha, asked.similarity_top_k) == (
        VectorStoreQueryMode.HYBRID,
        "When is the lamp lit?",
        0.3,
        5,
    )
    assert asked.query_embedding == list(PlainEmbedder().embed_query("When is the lamp lit?"))
    assert hybrid.search_text(" \n") == []


class Letters(BaseEmbedding):
    """Counts letters."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def test_the_stores_of_a_real_index_answer_the_pipeline() -> None:
    storage = StorageContext.from_defaults()
    storage.docstore.add_documents(text_nodes())
    VectorStoreIndex(text_nodes(), storage_context=storage, embed_model=Letters())
    vector = VectorStoreBackend(storage.vector_store, docstore=storage.docstore)
    with DocstoreBackends(storage.docstore) as found:
        pipeline = ACMSPipeline(backends=found.backends(vector=vector, embedder=Letters()))
        payload = pipeline.assemble(TEXTS["boat"], budget=300)
    assert payload.fragments[0].uko_node == "boat"
    assert "semantic-embedding" in payload.strategies_used


# ---------------------------------------------------------------- docstore


def test_a_docstore_is_followed_when_it_is_refreshed() -> None:
    docstore = SimpleDocumentStore()
    docstore.add_documents(text_nodes())
    with DocstoreBackends(docstore) as found:
        assert [hit.uko_node for hit in found.text.search("boat on Mondays")] == ["boat"]
        docstore.add_documents([TextNode(id_="fog", text="In fog the horn sounds.")])
        docstore.add_documents([TextNode(id_="tide", text="Spring tides are higher.")])
        docstore.delete_document("boat")
        found.refresh()
        assert found.text.search("boat on Mondays") == []
        assert [hit.uko_node for hit in found.text.search("horn fog")] == ["fog"]
        assert found.text.search("high water twice") == []
        assert [hit.content for hit in found.text.search("spring")] == ["Spring tides are higher."]


def test_relationships_of_nodes_are_edges_i2() -> None:
    def tied(name: str, **relations: str | list[str]) -> TextNode:
        return TextNode(
            id_=name,
            text=f"text of {name}",
            relationships={
                NodeRelationship[kind.upper()]: [RelatedNodeInfo(node_id=one) for one in to]
                if isinstance(to, list)
                else RelatedNodeInfo(node_id=to)
                for kind, to in relations.items()
            },
        )

    docstore = SimpleDocumentStore()
    docstore.add_documents(
        [
            Document(id_="book", text="The whole book."),
            tied("chapter", source="book", child=["one", "two"]),
            tied("one", source="book", parent="chapter", next="two"),
            tied("two", source="book", parent="chapter", previous="one"),
        ]
    )
    with DocstoreBackends(docstore) as found:
        graph = found.graph
        assert links(graph.neighbors(["chapter"], direction="out")) == {
            ("chapter", "contains", "one"),
            ("chapter", "contains", "two"),
        }
        assert links(graph.neighbors(["chapter"], direction="in")) == {
            ("book", "contains", "chapter")
        }
        assert links(graph.neighbors(["one"], direction="out")) == {("one", "next", "two")}
        assert ("one", "next", "two") in links(graph.neighbors(["two"], direction="in"))
        (hit,) = graph.get(["two"])
        assert hit.content == "text of two"


def test_a_window_is_a_higher_depth_of_its_sentence() -> None:
    parser = SentenceWindowNodeParser.from_defaults(window_size=1)
    story = Document(id_="log", text="Dawn broke. The lamp went out. The boat came in. Dusk fell.")
    docstore = SimpleDocumentStore()
    docstore.add_documents(parser.get_nodes_from_documents([story]))
    with DocstoreBackends(docstore) as found:
        (hit,) = found.text.search("lamp")
        assert hit.content == "The lamp went out."
        deepest = found.renderings.at(hit.uko_node, 9)
        assert deepest is not None
        assert (
            " ".join(deepest.content.split()) == "Dawn broke. The lamp went out. The boat came in."
        )


def test_every_kind_of_node_is_taken_and_what_has_no_text_is_left_alone() -> None:
    nodes: list[BaseNode] = [
        Document(id_="document", text="A document on lamps."),
        ImageNode(id_="image", image="aGVsbG8=", text="A picture of lamps."),
        ImageNode(id_="silent", image="aGVsbG8="),
        *HierarchicalNodeParser.from_defaults([64, 32], chunk_overlap=0).get_nodes_from_documents(
            [Document(id_="long", text="Every keeper trims lamps. " * 30)]
        ),
    ]
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    with DocstoreBackends(docstore) as found:
        names = {hit.uko_node for hit in found.text.search("lamps", max_results=100)}
    assert {"document", "image"} <= names
    assert "silent" not in names
    assert len(names) > 10


# ---------------------------------------------------------------- graph


class Facts(TransformComponent):
    """Finds the entities that a text was written to be about."""

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> Sequence[BaseNode]:
        for node in nodes:
            about = EntityNode(name=f"{node.node_id.title()} House", label="thing")
            place = EntityNode(name="Lighthouse", label="place")
            relation = Relation(label="STANDS_AT", source_id=about.id, target_id=place.id)
            node.metadata[KG_NODES_KEY] = [about, place]
            node.metadata[KG_RELATIONS_KEY] = [relation]
        return nodes


def made(store: PropertyGraphStore) -> PropertyGraphIndex:
    nodes = text_nodes()
    for one, other in pairwise(nodes):
        one.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=other.node_id)
    return PropertyGraphIndex(
        nodes,
        llm=MockLLM(),
        kg_extractors=[Facts(), ImplicitPathExtractor()],
        embed_kg_nodes=False,
        property_graph_store=store,
    )


@pytest.fixture(scope="module")
def index() -> PropertyGraphIndex:
    return made(SimplePropertyGraphStore())


def test_a_property_graph_index_in_a_real_database_is_walked_as_it_is(tmp_path: Path) -> None:
    ladybug = pytest.importorskip("ladybug")
    from llama_index.graph_stores.ladybug import LadybugPropertyGraphStore

    database = ladybug.Database(
        str(tmp_path / "graph"), buffer_pool_size=64 << 20, max_db_size=1 << 30
    )
    store = LadybugPropertyGraphStore(database, use_vector_index=False)
    graph = PropertyGraphBackend(made(store))
    assert links(graph.neighbors(["Lamp House"])) == {
        ("Lamp House", "STANDS_AT", "Lighthouse"),
        ("lamp", "mentions", "Lamp House"),
    }
    assert ("tide", "mentions", "Lighthouse") in links(graph.neighbors(["tide"], direction="out"))
    assert graph.resolve("the boat house") == [("Boat House", 1), ("boat", 1)]
    pipeline = ACMSPipeline(backends={"graph": graph})
    request = ContextRequest(query="what is in the boat house?", breadth=1)
    payload = pipeline.assemble(request, budget=200, strategy="breadth-depth-navigator")
    assert payload.fragments[0].content == TEXTS["boat"]
    store.connection.close()
    database.close()


def test_a_property_graph_index_is_walked_as_it_is(index: PropertyGraphIndex) -> None:
    graph = PropertyGraphBackend(index)
    assert links(graph.neighbors(["Lamp House"])) == {
        ("Lamp House", "STANDS_AT", "Lighthouse"),
        ("lamp", "mentions", "Lamp House"),
    }
    assert ("lamp", "next", "tide") in links(graph.neighbors(["lamp"], direction="out"))
    assert ("lamp", "next", "tide") in links(graph.neighbors(["tide"], direction="in"))
    assert ("lamp", "mentions", "Lamp House") in links(graph.neighbors(["lamp"]))
    assert links(graph.neighbors(["Lighthouse"], relations=["stands_at"])) == {
        (f"{name.title()} House", "STANDS_AT", "Lighthouse") for name in TEXTS
    }
    texts = [hit.content for hit in graph.get(["boat", "Boat House"])]
    assert texts == [TEXTS["boat"], None]


def test_a_question_that_names_an_entity_leads_to_its_texts(index: PropertyGraphIndex) -> None:
    pipeline = ACMSPipeline(backends={"graph": PropertyGraphBackend(index)})
    request = ContextRequest(query="what is in the boat house?", breadth=1)
    payload = pipeline.assemble(request, budget=200, strategy="breadth-depth-navigator")
    assert payload.fragments[0].content == TEXTS["boat"]
    assert TEXTS["lamp"] not in [fragment.content for fragment in payload.fragments]


def test_names_are_found_in_any_usual_spelling_longest_first(index: PropertyGraphIndex) -> None:
    graph = PropertyGraphBackend(index)
    assert graph.resolve("the LAMP HOUSE, at the lighthouse.") == [
        ("Lamp House", 1),
        ("lamp", 1),
        ("Lighthouse", 1),
    ]
    assert graph.resolve("nothing known here") == []
    assert graph.resolve("lighthouse " * 100_000) == [("Lighthouse", 1)]


@pytest.mark.parametrize(
    ("label", "edge"),
    [
        ("CHILD", ("a", "contains", "b")),
        ("PARENT", ("b", "contains", "a")),
        ("SOURCE", ("b", "contains", "a")),
        ("NEXT", ("a", "next", "b")),
        ("PREVIOUS", ("b", "next", "a")),
        ("CONTAINS", ("a", "contains", "b")),
        ("MENTIONS", ("a", "mentions", "b")),
        ("WORKS_AT", ("a", "WORKS_AT", "b")),
    ],
)
def test_relationships_are_read_in_their_direction_whatever_the_store_calls_them_i2(
    label: str, edge: tuple[str, str, str]
) -> None:
    store = SimplePropertyGraphStore()
    store.upsert_nodes([EntityNode(name="a"), EntityNode(name="b")])
    store.upsert_relations([Relation(label=label, source_id="a", target_id="b")])
    graph = PropertyGraphBackend(store)
    source, relation, target = edge
    assert links(graph.neighbors([source], direction="out")) == {edge}
    assert links(graph.neighbors([target], direction="in", relations=[relation])) == {edge}
    assert graph.neighbors([source], direction="in") == []


class Counting(SimplePropertyGraphStore):
    """Counts how often it is asked for triplets."""

    questions = 0

    def get_triplets(self, **asked: Any) -> Any:
        self.questions += 1
        return super().get_triplets(**asked)


@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_a_hop_is_one_question_whatever_its_direction_b6(direction: Any) -> None:
    store = Counting()
    graph = PropertyGraphBackend(store, texts=lambda nodes: {})
    graph.add([], [Edge(source=f"n{i}", target=f"n{i + 1}", relation="next") for i in range(40)])
    graph.neighbors([f"n{i}" for i in range(20)], direction=direction)
    assert store.questions == 1


def test_texts_beside_a_graph_come_from_a_docstore() -> None:
    docstore = SimpleDocumentStore()
    docstore.add_documents(text_nodes())
    graph = PropertyGraphBackend(SimplePropertyGraphStore(), texts=docstore)
    graph.add(TEXTS, [Edge(source="lamp", target="boat", relation="waits_for")])
    assert [hit.content for hit in graph.get(["boat", "lamp"])] == [TEXTS["boat"], TEXTS["lamp"]]
    assert links(graph.neighbors(["boat"])) == {("lamp", "waits_for", "boat")}


@pytest.fixture
def out_only() -> PropertyGraphBackend:
    class Out(SimplePropertyGraphStore):
        def get_triplets(self, **asked: Any) -> Any:
            return [t for t in super().get_triplets(**asked) if t[0].id in asked["ids"]]

    return PropertyGraphBackend(Out(), traits=GraphStoreTraits(reads="out"))


def test_of_an_out_only_store_edges_written_by_others_are_found_from_their_source(
    out_only: PropertyGraphBackend,
) -> None:
    out_only.store.upsert_nodes([EntityNode(name="a"), EntityNode(name="b")])
    out_only.store.upsert_relations([Relation(label="calls", source_id="a", target_id="b")])
    assert links(out_only.neighbors(["a"])) == {("a", "calls", "b")}
    assert out_only.neighbors(["b"]) == []
    out_only.add([], [Edge(source="a", target="b", relation="calls")])
    assert links(out_only.neighbors(["b"])) == {("a", "calls", "b")}
