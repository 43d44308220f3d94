"""What is remembered of a collection is never older than what others wrote to it (ruling B8)."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import chromadb
import pytest

from acms_adapters.backends.chroma import ChromaVectorBackend, access

CROWD = [[1.0, 0.0, 0.0]] * 40


def fill(backend: ChromaVectorBackend) -> None:
    backend.upsert([f"e{number}" for number in range(len(CROWD))], CROWD)


def first(backend: ChromaVectorBackend, vector: list[float]) -> str:
    return backend.similarity_search(vector, top_k=1, min_similarity=-1.0)[0].uko_node


def test_who_asks_while_others_write_gets_what_was_before_and_remembers_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "READ_PATIENCE", 0.0)
    reader, writer = ChromaVectorBackend(tmp_path), ChromaVectorBackend(tmp_path)
    reader._access._guard.patience = 0.0  # it must not wait for what it can answer without
    fill(writer)
    writer.upsert(["moved"], [[0, 0, 1]])
    assert first(reader, [1, 0, 0]) == "e0"
    writer.upsert(["moved", "new"], [[0, 1, 0], [0, 0, 1]])
    with writer._access.writing():  # and in the end writes nothing
        for options in ({}, {"scope": ["e1", "new"]}, {"top_k": 100}):
            hits = reader.similarity_search([1, 0, 0], **options)
            assert {hit.uko_node[0] for hit in hits} <= {"e", "m"}
            assert hits
        assert list(reader.rate([1, 0, 0], ["new", "e1"])) == ["e1"]
        assert reader.stamp == writer.stamp
    assert first(reader, [0, 0, 1]) == "new"
    assert first(reader, [0, 1, 0]) == "moved"
    for each in (reader, writer):
        each.close()


def test_who_asks_while_others_write_the_first_vectors_finds_none_and_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "READ_PATIENCE", 0.0)
    reader, writer = ChromaVectorBackend(tmp_path), ChromaVectorBackend(tmp_path)
    reader._access._guard.patience = 0.0
    fill(writer)
    with writer._access.writing():
        assert reader.similarity_search([1, 0, 0]) == []
        assert reader.rate([1, 0, 0], ["e1"]) == {}
        assert reader.dimensions is None
    assert first(reader, [1, 0, 0]) == "e0"
    for each in (reader, writer):
        each.close()


@pytest.fixture
def theirs() -> Any:
    """A collection of somebody's in a client in memory, and a way to get it once more."""
    client, name = chromadb.EphemeralClient(), f"test-{uuid4().hex}"
    configuration: Any = {"hnsw": {"space": "cosine"}}
    client.create_collection(name, embedding_function=None, configuration=configuration)
    yield lambda: client.get_collection(name, embedding_function=None)
    client.delete_collection(name)


def test_another_object_of_a_given_collection_may_be_written_to(theirs: Any) -> None:
    mine, other = (ChromaVectorBackend(collection=theirs()) for _ in range(2))
    fill(mine)
    assert first(mine, [1, 0, 0]) == "e0"
    other.upsert(["new"], [[0, 1, 0]])
    assert first(mine, [0, 1, 0]) == "new"
    other.upsert(["new"], [[0, 0, 1]])
    assert first(mine, [0, 0, 1]) == "new"


def test_those_who_give_no_stamp_may_write_beside_the_library(theirs: Any) -> None:
    collection = theirs()
    collection.add(ids=["theirs"], embeddings=[[0.0, 1.0, 0.0]])
    client = chromadb.EphemeralClient()
    backend = ChromaVectorBackend(client=client, collection=collection.name)
    fill(backend)
    assert first(backend, [1, 0, 0]) == "e0"
    collection.add(ids=["late"], embeddings=[[0.0, 0.0, 1.0]])
    assert first(backend, [0, 0, 1]) == "late"
