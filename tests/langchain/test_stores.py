"""LangChain's stores as backends."""

from __future__ import annotations

import math
import re
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from acms_adapters import ACMSPipeline, Edge, SearchHit
from acms_adapters.langchain import (
    ACMSRetriever,
    DocumentGraphBackend,
    RetrieverTextBackend,
    VectorStoreBackend,
)
from acms_adapters.models.scores import TOP_RANK
from acms_adapters.protocols import GraphBackend, SearchesText, TextBackend
from acms_adapters.testing import GraphBackendCompliance, TextBackendCompliance
from acms_adapters.testing.filters import FilteredSearch
from acms_adapters.testing.plain import PlainText
from acms_adapters.testing.suite import document


class Animals(Embeddings):
    """Places cats and dogs at right angles."""

    def embed_query(self, text: str) -> list[float]:
        cat, dog = float("cat" in text), float("dog" in text)
        length = math.hypot(cat, dog) or 1.0
        return [cat / length, dog / length, 0.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class Scripted(VectorStore):
    """Gives what it was told to give, with the scores it was told."""

    def __init__(self, *pairs: tuple[str, float]) -> None:
        self.pairs = [(Document(id=text, page_content=text), score) for text, score in pairs]
        self.asked: list[dict[str, Any]] = []

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        self.asked.append({"query": query, "k": k, **options})
        return [document for document, _ in self.pairs[:k]]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        self.asked.append({"query": query, "k": k, **options})
        return self.pairs[:k]

    @classmethod
    def from_texts(cls, *args: Any, **options: Any) -> Scripted:
        raise NotImplementedError


def to_document(hit: SearchHit) -> Document:
    """A document of which a store would make the hit again."""
    assert hit.provenance is not None
    said = {
        "source": hit.provenance.resource_uri if hit.provenance.resource_uri != hit.uko_node else 0,
        "resource_type": hit.provenance.resource_type.removesuffix("document"),
    }
    metadata = {**hit.metadata, **{key: value for key, value in said.items() if value}}
    return Document(id=hit.uko_node, page_content=hit.content or "-", metadata=metadata)


def nodes(hits: Sequence[SearchHit]) -> list[str]:
    return [hit.uko_node for hit in hits]


class InMemory:
    """For stores that write nothing down, so that tuples stay what they are."""

    def test_b4_tuples_come_back_as_lists_and_nan_as_nan(self) -> None:
        given = document("a", metadata={"t": (1, (2,)), "nan": math.nan})
        (hit,) = self.finder([given])()  # type: ignore[attr-defined]
        assert hit.metadata["t"] == (1, (2,))
        assert math.isnan(hit.metadata["nan"])


class TestFiltersOfVectorStores(InMemory, FilteredSearch):
    def finder(self, documents: Sequence[SearchHit]) -> Callable[..., Sequence[SearchHit]]:
        class Kept(Scripted):
            def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
                return [to_document(hit) for hit in documents][:k]

        backend = VectorStoreBackend(Kept())
        return lambda **filters: backend.search_text("anything", top_k=100, **filters)


class TestRetrieverTextBackend(InMemory, TextBackendCompliance):
    capabilities = TextBackendCompliance.capabilities - {"identifiers", "stemming"}

    def make_backend(self, documents: Sequence[SearchHit]) -> TextBackend:
        index = PlainText(documents)
        kept = {hit.uko_node: to_document(hit) for hit in documents}

        def retrieve(question: str) -> list[Document]:
            return [kept[hit.uko_node] for hit in index.search(question, max_results=10_000)]

        return RetrieverTextBackend(RunnableLambda(retrieve))

    @pytest.mark.parametrize("query", ["lighthouse\x00"])
    def test_b2_a_question_reaches_the_retriever_as_it_is(self, query: str) -> None:
        asked: list[str] = []
        backend = RetrieverTextBackend(RunnableLambda(lambda q: asked.append(q) or []))
        backend.search(query)
        assert asked == [query]


class TestDocumentGraphBackend(InMemory, GraphBackendCompliance):
    def make_backend(self, documents: Sequence[SearchHit], edges: Sequence[Edge]) -> GraphBackend:
        def links(document: Document) -> list[tuple[str, str]]:
            return [(e.relation, e.target) for e in edges if e.source == document.id]

        return DocumentGraphBackend(map(to_document, documents), links=links)

    def test_many_nodes_may_be_asked_for_at_once(self) -> None:
        documents = [
            Document(id=f"n{i}", page_content="text", metadata={"links": [f"n{i + 1}"]})
            for i in range(3_000)
        ]
        backend = DocumentGraphBackend(documents)
        names = [f"n{i}" for i in range(3_000)]
        assert len(backend.neighbors(names, direction="out")) == 3_000
        assert nodes(backend.get(names)) == names


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"links": ["b", "c"]}, {("b", "links"), ("c", "links")}),
        ({"links": "b", "next": 7}, {("b", "links"), ("7", "next")}),
        ({"links": None}, set()),
        ({}, set()),
    ],
)
def test_metadata_keys_become_relations_i2(metadata: Any, expected: Any) -> None:
    document = Document(id="a", page_content="text", metadata=metadata)
    edges = DocumentGraphBackend([document], links=("links", "next")).neighbors(["a"])
    assert {(edge.target, edge.relation) for edge in edges} == expected


def test_one_string_is_no_list_of_keys() -> None:
    with pytest.raises(ValueError, match="not 'links'"):
        DocumentGraphBackend([], links="links")


def test_a_graph_of_documents_is_walked_by_the_navigator() -> None:
    documents = [
        Document(id="start", page_content="the beginning", metadata={"links": ["next"]}),
        Document(id="next", page_content="what follows"),
        Document(id="far", page_content="something else"),
    ]
    pipeline = ACMSPipeline(backends={"graph": DocumentGraphBackend(documents)})
    retriever = ACMSRetriever(pipeline=pipeline, request={"breadth": 1})
    found = retriever.invoke("what follows?", focus_nodes=["start"])
    assert {document.id for document in found} == {"start", "next"}


@pytest.mark.parametrize("space", ["l2", "cosine", "ip"])
def test_the_nearer_one_is_first_and_the_most_relevant_in_every_space_m7(space: str) -> None:
    store = Chroma(
        collection_name=f"animals-{space}",
        embedding_function=Animals(),
        collection_configuration={"hnsw": {"space": space}},
    )
    store.add_documents(
        [Document(id=name, page_content=f"a {name}") for name in ("dog", "cat", "cat dog")]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        hits = VectorStoreBackend(store).search_text("cat")
    assert nodes(hits) == ["cat", "cat dog", "dog"]
    assert 1.0 >= hits[0].score > hits[1].score > hits[2].score >= 0.0


@pytest.mark.parametrize("wanted", [{"kind": "b"}, {"kind": "b", "n": 3}, {"kind": ["b", "c"]}])
def test_a_store_whose_own_filters_cannot_say_it_is_filtered_all_the_same_b5(wanted: Any) -> None:
    store = Chroma(collection_name="filtered", embedding_function=Animals())
    store.add_documents(
        [
            Document(
                id=str(n), page_content="a cat", metadata={"kind": "b" if n == 3 else "a", "n": n}
            )
            for n in range(60)
        ]
    )
    hits = VectorStoreBackend(store).search_text("cat", top_k=2, metadata_filter=wanted)
    assert nodes(hits) == ["3"]
    store.delete_collection()


def test_a_filter_builder_spares_asking_for_more() -> None:
    store = InMemoryVectorStore(Animals())
    store.add_documents(
        [Document(id=str(n), page_content="a cat", metadata={"n": n}) for n in range(30)]
    )
    backend = VectorStoreBackend(
        store,
        filter_builder=lambda wanted: lambda document: document.metadata["n"] >= wanted["n"],
    )
    assert nodes(backend.search_text("cat", top_k=3, metadata_filter={"n": 29})) == ["29"]


def test_cosines_of_the_store_in_memory_are_known_and_bounded_by_a_threshold_b7() -> None:
    store = InMemoryVectorStore(Animals())
    store.add_documents([Document(id=name, page_content=name) for name in ("dog", "cat")])
    backend = VectorStoreBackend(store)
    assert backend.scores == "similarity"
    assert nodes(backend.search_text("cat", min_similarity=0.5)) == ["cat"]
    assert nodes(backend.search_text("cat")) == ["cat", "dog"]


def test_the_direction_of_raw_scores_is_never_guessed() -> None:
    pairs = (("a", 0.1), ("b", 0.9))
    assert VectorStoreBackend(Scripted(*pairs)).scores == "rank"
    for scores, expected in (("distance", ["a", "b"]), ("similarity", ["b", "a"])):
        backend = VectorStoreBackend(Scripted(*pairs), scores=scores)  # type: ignore[arg-type]
        assert nodes(backend.search_text("?")) == expected
    with pytest.raises(ValueError, match="not 'closeness'"):
        VectorStoreBackend(Scripted(), scores="closeness")  # type: ignore[arg-type]


def test_without_scores_the_places_count_and_no_place_drowns_the_others() -> None:
    hits = VectorStoreBackend(Scripted(("a", 0.0), ("b", 0.0), ("c", 0.0))).search_text("?")
    assert [hit.score for hit in hits] == pytest.approx([TOP_RANK, TOP_RANK / 2, TOP_RANK / 3])


@pytest.mark.parametrize("scores", ["distance", "similarity"])
@pytest.mark.parametrize(
    "raw", [(-4.0, -0.5, 0.0), (0.0, 3.0, 1e9), (0.1, math.nan, 0.3), (-math.inf, 0.0, math.inf)]
)
def test_scores_of_any_range_keep_their_order_within_0_and_1_m7(scores: Any, raw: Any) -> None:
    pairs = [(str(score), score) for score in raw]
    hits = VectorStoreBackend(Scripted(*pairs), scores=scores).search_text("?")
    assert all(0.0 <= hit.score <= 1.0 for hit in hits)
    assert hits[-1].uko_node == "nan" or "nan" not in nodes(hits)
    ranked = [float(node) for node in nodes(hits) if node != "nan"]
    assert ranked == sorted(ranked, reverse=scores == "similarity")


@pytest.mark.parametrize(("question", "top_k"), [("", 5), (" \n", 5), ("cat", 0)])
def test_nothing_is_asked_for_nothing(question: str, top_k: int) -> None:
    store = Scripted(("a", 1.0))
    assert VectorStoreBackend(store).search_text(question, top_k=top_k) == []
    assert store.asked == []


def test_a_question_with_half_a_surrogate_pair_is_repaired() -> None:
    store = Scripted(("a", 1.0))
    VectorStoreBackend(store).search_text("x\ud83d")
    assert store.asked[0]["query"].encode()


def test_documents_without_an_id_are_told_apart_by_source_place_and_text_b3() -> None:
    """B3.id."""
    given = [
        Document(page_content="same", metadata={"source": "a.txt"}),
        Document(page_content="same", metadata={"source": "b.txt"}),
        Document(page_content="same", metadata={"source": "a.txt"}),
        Document(page_content="", metadata={"source": "a.txt"}),
    ]
    backend = RetrieverTextBackend(RunnableLambda(lambda question: given))
    first, second = backend.search("same")
    assert first.uko_node != second.uko_node
    assert backend.search("same") == [first, second]


def test_a_document_longer_than_a_fragment_may_be_comes_in_parts_m6() -> None:
    text = "\n\n".join(f"Paragraph {n} of a very long text." for n in range(40_000))
    long = Document(id="long", page_content=text, metadata={str(n): n for n in range(100)})
    backend = RetrieverTextBackend(RunnableLambda(lambda question: [long]))
    hits = backend.search("paragraph", max_results=1000)
    assert nodes(hits)[:2] == ["long#part-1", "long#part-2"]
    retriever = ACMSRetriever(pipeline=ACMSPipeline(backends={"text": backend}), max_tokens=400_000)
    found = retriever.invoke("paragraph")
    assert found
    assert found[0].metadata["99"] == 99
    words = [re.findall(r"Paragraph (\d+)", hit.content or "") for hit in hits]
    assert [int(n) for part in words for n in part] == list(range(40_000))


def test_the_name_of_an_argument_that_limits_is_used_when_it_is_declared() -> None:
    asked: list[Any] = []

    class Limited(InMemoryVectorStore):
        def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
            asked.append(k)
            return []

    retriever = Limited(Animals()).as_retriever()
    RetrieverTextBackend(retriever, limit_argument="k").search("cat", max_results=11)
    RetrieverTextBackend(retriever).search("cat", max_results=11)
    assert asked == [11, 4]


def test_scores_in_metadata_count_when_they_are_declared() -> None:
    given = [
        Document(id=name, page_content=name, metadata={"score": score})
        for name, score in (("a", -2.0), ("b", 7.5), ("c", None))
    ]
    backend = RetrieverTextBackend(RunnableLambda(lambda question: given), score_key="score")
    hits = backend.search("?")
    assert nodes(hits) == ["b", "a", "c"]
    assert hits[2].score == 0.0


def test_backends_are_what_the_pipeline_asks_for() -> None:
    assert isinstance(VectorStoreBackend(Scripted()), SearchesText)
    assert isinstance(RetrieverTextBackend(RunnableLambda(lambda q: [])), TextBackend)


def test_a_store_may_be_asked_by_many_threads() -> None:
    store = InMemoryVectorStore(Animals())
    store.add_documents([Document(id=str(n), page_content="a cat") for n in range(20)])
    backend = VectorStoreBackend(store)
    expected, together, found = backend.search_text("cat", top_k=7), threading.Barrier(8), []

    def ask() -> None:
        together.wait()
        found.append(backend.search_text("cat", top_k=7))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8
