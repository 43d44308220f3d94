"""A store keeps what callers bring, across runs, in step with its vectors (B3, B4, B7, B8)."""

import json
import logging
import math
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document as SourceDocument

from acms_adapters import ContextFragment, ContextStore
from acms_adapters.errors import (
    EmbedderMismatchError,
    NothingAnsweredError,
    StoreError,
    UnknownNameError,
)
from acms_adapters.models import SearchHit
from acms_adapters.models.surplus import restore_surplus
from acms_adapters.protocols import RatesNodes

CHARACTERS = "character-frequency-v1"
LONG = "\n\n".join(f"Paragraph {n} says one thing. " * 8 for n in range(60))


class Embedding:
    """A LangChain embedding that counts what it embeds."""

    def __init__(self, size: int = 3, model: str = "tiny") -> None:
        self.size = size
        self.model = model
        self.embedded: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.embedded.extend(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text) + 1), *(float(ord(c) % 7) for c in text.ljust(self.size)[1:])][
            : self.size
        ]


@pytest.fixture
def store() -> Iterator[ContextStore]:
    with ContextStore.in_memory(embedder=CHARACTERS) as store:
        yield store


def get(store: ContextStore, *uris: str) -> list[SearchHit]:
    return list(store.backends().graph.get(uris))


def found(store: ContextStore, query: str) -> list[str]:
    return [hit.uko_node for hit in store.backends().text.search(query)]


def near(store: ContextStore, query: str) -> list[str]:
    backends = store.backends()
    assert backends.vector is not None
    assert backends.embedder is not None
    vector = backends.embedder.embed_query(query)
    return [hit.uko_node for hit in backends.vector.similarity_search(vector)]


def test_documents_are_found_by_word_and_vector_with_their_ids(store: ContextStore) -> None:
    report = store.add_documents(
        [Document(id="x", page_content="millet"), Document(id="y", page_content="barley")]
    )
    assert report.added == ("x", "y")
    assert found(store, "millet") == ["x"]
    assert near(store, "barley")[0] == "y"


def test_a_document_added_again_is_one_document_b3(store: ContextStore) -> None:
    document = Document(id="x", page_content="millet", metadata={"a": 1})
    store.add_documents([document])
    report = store.add_documents([document, document])
    assert (report.unchanged, report.total) == (1, 1)
    assert [skip.reason for skip in report.skipped] == ["given again later in the same call"]
    assert found(store, "millet") == ["x"]
    assert near(store, "millet") == ["x"]


def test_changed_text_and_metadata_replace_the_old_ones_in_every_backend_b3(
    store: ContextStore,
) -> None:
    """T2.index."""
    store.add_documents([Document(id="x", page_content="millet", metadata={"a": 1, "b": 2})])
    report = store.add_documents([Document(id="x", page_content="barley", metadata={"b": 3})])
    assert report.changed == ("x",)
    assert found(store, "millet") == []
    assert [hit.metadata for hit in store.backends().text.search("barley")] == [{"b": 3}]
    assert store.backends().text.search("barley", metadata_filter={"a": 1}) == []
    assert near(store, "barley") == ["x"]


def test_changed_metadata_alone_are_a_change(store: ContextStore) -> None:
    store.add_documents([Document(id="x", page_content="millet", metadata={"title": "A"})])
    report = store.add_documents(
        [Document(id="x", page_content="millet", metadata={"title": "B", "tier": "hot"})]
    )
    assert report.changed == ("x",)
    (hit,) = get(store, "x")
    assert (hit.metadata, hit.tier) == ({"title": "B", "tier": "hot"}, "hot")


def test_a_new_title_gives_a_new_vector() -> None:
    embedding = Embedding()
    with ContextStore.in_memory(embedder=embedding) as store:
        store.add_documents([Document(id="x", page_content="millet", metadata={"title": "A"})])
        store.add_documents([Document(id="x", page_content="millet", metadata={"title": "B"})])
    assert embedding.embedded == ["A\n\nmillet", "B\n\nmillet"]


def test_only_new_and_changed_texts_are_embedded() -> None:
    embedding = Embedding()
    with ContextStore.in_memory(embedder=embedding) as store:
        store.add_documents([Document(id=str(n), page_content=f"text {n}") for n in range(5)])
        store.add_documents([Document(id="1", page_content="other")])
        store.add_documents([Document(id="1", page_content="other")])
    assert embedding.embedded[5:] == ["other"]


PLAIN = st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats() | st.text(max_size=9)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@given(metadata=st.dictionaries(st.text(max_size=8), VALUES, max_size=70))
def test_metadata_come_back_as_they_went_in_b4_m6(metadata: dict[str, Any]) -> None:
    """M6.surplus."""
    with ContextStore.in_memory(embedder=None) as store:
        store.add_documents([Document(id="x", page_content="millet", metadata=metadata)])
        (hit,) = store.backends().text.search("millet")
    assert len(hit.metadata) <= 64
    assert same(metadata, restore_surplus(hit.metadata))


def test_empty_texts_do_not_fail_the_batch(store: ContextStore) -> None:
    texts = ["", " \n", "millet"]
    report = store.add_documents([Document(page_content=text) for text in texts])
    assert len(report.added) == 1
    assert [str(skip) for skip in report.skipped] == ["document 0: empty", "document 1: empty"]
    assert store.add_documents([]).total == 0


def test_a_lone_surrogate_does_not_lose_the_others(store: ContextStore) -> None:
    store.add_documents([Document(page_content=text) for text in ("millet", "x\ud83d", "barley")])
    assert len(found(store, "millet")) == len(found(store, "barley")) == 1
    assert store.stats().vectors == 3
    assert "3 vectors by character-frequency-v1, " in str(store.stats())


def test_a_million_characters_in_one_line_do_not_hide_the_others_m6(store: ContextStore) -> None:
    """M6.long."""
    texts = ["millet", "^" * 1_000_001, "barley"]
    store.add_documents([Document(id=t[:3], page_content=t) for t in texts])
    assert found(store, "millet") == ["mil"]
    (hit,) = get(store, "^^^")
    assert hit.content is not None
    assert len(hit.content) <= 1_000_000
    parts = [e.target for e in store.backends().graph.neighbors(["^^^"], relations=["contains"])]
    assert len(parts) == 625
    ContextFragment(uko_node="x", content=hit.content, metadata=hit.metadata)


def test_six_thousand_texts_in_one_batch_are_all_there() -> None:
    with ContextStore.in_memory(embedder=None) as store:
        report = store.add_documents(Document(page_content=f"word{n}") for n in range(6000))
        assert report.total == 6000
        assert store.stats().resources == 6000
        assert store.backends().text.search("word5999")[0].content == "word5999"


def test_nodes_keep_their_relationships_as_edges_i2(store: ContextStore) -> None:
    splitter = SentenceSplitter(chunk_size=128, chunk_overlap=0)
    nodes = splitter.get_nodes_from_documents([SourceDocument(text=LONG, id_="whole")])
    report = store.add_nodes(nodes)
    assert (report.kind, report.total) == ("nodes", len(nodes))
    following = store.backends().graph.neighbors([nodes[0].node_id], relations=["next"])
    assert [edge.target for edge in following] == [nodes[1].node_id]
    assert {hit.provenance.resource_uri for hit in get(store, nodes[0].node_id)} == {"whole"}
    assert store.remove("whole") == len(nodes)


def test_a_source_that_comes_later_contains_what_came_before_i2(store: ContextStore) -> None:
    splitter = SentenceSplitter(chunk_size=128, chunk_overlap=0)
    source = SourceDocument(text=LONG, id_="whole")
    nodes = splitter.get_nodes_from_documents([source])
    store.add_nodes(nodes)
    assert store.backends().graph.neighbors(["whole"]) == []
    store.add_nodes([source])
    inside = store.backends().graph.neighbors(["whole"], direction="out", relations=["contains"])
    assert {node.node_id for node in nodes} <= {edge.target for edge in inside}


def test_fragments_of_a_node_are_its_renderings(store: ContextStore) -> None:
    store.add_fragments(
        [
            ContextFragment(uko_node="n", content="millet and barley", detail_depth=9),
            ContextFragment(uko_node="n", content="millet", detail_depth=2),
        ]
    )
    renderings = store.backends().renderings
    assert renderings.at("n", 5).content == "millet"
    assert renderings.at("n", 9).token_count == 4


def test_links_of_documents_become_edges_by_id_or_title_i2(store: ContextStore) -> None:
    store.add_documents(
        [
            Document(id="a", page_content="millet", metadata={"links": ["b", "The Barley Page"]}),
            Document(id="b", page_content="rye"),
            Document(id="c", page_content="barley", metadata={"title": "The Barley Page"}),
        ]
    )
    edges = store.backends().graph.neighbors(["a"], relations=["links"])
    assert [edge.target for edge in edges] == ["b", "c"]


def test_documents_are_removed_by_id_or_source(store: ContextStore) -> None:
    store.add_documents(
        [
            Document(id="a", page_content="millet", metadata={"source": "farm/grain.pdf"}),
            Document(id="b", page_content="barley", metadata={"source": "farm/grain.pdf"}),
            Document(id="c", page_content="rye", metadata={"source": "farm/rye.pdf"}),
        ]
    )
    assert store.remove("c") == 1
    assert store.remove("c") == 0
    assert store.remove("farm/grain.pdf") == 2
    assert store.stats().nodes == {}
    assert store.stats().vectors == 0


@pytest.mark.parametrize("target", ["", "  "])
def test_removing_nothing_is_refused(store: ContextStore, target: str) -> None:
    with pytest.raises(ValueError, match="name what to remove"):
        store.remove(target)


def test_documents_inside_a_project_survive_its_indexing(
    store: ContextStore, tmp_path: Path
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "a.txt").write_text("millet")
    note = {"uko_node": "project://app/notes/1"}
    store.add_documents([Document(page_content="barley", metadata=note)])
    assert store.add_path(tmp_path / "app").removed == ()
    assert found(store, "barley") == ["project://app/notes/1"]


def test_a_store_on_disk_is_there_again(tmp_path: Path) -> None:
    with ContextStore.open(tmp_path / "kept", embedder=CHARACTERS) as store:
        store.add_documents([Document(id="x", page_content="millet", metadata={"a": [1, None]})])
        before = store.stats()
    with ContextStore.open(tmp_path / "kept", read_only=True) as store:
        assert found(store, "millet") == near(store, "millet") == ["x"]
        assert get(store, "x")[0].metadata == {"a": [1, None]}
        assert store.stats() == before
        with pytest.raises(StoreError, match="read"):
            store.add_documents([Document(page_content="barley")])


def test_the_embedder_that_made_a_store_is_found_by_itself_b7(tmp_path: Path) -> None:
    with ContextStore.open(tmp_path, embedder=CHARACTERS) as store:
        store.add_documents([Document(id="x", page_content="millet")])
    with ContextStore.open(tmp_path) as store:
        assert store.stats().embedder == CHARACTERS
        assert near(store, "millet") == ["x"]


def test_another_embedder_is_an_error_that_names_both_b7(tmp_path: Path) -> None:
    """B7.recorded."""
    with ContextStore.open(tmp_path, embedder=Embedding(model="one")) as store:
        store.add_documents([Document(id="x", page_content="millet")])
    for other in (Embedding(model="two"), CHARACTERS, "auto"):
        with pytest.raises(EmbedderMismatchError, match="Embedding/one") as raised:
            ContextStore.open(tmp_path, embedder=other)
        assert {"Embedding/two", CHARACTERS, "wordllama"} & set(str(raised.value).split("'"))
    with ContextStore.open(tmp_path, embedder=None) as store:
        assert found(store, "millet") == ["x"]
        assert store.backends().vector is None
    with ContextStore.open(tmp_path, embedder=CHARACTERS, rebuild=True) as store:
        assert near(store, "millet") == ["x"]


def test_vectors_of_another_size_are_an_error_that_names_both_sizes_b7(tmp_path: Path) -> None:
    """B7.sizes."""
    with ContextStore.open(tmp_path, embedder=Embedding(3)) as store:
        store.add_documents([Document(id="x", page_content="millet")])
    with (
        ContextStore.open(tmp_path, embedder=Embedding(2)) as store,
        pytest.raises(EmbedderMismatchError, match=r"3.*2|2.*3"),
    ):
        near(store, "millet")


def test_where_vectors_do_not_fit_the_embedder_words_still_answer_b7(tmp_path: Path) -> None:
    """B7.others."""
    with ContextStore.open(tmp_path, embedder=Embedding(3)) as store:
        store.add_documents([Document(id="x", page_content="millet")])
    with ContextStore.open(tmp_path, embedder=Embedding(2)) as store:
        payload = store.pipeline().assemble("millet", budget=4096)
    assert [f.uko_node for f in payload.fragments] == ["x"]
    told = {failure.strategy: failure.message for failure in payload.failures}
    assert re.search(r"3.*2|2.*3", told["semantic-embedding"])


def test_without_an_embedder_there_are_no_vectors_and_words_still_answer(
    tmp_path: Path,
) -> None:
    """B7.chosen."""
    with ContextStore.open(tmp_path, embedder=None) as store:
        store.add_documents([Document(id="x", page_content="millet")])
        assert (store.stats().vectors, store.stats().embedder) == (0, None)
        assert store.pipeline().assemble("millet", budget=50).fragments[0].uko_node == "x"


def test_an_unknown_embedder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="wordlama"):
        ContextStore.open(tmp_path, embedder="wordlama")


def test_texts_written_without_vectors_get_them_at_the_next_opening_b8(tmp_path: Path) -> None:
    with ContextStore.open(tmp_path, embedder=CHARACTERS) as store:
        store.add_documents([Document(id=n, page_content=f"millet {n}") for n in "abc"])
    with ContextStore.open(tmp_path, embedder=None) as store:
        store.remove("a")
        store.add_documents([Document(id="b", page_content="barley")])
        store.add_documents([Document(id="d", page_content="rye")])
    with ContextStore.open(tmp_path) as store:
        assert store.stats().vectors == 3
        assert set(near(store, "rye")) == {"b", "c", "d"}


def test_an_embedder_that_fails_loses_no_text_and_the_next_run_goes_on_b8(tmp_path: Path) -> None:
    class Failing(Embedding):
        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            raise ConnectionError("no answer")

    failing = Failing()
    failing.__class__.__qualname__ = "Embedding"
    with ContextStore.open(tmp_path, embedder=failing) as store:
        with pytest.raises(ConnectionError):
            store.add_documents([Document(id="x", page_content="millet")])
        assert found(store, "millet") == ["x"]
    with ContextStore.open(tmp_path, embedder=Embedding()) as store:
        assert near(store, "millet") == ["x"]


def test_a_vector_follows_everything_it_was_made_of_even_if_a_run_ended_before_it_b8(
    tmp_path: Path,
) -> None:
    def documents(title: str) -> list[Document]:
        return [Document(id="x", page_content="millet", metadata={"title": title})]

    code = tmp_path / "code"
    code.mkdir()
    said = 'def grind(corn):\n    """{}."""\n    return corn\n'
    embedding = Embedding()
    with ContextStore.open(tmp_path / "store", embedder=embedding) as store:
        store.add_documents(documents("A"))
        (code / "mill.py").write_text(said.format("Slow"))
        store.add_path(code)
    with ContextStore.open(tmp_path / "store", embedder=None) as store:
        store.add_documents(documents("B"))
        (code / "mill.py").write_text(said.format("Fast"))
        store.add_path(code)
    first = len(embedding.embedded)
    with ContextStore.open(tmp_path / "store", embedder=embedding) as store:
        again = embedding.embedded[first:]
        assert "B\n\nmillet" in again
        assert any("Fast" in text for text in again)
        assert len(again) == first


def test_opening_a_complete_store_embeds_nothing(tmp_path: Path) -> None:
    with ContextStore.open(tmp_path, embedder=Embedding()) as store:
        store.add_documents([Document(id="x", page_content="millet")])
    again = Embedding()
    ContextStore.open(tmp_path, embedder=again).close()
    assert again.embedded == []
    (tmp_path / "vectors.json").write_text("{broken")
    ContextStore.open(tmp_path, embedder=again).close()
    assert again.embedded == []
    assert json.loads((tmp_path / "vectors.json").read_text())["embedder"] == "Embedding/tiny"


def test_a_reader_sees_what_another_client_wrote_b8(tmp_path: Path) -> None:
    """B8.stale."""
    with ContextStore.open(tmp_path, embedder=CHARACTERS) as writer:
        writer.add_documents([Document(id="x", page_content="millet")])
        with ContextStore.open(tmp_path, read_only=True) as reader:
            assert near(reader, "millet") == ["x"]
            writer.add_documents([Document(id="y", page_content="barley")])
            assert found(reader, "barley") == ["y"]
            assert near(reader, "barley")[0] == "y"
            writer.remove("x")
            assert near(reader, "millet") == ["y"]


def test_without_chroma_vectors_live_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ContextStore.open(tmp_path, embedder=None) as store:
        store.add_documents([Document(id="x", page_content="millet")])
    find = __import__("importlib.util").util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "chromadb" else find(name)
    )
    for read_only in (False, True):
        with ContextStore.open(tmp_path, embedder=CHARACTERS, read_only=read_only) as store:
            assert near(store, "millet") == ["x"]
    assert not (tmp_path / "chroma").exists()


def test_vectors_in_memory_follow_others_before_each_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B8."""
    find = __import__("importlib.util").util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "chromadb" else find(name)
    )
    grains = [Document(id=f"n{i}", page_content=f"millet {i}") for i in range(10)]
    with (
        ContextStore.open(tmp_path, embedder=CHARACTERS) as reader,
        ContextStore.open(tmp_path, embedder=None) as writer,
    ):
        writer.add_documents(grains)
        vectors, embedder = reader.backends().vector, reader.backends().embedder
        assert isinstance(vectors, RatesNodes)
        assert embedder is not None
        assert set(vectors.rate(embedder.embed_query("millet"), ["n1", "x"])) == {"n1"}
        writer.add_documents([Document(id="x", page_content="millet")])
        assert set(vectors.rate(embedder.embed_query("millet"), ["n1", "x"])) == {"n1", "x"}


def test_without_any_embedder_installed_there_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("acms_adapters.indexing.vectors.default_embedder", lambda: None)
    with ContextStore.in_memory() as store:
        store.add_documents([Document(id="x", page_content="millet")])
        assert store.backends().vector is None


def test_a_folder_is_expected(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="is a file"):
        ContextStore.open(tmp_path / "file")
    with pytest.raises(StoreError, match="no store"):
        ContextStore.open(tmp_path / "nowhere", read_only=True)
    assert not (tmp_path / "nowhere").exists()


def test_a_closed_store_says_so_and_closes_twice(tmp_path: Path) -> None:
    store = ContextStore.open(tmp_path, embedder=CHARACTERS)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.add_documents([Document(page_content="x")])


def test_a_pipeline_that_outlives_its_store_says_so_and_does_not_find_nothing_s9() -> None:
    with ContextStore.in_memory(embedder=CHARACTERS) as store:
        store.add_documents([Document(id="x", page_content="millet")])
        pipeline = store.pipeline()
    with pytest.raises(NothingAnsweredError, match="closed"):
        pipeline.assemble("millet", budget=500)


def test_threads_write_one_after_the_other(tmp_path: Path) -> None:
    with ContextStore.open(tmp_path, embedder=CHARACTERS) as store:
        start = threading.Barrier(4)

        def work(name: str) -> None:
            start.wait()
            for n in range(5):
                store.add_documents([Document(id=f"{name}{n}", page_content=f"millet {name}{n}")])

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.stats().resources == store.stats().vectors == 20


def test_stores_in_memory_share_nothing(store: ContextStore) -> None:
    store.add_documents([Document(id="x", page_content="millet")])
    with ContextStore.in_memory(embedder=CHARACTERS) as other:
        assert found(other, "millet") == near(other, "millet") == []


def test_the_pipeline_answers_from_the_store(store: ContextStore) -> None:
    store.add_documents([Document(id="x", page_content="The millet harvest was good.")])
    payload = store.pipeline({"context": {"profile": "spec"}}).assemble(
        "How was the millet harvest?", budget=99
    )
    assert [fragment.uko_node for fragment in payload.fragments] == ["x"]


def test_adding_changes_nothing_that_was_given(store: ContextStore) -> None:
    document = Document(id="x", page_content="millet", metadata={"a": {"b": [1]}})
    before = document.model_copy(deep=True)
    store.add_documents([document])
    get(store, "x")[0].metadata["a"]["b"].append(2)
    assert document == before
    assert get(store, "x")[0].metadata == {"a": {"b": [1]}}


def test_nothing_is_said_on_a_quiet_terminal(
    store: ContextStore, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        store.add_documents([Document(id="x", page_content="millet")])
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
