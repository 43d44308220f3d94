"""What goes wrong with vectors and ids elsewhere, and must not here."""

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from langchain_core.documents import Document
from llama_index.core.schema import TextNode

from acms_adapters.backends.chroma import ChromaVectorBackend
from acms_adapters.indexing import ContextStore

CHARACTERS = "character-frequency-v1"
TEXTS = ("millet is a grain", "barley is another one")


class Shrinking:
    """An embedding whose questions have another size than its documents."""

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0, 2.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]


@dataclass
class AnyId:
    """A document whose id is whatever somebody calls it."""

    id: Any
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


def asked(store: ContextStore, question: str = "What is millet?") -> tuple[list[str], str]:
    """Nodes of the answer, and what failed."""
    config = {"context": {"strategies": {"enabled": ["simple-keyword", "semantic-embedding"]}}}
    payload = store.pipeline(config).assemble(question, budget=500)
    failed = " ".join(str(failure) for failure in payload.failures)
    return [fragment.uko_node for fragment in payload.fragments], failed


@pytest.mark.parametrize("kept", [False, True])
def test_b7_questions_of_another_size_are_told_and_words_still_answer(
    kept: bool, tmp_path: Path
) -> None:
    opened = (
        ContextStore.open(tmp_path, embedder=Shrinking())
        if kept
        else ContextStore.in_memory(embedder=Shrinking())
    )
    with opened as store:
        store.add_documents([Document(id=text[:6], page_content=text) for text in TEXTS])
        found, failed = asked(store)
        assert "millet" in found
        assert "2 dimensions" in failed
        assert "of 3" in failed
        assert "semantic-embedding" in failed


def test_a_collection_deleted_underneath_is_told_and_words_still_answer(tmp_path: Path) -> None:
    with ContextStore.open(tmp_path, embedder=CHARACTERS) as store:
        store.add_documents([Document(id=text[:6], page_content=text) for text in TEXTS])
        client = chromadb.PersistentClient(
            str(tmp_path / "chroma"), settings=Settings(anonymized_telemetry=False)
        )
        client.delete_collection("acms")
        found, failed = asked(store)
        assert "millet" in found
        assert "deleted" in failed
    with ContextStore.open(tmp_path) as store:
        assert store.stats().vectors == 2
        assert store.check().is_clean


@pytest.mark.parametrize("size", [0, 1, 3])
@pytest.mark.parametrize("top_k", [0, 1, 10])
def test_there_are_never_more_vectors_than_texts(size: int, top_k: int, tmp_path: Path) -> None:
    with ContextStore.open(tmp_path, embedder=CHARACTERS) as store:
        store.add_documents([Document(id=f"{n}", page_content=f"text {n}") for n in range(size)])
        backends = store.backends()
        vector = backends.embedder.embed_query("text")
        assert len(backends.vector.similarity_search(vector, top_k=top_k)) == min(size, top_k)


NAMED = [7, 2**70, -1, 1.5, True, uuid.UUID(int=9), b"bytes", ("a", 1), Path("a/b"), "x", "故乡"]


def test_b3_ids_of_every_type_are_their_text(tmp_path: Path) -> None:
    with ContextStore.open(tmp_path, embedder=CHARACTERS) as store:
        store.add_documents([AnyId(one, f"text {place}") for place, one in enumerate(NAMED)])
        wanted = [str(one) for one in NAMED]
        backends = store.backends()
        assert [hit.uko_node for hit in backends.graph.get(wanted)] == wanted
        vector = backends.embedder.embed_query("text")
        near = backends.vector.similarity_search(vector, top_k=50)
        assert {hit.uko_node for hit in near} == set(wanted)
        again = store.add_documents(
            [AnyId(str(one), f"text {place}") for place, one in enumerate(NAMED)]
        )
        assert again.unchanged == len(NAMED)


def test_b3_nodes_named_by_a_uuid_keep_it() -> None:
    name = uuid.uuid4()
    with ContextStore.in_memory(embedder=None) as store:
        store.add_nodes([TextNode(id_=str(name), text="millet")])
        assert [hit.uko_node for hit in store.backends().text.search("millet")] == [str(name)]


def test_b3_the_same_id_twice_in_a_call_is_one_document_the_last(tmp_path: Path) -> None:
    with ContextStore.open(tmp_path, embedder=CHARACTERS) as store:
        first = Document(id="x", page_content="millet", metadata={"old": 1, "v": 1})
        last = Document(id="x", page_content="barley", metadata={"v": 2})
        report = store.add_documents([first, Document(id="y", page_content="rye"), last])
        assert report.total == 2
        (hit,) = store.backends().graph.get(["x"])
        assert (hit.content, hit.metadata) == ("barley", {"v": 2})
        assert store.stats().vectors == 2
        assert store.check().is_clean


def test_stores_of_one_process_share_nothing_and_leave_chroma_to_others(tmp_path: Path) -> None:
    with (
        ContextStore.open(tmp_path / "one", embedder=CHARACTERS) as one,
        ContextStore.open(tmp_path / "other", embedder=CHARACTERS) as other,
        ContextStore.in_memory(embedder=CHARACTERS) as third,
    ):
        one.add_documents([Document(id="x", page_content="millet")])
        for empty in (other, third):
            vector = empty.backends().embedder.embed_query("millet")
            assert empty.backends().vector.similarity_search(vector) == []
            assert empty.backends().text.search("millet") == []
        plain = chromadb.EphemeralClient()
        assert plain.get_or_create_collection(f"plain-{uuid.uuid4().hex}").count() == 0
        for place in ("one", "other"):
            chromadb.PersistentClient(str(tmp_path / place / "chroma")).list_collections()


def test_texts_without_a_word_are_skipped_by_name_and_harm_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = ["", " \n\t", "\u00a0\u2003", "!!!", "\x00", "\u200b", "millet"]
    with (
        caplog.at_level(logging.WARNING, "acms_adapters"),
        ContextStore.open(tmp_path, embedder=CHARACTERS) as store,
    ):
        report = store.add_documents(
            [Document(id=f"{place}", page_content=text) for place, text in enumerate(texts)]
        )
        assert report.total + len(report.skipped) == len(texts)
        assert all(skip.reason == "empty" for skip in report.skipped)
        assert [hit.uko_node for hit in store.backends().text.search("millet")] == ["6"]
        assert store.backends().text.search("???") == []
        assert store.check().is_clean
    assert caplog.text == ""


def texts_of(store: ContextStore) -> dict[str, str]:
    return store.backends().vector.hashes()


def test_b8_what_the_vectors_are_of_is_asked_of_the_texts_while_they_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading it from Chroma takes seconds in a large store, for one changed text."""

    def documents(*names: str, said: str = "grows") -> list[Document]:
        return [Document(id=name, page_content=f"{name} {said}") for name in names]

    asked_of_chroma: list[int] = []
    hashes = ChromaVectorBackend.hashes

    def watched(self: ChromaVectorBackend) -> dict[str, str]:
        asked_of_chroma.append(1)
        return hashes(self)

    with ContextStore.open(tmp_path, embedder=CHARACTERS) as store:
        store.add_documents(documents("millet", "rye", "oats"))
    with ContextStore.open(tmp_path) as store, monkeypatch.context() as patched:
        patched.setattr(ChromaVectorBackend, "hashes", watched)
        store.add_documents(documents("rye", said="ripens") + documents("barley"))
        store.remove("oats")
        assert asked_of_chroma == []
        with ContextStore.open(tmp_path) as another:
            another.add_documents(documents("spelt"))
        store.add_documents(documents("millet", said="is sown"))
        assert asked_of_chroma == []
        with ContextStore.open(tmp_path) as another:
            another.add_documents(documents("emmer"))
        (tmp_path / "vectors.json").unlink()  # nobody says any more that they are complete
        store.add_documents(documents("millet", said="is cut"))
        assert asked_of_chroma != []
    with ContextStore.open(tmp_path) as store:
        assert set(texts_of(store)) == {"millet", "rye", "barley", "spelt", "emmer"}
        assert store.check(repair=False).findings == ()
