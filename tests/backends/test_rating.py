"""Backends say of given nodes what a search would say of them (rulings M7, F11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from acms_adapters.backends.chroma import ChromaVectorBackend
from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.backends.vectors import MemoryVectorBackend
from acms_adapters.models import IndexedNode, IndexedResource
from acms_adapters.protocols import RatesNodes

TEXTS = {
    "both": "the token bucket of the limiter",
    "one": "a bucket of water",
    "none": "nothing of the kind",
}


@pytest.fixture
def store() -> Iterator[SQLiteStore]:
    with SQLiteStore(None) as made:
        for name, text in TEXTS.items():
            node = IndexedNode(
                uko_node=name,
                kind="document",
                resource_uri=name,
                resource_type="document",
                fields={"title": "", "body": text},
                renderings={9: text},
            )
            made.replace(
                IndexedResource(resource_uri=name, content_hash=name, nodes=(node,)),
                token_counts={},
                vector_hashes={},
            )
        yield made


def test_a_text_rating_is_what_the_search_says(store: SQLiteStore) -> None:
    hits = {hit.uko_node: hit.score for hit in store.text.search("token bucket")}
    assert isinstance(store.text, RatesNodes)
    rated = store.text.rate("token bucket", ["one", "both", "none", "unknown"])
    assert {node: rated[node] for node in hits} == pytest.approx(hits)
    assert rated.keys() == {"one", "both", "none"}
    assert rated["both"] > rated["one"] > rated["none"]


def test_half_a_surrogate_pair_is_a_node_that_is_not_there(store: SQLiteStore) -> None:
    """B2."""
    assert list(store.text.rate("token bucket", ["\ud800", "both"])) == ["both"]


def test_nothing_is_said_of_words_that_nobody_holds(store: SQLiteStore) -> None:
    assert store.text.rate("zebra", ["one"]) == {}
    assert store.text.rate("", ["one"]) == {}
    assert store.text.rate("bucket", []) == {}


@pytest.fixture(params=["memory", "chroma"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], MemoryVectorBackend]:
    def make() -> MemoryVectorBackend:
        if request.param == "memory":
            return MemoryVectorBackend()
        pytest.importorskip("chromadb")
        return ChromaVectorBackend(tmp_path / "chroma")  # type: ignore[return-value]

    return make


def test_a_vector_rating_is_what_the_search_says(
    vectors: Callable[[], MemoryVectorBackend],
) -> None:
    index = vectors()
    rows = np.random.default_rng(3).normal(size=(20, 8))
    names = [f"n{number}" for number in range(20)]
    index.upsert(names, rows, contents=names)
    question = rows[4].tolist()
    hits = {hit.uko_node: hit.score for hit in index.similarity_search(question, top_k=5)}
    rated = index.rate(question, [*names, "unknown"])
    assert rated.keys() == set(names)
    assert {node: rated[node] for node in hits} == pytest.approx(hits, abs=1e-4)
    index.close()


def test_too_few_vectors_say_nothing_that_could_be_compared(
    vectors: Callable[[], MemoryVectorBackend],
) -> None:
    index = vectors()
    index.upsert(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], contents=["a", "b"])
    assert index.rate([1.0, 0.0], ["a", "b"]) == {}
    index.close()
