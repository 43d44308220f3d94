"""Chroma in a folder, in a client and on a server; what it gets wrong by itself must not show."""

import json
import math
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import chromadb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st
from langchain_chroma import Chroma
from langchain_core.embeddings import DeterministicFakeEmbedding

from acms_adapters.backends.chroma import ChromaVectorBackend
from acms_adapters.backends.vectors import MemoryVectorBackend, VectorIndex
from acms_adapters.backends.vectors.records import unit
from acms_adapters.errors import (
    BackendError,
    EmbedderMismatchError,
    MissingExtraError,
    RequestError,
    StoreError,
    StoreLockedError,
)
from acms_adapters.models import FragmentProvenance, SearchHit

Make = Callable[..., ChromaVectorBackend]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def nodes_of(hits: list[SearchHit]) -> list[str]:
    return [hit.uko_node for hit in hits]


class Server:
    """A real server on a free port of this machine."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [str(Path(sys.executable).parent / "chroma"), "run", "--path", str(folder)]
        self.process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        patience = time.monotonic() + 60
        while not self._answers():
            assert self.process.poll() is None, "the server ended at once"
            assert time.monotonic() < patience, "the server did not come up"
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.05)

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


@pytest.fixture(params=["folder", "client", "server"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Opens the same collection each time, wherever it is."""
    name = f"test-{uuid4().hex}"
    opened: list[ChromaVectorBackend] = []
    if request.param == "folder":
        place: dict[str, Any] = {"path": tmp_path / "vectors"}
    elif request.param == "client":
        place = {"client": chromadb.EphemeralClient()}
    else:
        place = {"host": "127.0.0.1", "port": request.getfixturevalue("server").port}

    def build(**options: Any) -> ChromaVectorBackend:
        opened.append(ChromaVectorBackend(**{**place, "collection": name, **options}))
        return opened[-1]

    yield build
    for backend in opened:
        backend.close()


@pytest.fixture
def pets(make: Make) -> ChromaVectorBackend:
    backend = make(embedder_name="pets-3")
    backend.upsert(["cat", "dog"], [[1, 0, 0], [0, 1, 0]], contents=["a cat", "a dog"])
    return backend


def test_it_is_a_vector_backend_that_can_be_filled(pets: ChromaVectorBackend) -> None:
    assert isinstance(pets, VectorIndex)
    assert (pets.count(), pets.embedder_name, pets.dimensions) == (2, "pets-3", 3)


def test_none_metadata_values_come_back(make: Make) -> None:
    backend = make()
    metadatas = [{"a": None, "b": 1}, {"b": 2}, None]
    backend.upsert(["x", "y", "z"], np.eye(3), metadatas=metadatas)
    hits = backend.similarity_search([3, 2, 1])
    assert [hit.metadata for hit in hits] == [{"a": None, "b": 1}, {"b": 2}, {}]


@pytest.mark.parametrize(
    "metadata",
    [
        {"nested": {"a": [1, {"b": None}]}, "empty": [], "mixed": [1, "x", True, 0.5]},
        {"big": 2**70, "nan": math.nan, "inf": -math.inf, "nul": "a\x00b", "": ""},
        {"surrogate": "\ud83d", "cjk": "检索", "acms_within": ["x"], "chroma:document": "y"},
        {},
    ],
)
def test_b4_metadata_comes_back_equal_whatever_chroma_can_hold(
    make: Make, metadata: dict[str, Any]
) -> None:
    backend = make()
    backend.upsert(["a"], [[1.0, 0.0]], metadatas=[metadata])
    (hit,) = backend.similarity_search([1, 0])
    assert json.dumps(hit.metadata) == json.dumps(metadata)


@settings(max_examples=10)
@given(st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=4), min_size=1, max_size=4))
def test_b4_any_metadata_comes_back_equal(metadatas: list[dict[str, Any]]) -> None:
    backend = ChromaVectorBackend(client=chromadb.EphemeralClient())
    backend.upsert(range(len(metadatas)), [[1.0, 0.0]] * len(metadatas), metadatas=metadatas)
    hits = backend.similarity_search([1, 0])
    assert [json.dumps(hit.metadata) for hit in hits] == [json.dumps(one) for one in metadatas]
    backend.close()


def test_long_names_of_many_nodes_are_no_trouble(make: Make) -> None:
    backend = make()
    names = [f"project://app/{'long' * 100}/{i}" for i in range(300)]
    backend.upsert(names, np.random.default_rng(0).normal(size=(300, 4)))
    assert len(backend.similarity_search([1, 1, 1, 1], top_k=300, min_similarity=-1)) == 300


def test_b3_indexing_twice_leaves_one_copy(make: Make) -> None:
    backend = make()
    for _ in range(2):
        backend.upsert(["a", "a", "b"], [[1, 0], [1, 0], [0, 1]])
    assert nodes_of(backend.similarity_search([1, 0.5], top_k=4)) == ["a", "b"]
    assert backend.count() == 2


def test_b3_writing_again_replaces_content_and_metadata_whole(pets: ChromaVectorBackend) -> None:
    pets.upsert(
        ["cat"],
        [[1, 0, 0]],
        hashes=["h1"],
        metadatas=[{"a": 1}],
        resource_uris=["project://a/b/c"],
        resource_types=["document"],
    )
    pets.upsert(["cat"], [[0, 0, 1]], metadatas=[{"b": 2}], resource_uris=["project://z"])
    (hit,) = pets.similarity_search([0, 0, 1], min_similarity=0.5)
    assert (hit.content, hit.metadata) == (None, {"b": 2})
    assert hit.provenance == FragmentProvenance(resource_uri="project://z")
    assert pets.hashes() == {"cat": "", "dog": ""}
    assert pets.similarity_search([0, 0, 1], scope=["project://a"]) == []


@pytest.mark.parametrize("size", [0, 1, 3])
def test_k_may_be_larger_than_the_collection_or_zero(make: Make, size: int) -> None:
    backend = make()
    backend.upsert(range(size), np.eye(3)[:size])
    assert len(backend.similarity_search([1, 1, 1], top_k=10)) == size
    assert backend.similarity_search([1, 1, 1], top_k=0) == []


def test_the_nearer_one_is_first_and_alone_above_the_threshold(pets: ChromaVectorBackend) -> None:
    first, second = pets.similarity_search([1, 0, 0])
    assert (first.uko_node, first.content, second.uko_node) == ("cat", "a cat", "dog")
    assert first.score > second.score
    assert nodes_of(pets.similarity_search([1, 0, 0], min_similarity=0.5)) == ["cat"]


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_the_nearer_one_is_first_whatever_the_space_of_a_given_collection(space: str) -> None:
    client = chromadb.EphemeralClient()
    collection = client.create_collection(
        f"test-{uuid4().hex}", embedding_function=None, configuration={"hnsw": {"space": space}}
    )
    backend = ChromaVectorBackend(collection=collection)
    backend.upsert(["cat", "dog", "far"], [[2, 0, 0], [0, 9, 0], [-1, 0, 0]])
    hits = backend.similarity_search([1, 0, 0], min_similarity=-1.0)
    assert nodes_of(hits) == ["cat", "dog", "far"]
    assert nodes_of(backend.similarity_search([1, 0, 0], min_similarity=0.5)) == ["cat"]
    client.delete_collection(collection.name)


def test_b7_a_question_of_another_size_is_an_error_that_names_both(
    pets: ChromaVectorBackend,
) -> None:
    with pytest.raises(EmbedderMismatchError, match=r"\b2\b.*'pets-3'.*\b3\b"):
        pets.similarity_search([1, 0])
    with pytest.raises(EmbedderMismatchError, match=r"\b2\b.*'pets-3'.*\b3\b"):
        pets.upsert(["fish"], [[1, 0]])
    assert pets.count() == 2


def test_b7_another_embedder_is_an_error_that_names_both(make: Make) -> None:
    """B7.recorded."""
    make(embedder_name="one").upsert(["a"], [[1, 0]])
    with pytest.raises(EmbedderMismatchError, match=r"'one'.*'two'.*rebuild=True"):
        make(embedder_name="two")
    with pytest.raises(EmbedderMismatchError, match=r"\b2\b.*'one'.*\b5\b"):
        make(embedder_name="one", dimensions=5)
    assert make(embedder_name="one", dimensions=2).count() == 1
    assert make().embedder_name == "one"


def test_b7_another_embedder_may_rebuild_or_fill_what_is_empty(make: Make) -> None:
    first = make(embedder_name="one")
    first.upsert(["a"], [[1, 0]])
    rebuilt = make(embedder_name="two", dimensions=3, rebuild=True)
    assert rebuilt.count() == 0
    rebuilt.upsert(["a"], [[1, 0, 0]])
    assert (rebuilt.embedder_name, rebuilt.dimensions) == ("two", 3)
    assert make(embedder_name="two", rebuild=True).count() == 1
    rebuilt.remove(["a"])
    third = make(embedder_name="three")
    third.upsert(["a"], [[1.0]])
    assert (third.embedder_name, third.dimensions) == ("three", 1)


def test_six_thousand_in_one_call_are_all_there(make: Make) -> None:
    backend = make()
    backend.upsert(range(6000), np.random.default_rng(0).normal(size=(6000, 4)))
    assert backend.count() == 6000
    assert len(backend.hashes()) == 6000
    backend.remove(range(1, 6000))
    assert nodes_of(backend.similarity_search([1, 1, 1, 1], min_similarity=-1)) == ["0"]


def test_nothing_leaks_between_backends_without_a_place() -> None:
    first, second = ChromaVectorBackend(), ChromaVectorBackend()
    first.upsert(["a"], [[1, 0]])
    assert second.similarity_search([1, 0]) == []
    plain = Chroma(embedding_function=DeterministicFakeEmbedding(size=2))
    assert plain.similarity_search("a") == []
    first.close()
    second.close()


def test_nothing_leaks_between_backends_of_one_client_in_memory() -> None:
    client = chromadb.EphemeralClient()
    before = {collection.name for collection in client.list_collections()}
    first, second = (ChromaVectorBackend(client=client) for _ in range(2))
    first.upsert(["a"], [[1, 0]])
    assert second.similarity_search([1, 0]) == []
    first.close()
    second.close()
    assert {collection.name for collection in client.list_collections()} == before


def test_other_settings_of_a_client_on_the_same_folder_do_not_clash(tmp_path: Path) -> None:
    ours = ChromaVectorBackend(tmp_path)
    ours.upsert(["a"], [[1, 0]])
    plain = Chroma(persist_directory=str(tmp_path))
    assert plain._client.get_collection("acms").count() == 1
    again = ChromaVectorBackend(tmp_path)
    assert again.count() == 1
    ours.close()
    again.close()


FILTERED = [
    ("one", "project://app/src/a.py", "source_file", {"lang": "py"}),
    ("two", "project://app/src/sub/b.py", "test", {"lang": "py"}),
    ("three", "project://app/srcs/c.md", "document", {"lang": "md"}),
    ("four", "project://other/d.md", "document", {"lang": None}),
]


def fill(backend: VectorIndex, far: int = 0) -> None:
    """Four nodes to find, behind `far` others that are nearer to any question."""
    names, uris, kinds, metadatas = map(list, zip(*FILTERED, strict=True))
    vectors = np.concatenate([np.eye(4), np.zeros((4, 1))], axis=1)
    backend.upsert(names, vectors, resource_uris=uris, resource_types=kinds, metadatas=metadatas)
    nearer = np.tile([0.4, 0.3, 0.2, 0.1, 1.0], (far, 1))
    nearer[:, 3] += np.arange(far) / 1000
    backend.upsert([f"x{i}" for i in range(far)], nearer, resource_types=["other"] * far)


@pytest.mark.parametrize("far", [0, 200])
def test_b5_filters_hold_in_any_combination(make: Make, far: int) -> None:
    backend = make()
    fill(backend, far)
    for scope in ([], ["project://app/src"], ["project://other/", "project://app/srcs"], ["no"]):
        for types in ([], ["document"], ["document", "test"], ["nothing"]):
            for wanted in ({}, {"lang": ["py"]}, {"lang": ["md", None]}, {"lang": ["py"], "x": 1}):
                if far and not (scope or types):
                    continue
                hits = backend.similarity_search(
                    [4, 3, 2, 1, 9],
                    top_k=4,
                    scope=scope,
                    resource_types=types,
                    metadata_filter=wanted,
                )
                expected = [
                    name
                    for name, uri, kind, metadata in FILTERED
                    if (not scope or any(f"{uri}/".startswith(f"{p.rstrip('/')}/") for p in scope))
                    and (not types or kind in types)
                    and ("lang" not in wanted or metadata["lang"] in wanted["lang"])
                    and "x" not in wanted
                ]
                assert nodes_of(hits) == expected, (scope, types, wanted)


@pytest.mark.parametrize("far", [0, 200])
def test_b5_a_scope_may_name_a_node(make: Make, far: int) -> None:
    backend = make()
    nodes = ["project://app/a.py#C", "project://app/a.py#D"]
    backend.upsert(
        [*nodes, *range(far)],
        [[1, 0.1], [0.1, 1], *([[1, 0.2]] * far)],
        resource_uris=["project://app/a.py"] * 2 + ["x"] * far,
    )
    for node in nodes:
        hits = backend.similarity_search([1, 0.2], top_k=1, scope=[node])
        assert nodes_of(hits) == [node]


@pytest.mark.parametrize(
    "options",
    [
        {"metadata_filter": {"lang": "md"}},
        {"scope": ["project://app/srcs"]},
        {"resource_types": ["document"], "scope": ["project://app"]},
        {"resource_types": ["document"], "metadata_filter": {"lang": "md"}},
    ],
)
def test_b5_a_filter_is_never_emptied_by_what_is_nearer(
    make: Make, options: dict[str, Any]
) -> None:
    backend = make()
    fill(backend, 700)
    hits = backend.similarity_search([4, 3, 2, 1, 9], top_k=1, **options)
    assert nodes_of(hits) == ["three"]


def test_nodes_with_equal_vectors_are_all_found(make: Make) -> None:
    """An index by a graph of neighbours loses most of them."""
    backend = make()
    few = np.random.default_rng(1).normal(size=(3, 8))
    backend.upsert(
        range(900),
        few[np.arange(900) % 3],
        resource_uris=[f"project://app/{i % 150}/x.py" for i in range(900)],
    )
    assert len(backend.similarity_search(few[0], top_k=900, min_similarity=-1)) == 900
    hits = backend.similarity_search(
        few[0], top_k=10, scope=["project://app/149"], min_similarity=-1
    )
    assert len(hits) == 6
    backend.remove(range(600))
    assert len(backend.similarity_search(few[0], top_k=900, min_similarity=-1)) == 300


def test_a_deleted_collection_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(tmp_path)
    backend = ChromaVectorBackend(client=client, collection="mine")
    backend.upsert(["a"], [[1, 0]])
    client.delete_collection("mine")
    for use in (
        lambda: backend.similarity_search([1, 0]),
        lambda: backend.upsert(["a"], [[1, 0]]),
        lambda: backend.remove(["a"]),
        backend.hashes,
        backend.count,
        backend.reopen,
    ):
        with pytest.raises(StoreError, match=r"'mine'.*deleted: index again"):
            use()


def test_nothing_to_index_is_no_error(pets: ChromaVectorBackend) -> None:
    stamp = pets.stamp
    pets.upsert([], [])
    pets.upsert([], [], hashes=[], contents=[])
    pets.remove([])
    assert pets.stamp == stamp
    pets.remove(["nobody"])
    assert pets.count() == 2


def test_a_blank_texts_zero_vector_is_near_nothing(make: Make) -> None:
    backend = make()
    backend.upsert(["blank", "full"], [[0, 0], [1, 0]])
    assert nodes_of(backend.similarity_search([1, 0], min_similarity=0.1)) == ["full"]
    assert backend.similarity_search([0, 0]) == []


def test_ids_of_any_type_come_back_as_strings(make: Make) -> None:
    key = UUID(int=5)
    backend = make()
    backend.upsert([7, key, "x", "故乡#\x00'\""], np.eye(4))
    assert nodes_of(backend.similarity_search([4, 3, 2, 1])) == ["7", str(key), "x", "故乡#\x00'\""]
    backend.remove([7, key])
    assert backend.count() == 2


def test_half_a_surrogate_pair_spoils_neither_itself_nor_others(make: Make) -> None:
    backend = make()
    backend.upsert(
        ["a", "x\ud83d"],
        [[1, 0], [0, 1]],
        contents=["a", "x\ud83d"],
        metadatas=[{}, {"k\ud83d": "\ud83d"}],
        resource_uris=["a", "u\ud83d"],
        resource_types=["t", "t\ud83d"],
    )
    hit = backend.similarity_search([0, 1])[0]
    assert (hit.uko_node, hit.content) == ("x\ufffd", "x\ufffd")
    assert hit.metadata == {"k\ud83d": "\ud83d"}


@given(st.data())
def test_m7_it_answers_as_memory_does(
    data: st.DataObject,
) -> None:
    numbers = st.floats(-9, 9, width=16)
    size = data.draw(st.integers(1, 40))
    matrix = data.draw(np_st.arrays(np.float32, (size, 3), elements=numbers))
    query = data.draw(np_st.arrays(np.float32, (3,), elements=numbers).filter(np.any))
    top_k = data.draw(st.integers(1, 50))
    chroma, memory = ChromaVectorBackend(client=chromadb.EphemeralClient()), MemoryVectorBackend()
    for backend in (chroma, memory):
        backend.upsert(range(size), matrix)
    theirs, ours = (
        backend.similarity_search(query, top_k=top_k, min_similarity=-1.0)
        for backend in (chroma, memory)
    )
    cosines = dict(enumerate((unit(matrix) @ unit(query)).tolist()))
    assert [cosines[int(hit.uko_node)] for hit in theirs] == pytest.approx(
        [cosines[int(hit.uko_node)] for hit in ours], abs=1e-5
    )
    assert [hit.score for hit in theirs] == pytest.approx([hit.score for hit in ours], abs=1e-3)
    chroma.close()


def test_m7_relevance_stays_that_of_memory_while_nodes_come_and_go(make: Make) -> None:
    rng = np.random.default_rng(5)
    chroma, memory = make(), MemoryVectorBackend()
    matrix = rng.normal(size=(600, 6))
    for backend in (chroma, memory):
        backend.upsert(range(400), matrix[:400])
        backend.upsert(range(400, 600), matrix[400:])
        backend.remove(range(100))
        backend.upsert(range(100, 120), matrix[:20])
    theirs, ours = (backend.similarity_search(matrix[0], top_k=30) for backend in (chroma, memory))
    assert nodes_of(theirs) == nodes_of(ours)
    assert [hit.score for hit in theirs] == pytest.approx([hit.score for hit in ours], abs=1e-4)


def test_texts_come_from_hydrate_and_what_it_has_not_is_no_hit(make: Make) -> None:
    def hydrate(nodes: Any) -> dict[str, SearchHit]:
        return {
            node: SearchHit(uko_node=node, content=f"text {node}", metadata={"n": int(node)})
            for node in nodes
            if int(node) >= 50
        }

    backend = make(hydrate=hydrate)
    angles = np.linspace(0, 1.5, 100)
    backend.upsert(range(100), np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert nodes_of(backend.similarity_search([1, 0], top_k=2)) == ["50", "51"]
    (hit,) = backend.similarity_search([1, 0], metadata_filter={"n": 99})
    assert (hit.uko_node, hit.content) == ("99", "text 99")


def test_b8_chroma_keeps_no_text_where_another_store_does(make: Make, tmp_path: Path) -> None:
    backend = make(hydrate=lambda nodes: {})
    backend.upsert(["a"], [[1, 0]], contents=["a secret"], metadatas=[{"k": "a secret"}])
    with backend._access.table() as table:
        assert "a secret" not in str(table.collection.get())


def test_a_collection_of_others_is_read_with_its_texts_and_metadata() -> None:
    client = chromadb.EphemeralClient()
    name = f"test-{uuid4().hex}"
    store = Chroma(name, embedding_function=DeterministicFakeEmbedding(size=4), client=client)
    store.add_texts(
        ["cats purr", "dogs bark"], metadatas=[{"source": "a/b.md"}, {"n": 1}], ids=["1", "2"]
    )
    backend = ChromaVectorBackend(client=client, collection=name)
    embedding = DeterministicFakeEmbedding(size=4)
    hit = backend.similarity_search(embedding.embed_query("cats purr"))[0]
    assert (hit.uko_node, hit.content, hit.metadata) == ("1", "cats purr", {"source": "a/b.md"})
    scoped = backend.similarity_search(
        embedding.embed_query("dogs bark"), scope=["a"], min_similarity=-1
    )
    assert nodes_of(scoped) == ["1"]
    backend.upsert(["3"], [[9, 9, 9, 9]], resource_uris=["c/d.md"])
    both = backend.similarity_search([1, 1, 1, 1], scope=["a", "c"], min_similarity=-1)
    assert set(nodes_of(both)) == {"1", "3"}
    assert store.get_by_ids(["1"])[0].page_content == "cats purr"
    client.delete_collection(name)


def test_hashes_say_what_the_vectors_were_made_from(make: Make) -> None:
    backend = make()
    backend.upsert(["a", "b"], [[1, 0], [0, 1]], hashes=["h1", "h2"])
    backend.upsert(["b"], [[0, 1]], hashes=["h3"])
    assert make().hashes() == {"a": "h1", "b": "h3"}


def test_every_write_changes_the_stamp_that_all_see(make: Make) -> None:
    first, second = make(), make()
    stamps = [first.stamp]
    second.upsert(["a"], [[1, 0]])
    stamps.append(first.stamp)
    second.remove(["a"])
    stamps.append(first.stamp)
    assert len(set(stamps)) == 3
    assert second.stamp == make().stamp == stamps[-1]


def test_b8_what_another_backend_wrote_is_found_and_never_lost(make: Make) -> None:
    """Two engines on one folder, written in turns, would drop each other's vectors for good."""
    rng = np.random.default_rng(7)
    matrix = rng.normal(size=(4500, 8)).astype(np.float32)
    one, two = make(), make()
    for start in range(0, 4500, 1500):
        one.upsert(range(start, start + 750), matrix[start : start + 750])
        two.upsert(range(start + 750, start + 1500), matrix[start + 750 : start + 1500])
    for backend in (one, two, make()):
        assert backend.count() == 4500
        for node in range(0, 4500, 250):
            assert nodes_of(backend.similarity_search(matrix[node], top_k=1)) == [str(node)]


WRITER = """
import sys
from acms_adapters.backends.chroma import ChromaVectorBackend
backend = ChromaVectorBackend(sys.argv[1])
backend.upsert(["theirs"], [[0.0, 1.0]])
backend.close()
"""


def test_b8_what_another_process_wrote_is_found(tmp_path: Path) -> None:
    """B8.stale."""
    backend = ChromaVectorBackend(tmp_path)
    backend.upsert(["ours"], [[1.0, 0.0]])
    subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        check=True,
    )
    assert nodes_of(backend.similarity_search([0, 1], min_similarity=0.5)) == ["theirs"]
    backend.upsert(["ours too"], [[0.5, 0.5]])
    backend.reopen()
    assert backend.count() == 3
    assert nodes_of(backend.similarity_search([0, 1], min_similarity=0.9)) == ["theirs"]
    backend.close()


BUSY_WRITER = """
import sys
import numpy as np
from acms_adapters.backends.chroma import ChromaVectorBackend
seed = int(sys.argv[2])
matrix = np.random.default_rng(seed).normal(size=(1500, 8))
backend = ChromaVectorBackend(sys.argv[1])
for start in range(0, 1500, 500):
    backend.upsert([f"{seed}-{i}" for i in range(start, start + 500)], matrix[start : start + 500])
    backend.remove([f"{seed}-{i}" for i in range(start, start + 100)])
"""


def test_b8_processes_that_write_at_once_take_turns_while_others_read(tmp_path: Path) -> None:
    """Engines that write at once, or open while another writes, ruin the files for each other."""
    backend = ChromaVectorBackend(tmp_path)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", BUSY_WRITER, str(tmp_path), seed],
            env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        )
        for seed in ("1", "2")
    ]
    while any(writer.poll() is None for writer in writers):
        backend.similarity_search(np.ones(8), min_similarity=-1)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert backend.count() == 2400
    for seed in (1, 2):
        matrix = np.random.default_rng(seed).normal(size=(1500, 8))
        for i in range(0, 1500, 50):
            found = nodes_of(backend.similarity_search(matrix[i], top_k=1))
            assert (found == [f"{seed}-{i}"]) == (i % 500 >= 100)
    backend.close()


def test_a_reader_does_not_wait_for_a_writer_and_a_writer_says_for_whom(tmp_path: Path) -> None:
    reader, writer = ChromaVectorBackend(tmp_path), ChromaVectorBackend(tmp_path)
    writer.upsert(["a", "b"], [[1, 0], [0, 1]])
    assert reader.count() == 2
    reader._access._guard.patience = 0.0
    with writer._access.writing() as table:
        writer._access.note(table)
        assert nodes_of(reader.similarity_search([1, 0])) == ["a", "b"]
        with pytest.raises(StoreLockedError, match="another process"):
            reader.upsert(["c"], [[1, 1]])
    reader.upsert(["c"], [[1, 1]])
    assert writer.count() == 3
    reader.close()
    writer.close()


def test_eight_threads_get_the_same_answers_while_it_is_reopened(make: Make) -> None:
    backend = make()
    matrix = np.random.default_rng(2).normal(size=(300, 8))
    backend.upsert(range(300), matrix)
    together = threading.Barrier(9)

    def ask(number: int) -> list[list[str]]:
        together.wait(timeout=60)
        return [nodes_of(backend.similarity_search(matrix[i], top_k=5)) for i in range(10)]

    with ThreadPoolExecutor(9) as pool:
        answers = [pool.submit(ask, number) for number in range(8)]
        together.wait(timeout=60)
        for _ in range(3):
            backend.reopen()
        found = [answer.result(timeout=60) for answer in answers]
    assert all(answer == found[0] for answer in found)


def test_no_server_is_an_error_that_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(BackendError, match=rf"127\.0\.0\.1:{port}.*'chroma run'"):
        ChromaVectorBackend(host="127.0.0.1", port=port)


def test_a_server_that_goes_down_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    running = Server(tmp_path)
    backend = ChromaVectorBackend(host="127.0.0.1", port=running.port)
    backend.upsert(["a"], [[1, 0]])
    running.stop()
    for use in (lambda: backend.similarity_search([1, 0]), backend.count):
        with pytest.raises(BackendError, match="'chroma run'"):
            use()
    backend.close()


def test_a_folder_that_cannot_be_used_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="file"):
        ChromaVectorBackend(tmp_path / "file")
    with pytest.raises(StoreError, match="inside"):
        ChromaVectorBackend(tmp_path / "file" / "inside")


def test_a_closed_backend_says_so_and_may_be_closed_again(make: Make) -> None:
    backend = make()
    backend.close()
    backend.close()
    with pytest.raises(BackendError, match="was closed"):
        backend.count()
    again = make()
    again.upsert(["a"], [[1, 0]])
    assert again.count() == 1


def test_a_private_folder_goes_with_its_backend() -> None:
    backend = ChromaVectorBackend()
    folder = backend._access.place.folder
    assert folder is not None
    assert folder.is_dir()
    backend.close()
    del backend
    assert not folder.exists()


def test_only_one_place_may_be_given(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="one of path, host, client"):
        ChromaVectorBackend(tmp_path, host="127.0.0.1")


def test_without_chroma_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(MissingExtraError, match=r"acms-adapters\[chroma\]"):
        ChromaVectorBackend(tmp_path)
