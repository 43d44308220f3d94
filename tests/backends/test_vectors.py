"""Vectors in memory, and the parts that every vector index shares."""

import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st

from acms_adapters.backends.vectors import MemoryVectorBackend, VectorIndex
from acms_adapters.backends.vectors.calibration import SAMPLE_SIZE, choose_sample, relevance
from acms_adapters.backends.vectors.records import cosines_of, unit
from acms_adapters.errors import BackendError, EmbedderMismatchError, RequestError
from acms_adapters.models import FragmentProvenance, SearchHit
from acms_adapters.models.scores import to_evidence
from acms_adapters.protocols import VectorBackend

NODES = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=30, unique=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def matrices(rows: int) -> st.SearchStrategy[np.ndarray]:
    numbers = st.floats(-100, 100, width=32).filter(lambda x: x == 0 or abs(x) > 1e-3)
    return np_st.arrays(np.float32, (rows, 4), elements=numbers)


def nodes_of(hits: list[SearchHit]) -> list[str]:
    return [hit.uko_node for hit in hits]


@pytest.fixture
def pets() -> MemoryVectorBackend:
    backend = MemoryVectorBackend(embedder_name="pets-3")
    backend.upsert(["cat", "dog"], [[1, 0, 0], [0, 1, 0]], contents=["a cat", "a dog"])
    return backend


def test_it_is_a_vector_backend_that_can_be_filled(pets: MemoryVectorBackend) -> None:
    assert isinstance(pets, VectorBackend)
    assert isinstance(pets, VectorIndex)


@given(st.data())
def test_the_order_is_that_of_cosines(data: st.DataObject) -> None:
    nodes = data.draw(NODES)
    matrix = data.draw(matrices(len(nodes)))
    query = data.draw(matrices(1))[0]
    backend = MemoryVectorBackend()
    backend.upsert(nodes, matrix)
    hits = backend.similarity_search(query, top_k=len(nodes), min_similarity=-1.0)
    if not query.any():
        assert hits == []
        return
    cosines = dict(zip(nodes, (unit(matrix) @ unit(query)).tolist(), strict=True))
    found = [cosines[node] for node in nodes_of(hits)]
    assert sorted(nodes_of(hits)) == sorted(nodes)
    assert all(a >= b - 1e-5 for a, b in pairwise(found))
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)


@given(st.dictionaries(st.text(max_size=6), JSON, max_size=5))
def test_b4_metadata_comes_back_equal(metadata: dict[str, Any]) -> None:
    backend = MemoryVectorBackend()
    backend.upsert(["a"], [[1.0]], metadatas=[metadata])
    (hit,) = backend.similarity_search([1.0])
    assert json.dumps(hit.metadata) == json.dumps(metadata)


def test_b4_what_json_has_no_word_for_comes_back_readable() -> None:
    when = datetime(2024, 5, 1, tzinfo=UTC)
    metadata = {
        "t": (1, 2),
        "s": {"b", "a"},
        "n": np.float32(0.5),
        "d": when,
        "u": UUID(int=7),
        "p": PurePosixPath("a/b"),
        7: {(1, 2): None},
    }
    backend = MemoryVectorBackend()
    backend.upsert(["a"], [[1.0]], metadatas=[metadata])
    (hit,) = backend.similarity_search([1.0])
    assert hit.metadata == {
        "t": [1, 2],
        "s": ["a", "b"],
        "n": 0.5,
        "d": "2024-05-01T00:00:00Z",
        "u": str(UUID(int=7)),
        "p": "a/b",
        "7": {"(1, 2)": None},
    }


def test_metadata_that_contains_itself_is_refused_by_name() -> None:
    metadata: dict[str, Any] = {}
    metadata["me"] = metadata
    with pytest.raises(RequestError, match="metadata of 'a'"):
        MemoryVectorBackend().upsert(["a"], [[1.0]], metadatas=[metadata])


def test_what_a_caller_does_to_metadata_changes_nothing_inside() -> None:
    given_in = {"tags": ["x"]}
    backend = MemoryVectorBackend()
    backend.upsert(["a"], [[1.0]], metadatas=[given_in])
    given_in["tags"].append("y")
    backend.similarity_search([1.0])[0].metadata["tags"].append("z")
    assert backend.similarity_search([1.0])[0].metadata == {"tags": ["x"]}


def test_b3_writing_again_replaces_content_and_metadata_whole(pets: MemoryVectorBackend) -> None:
    pets.upsert(["cat"], [[1, 0, 0]], contents=["one"], metadatas=[{"a": 1}], hashes=["h1"])
    pets.upsert(["cat"], [[0, 0, 1]], metadatas=[{"b": 2}])
    (hit,) = pets.similarity_search([0, 0, 1], min_similarity=0.5)
    assert (hit.uko_node, hit.content, hit.metadata) == ("cat", None, {"b": 2})
    assert pets.hashes()["cat"] == ""
    assert pets.count() == 2


def test_b3_of_equal_ids_in_one_call_the_last_counts() -> None:
    backend = MemoryVectorBackend()
    backend.upsert(["a", "b", "a"], [[1, 0], [0, 1], [0, 1]], contents=["old", "b", "new"])
    hits = backend.similarity_search([0, 1], top_k=4)
    assert [(hit.uko_node, hit.content) for hit in hits] == [("a", "new"), ("b", "b")]


def test_ids_of_any_type_are_strings() -> None:
    key = UUID(int=5)
    backend = MemoryVectorBackend()
    backend.upsert([7, key, "x"], [[1, 0], [0.5, 0.5], [0, 1]])
    assert set(nodes_of(backend.similarity_search([1, 1]))) == {"7", str(key), "x"}
    backend.remove([7, key])
    assert list(backend.hashes()) == ["x"]


@pytest.mark.parametrize("node", [None, ""])
def test_an_id_that_is_none_or_empty_is_refused(node: Any) -> None:
    with pytest.raises(RequestError, match="non-empty string"):
        MemoryVectorBackend().upsert([node], [[1.0]])


def test_six_thousand_in_one_call_are_all_there() -> None:
    backend = MemoryVectorBackend()
    backend.upsert(range(6000), np.eye(8)[np.arange(6000) % 8])
    assert backend.count() == 6000
    assert len(backend.similarity_search(np.ones(8), top_k=10_000)) == 6000


@pytest.mark.parametrize(("size", "top_k", "number"), [(0, 10, 0), (1, 10, 1), (3, 10, 3)])
def test_there_are_never_more_hits_than_nodes(size: int, top_k: int, number: int) -> None:
    backend = MemoryVectorBackend()
    backend.upsert(range(size), [[1.0, 0.0]] * size)
    assert len(backend.similarity_search([1.0, 0.0], top_k=top_k)) == number
    assert backend.similarity_search([1.0, 0.0], top_k=0) == []


def test_nothing_to_write_or_remove_is_no_error(pets: MemoryVectorBackend) -> None:
    before = pets.stamp
    pets.upsert([], [])
    assert pets.stamp == before
    pets.remove([])
    pets.remove(["nobody"])
    assert pets.count() == 2


def test_the_nearer_one_is_first_and_alone_above_the_threshold(pets: MemoryVectorBackend) -> None:
    assert nodes_of(pets.similarity_search([1, 0, 0])) == ["cat", "dog"]
    assert pets.similarity_search([1, 0, 0])[0].score > pets.similarity_search([1, 0, 0])[1].score
    assert nodes_of(pets.similarity_search([1, 0, 0], min_similarity=0.5)) == ["cat"]


def test_the_threshold_is_raw_cosine_and_inclusive() -> None:
    backend = MemoryVectorBackend()
    backend.upsert(["same", "half", "none", "opposite"], [[1, 0], [1, 3**0.5], [0, 1], [-1, 0]])
    for bound, number in [(1.0, 1), (0.5, 2), (0.0, 3), (-1.0, 4)]:
        assert len(backend.similarity_search([3, 0], min_similarity=bound)) == number


def test_a_zero_vector_is_near_nothing() -> None:
    backend = MemoryVectorBackend()
    backend.upsert(["blank", "full"], [[0, 0], [1, 0]])
    assert backend.similarity_search([0, 0]) == []
    assert nodes_of(backend.similarity_search([1, 0], min_similarity=0.1)) == ["full"]


def test_what_is_equally_near_goes_by_node() -> None:
    backend = MemoryVectorBackend()
    backend.upsert(["c", "a", "b"], [[2, 1, 5]] * 3)
    assert nodes_of(backend.similarity_search([2, 1, 5], top_k=2)) == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"top_k": -1}, "top_k"),
        ({"min_similarity": math.nan}, "min_similarity"),
        ({"min_similarity": 1.5}, "min_similarity"),
        ({"scope": "project://a"}, "scope must be a list"),
        ({"resource_types": "document"}, "resource_types must be a list"),
    ],
)
def test_an_option_out_of_its_range_is_refused_by_name(
    pets: MemoryVectorBackend, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(RequestError, match=told):
        pets.similarity_search([1, 0, 0], **options)


@pytest.mark.parametrize("query", [[], [math.nan, 0, 0], [math.inf, 0, 0], [[1, 0, 0]], ["a"], "a"])
def test_a_question_that_is_no_vector_is_refused(pets: MemoryVectorBackend, query: Any) -> None:
    with pytest.raises(RequestError, match="question's vector"):
        pets.similarity_search(query)


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        ([[1.0, 0.0]], "2 ids need as many vectors, not 1"),
        ([[1.0, math.nan], [1.0, 0.0]], "vector of 'a'"),
        ([[1.0, 0.0], [1.0, math.inf]], "vector of 'b'"),
        ([[], []], "vector of 'a'"),
        ([["x"], ["y"]], "must hold numbers"),
        ([1.0, 2.0], "rows of numbers"),
        (None, "rows of numbers"),
    ],
)
def test_rows_that_are_no_vectors_are_refused(vectors: Any, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        MemoryVectorBackend().upsert(["a", "b"], vectors)


@pytest.mark.parametrize("name", ["hashes", "resource_uris", "resource_types", "contents"])
def test_a_column_of_another_length_is_refused_by_name(name: str) -> None:
    with pytest.raises(RequestError, match=name):
        MemoryVectorBackend().upsert(["a", "b"], [[1.0], [1.0]], **{name: ["x"]})


def test_b7_vectors_of_another_size_are_refused_with_both_sizes(pets: MemoryVectorBackend) -> None:
    """B7.sizes."""
    with pytest.raises(EmbedderMismatchError, match=r"\b2\b.*'pets-3'.*\b3\b"):
        pets.similarity_search([1, 0])
    with pytest.raises(EmbedderMismatchError, match=r"\b2\b.*'pets-3'.*\b3\b"):
        pets.upsert(["fish"], [[1, 0]])
    with pytest.raises(EmbedderMismatchError, match=r"\b2\b.*\b3\b"):
        pets.upsert(["fish", "bird"], [[1, 0], [1, 0, 0]])
    assert pets.count() == 2


def test_an_emptied_index_takes_vectors_of_another_size(pets: MemoryVectorBackend) -> None:
    pets.remove(["cat", "dog"])
    assert pets.dimensions is None
    pets.upsert(["fish"], [[1, 0]])
    assert pets.dimensions == 2


def test_every_write_changes_the_stamp(pets: MemoryVectorBackend) -> None:
    stamps = [pets.stamp]
    pets.upsert(["fish"], [[0, 0, 1]])
    stamps.append(pets.stamp)
    pets.remove(["fish"])
    stamps.append(pets.stamp)
    pets.reopen()
    assert len(set(stamps)) == 3
    assert pets.stamp == stamps[-1]


def test_a_lone_surrogate_is_repaired_and_the_others_stay() -> None:
    backend = MemoryVectorBackend()
    backend.upsert(
        ["a", "x\ud83d"],
        [[1, 0], [0, 1]],
        contents=["a", "x\ud83d"],
        metadatas=[{}, {"k": "\ud83d"}],
    )
    hits = backend.similarity_search([0, 1])
    assert [(hit.uko_node, hit.content) for hit in hits] == [("x\ufffd", "x\ufffd"), ("a", "a")]
    assert hits[0].metadata == {"k": "\ud83d"}


SCOPED = [
    ("one", "project://app/src/a.py", "source_file", {"lang": "py", "n": 1}),
    ("two", "project://app/src/sub/b.py", "source_file", {"lang": "py", "n": 2}),
    ("three", "project://app/srcs/c.md", "document", {"lang": "md", "n": 1}),
    ("four", "project://other/d.md", "document", {"lang": "md", "n": None}),
]


@pytest.mark.parametrize("scope", [None, [], ["project://app/src"], ["project://other/"], ["no"]])
@pytest.mark.parametrize("types", [None, [], ["document"], ["document", "source_file"], ["x"]])
@pytest.mark.parametrize("wanted", [None, {}, {"lang": "md"}, {"lang": ["md", "py"], "n": 1}])
def test_b5_filters_hold_in_any_combination(scope: Any, types: Any, wanted: Any) -> None:
    backend = MemoryVectorBackend()
    names, uris, kinds, metadatas = map(list, zip(*SCOPED, strict=True))
    backend.upsert(names, np.eye(4), resource_uris=uris, resource_types=kinds, metadatas=metadatas)
    hits = backend.similarity_search(
        [4, 3, 2, 1], scope=scope, resource_types=types, metadata_filter=wanted
    )
    langs = {"md", "py"} if wanted and "n" in wanted else {"md"} if wanted else {"md", "py"}
    expected = [
        name
        for name, uri, kind, metadata in SCOPED
        if (not scope or any((uri + "/").startswith(prefix.rstrip("/") + "/") for prefix in scope))
        and (not types or kind in types)
        and metadata["lang"] in langs
        and (not wanted or "n" not in wanted or metadata["n"] == 1)
    ]
    assert nodes_of(hits) == expected


def test_b5_a_scope_may_name_a_node() -> None:
    backend = MemoryVectorBackend()
    nodes = ["project://app/a.py#C", "project://app/a.py#D", "other"]
    uris = ["project://app/a.py", "project://app/a.py", "project://app/a.py#C/x"]
    backend.upsert(nodes, np.eye(3), resource_uris=uris)
    hits = backend.similarity_search([3, 2, 1], scope=["project://app/a.py#C"])
    assert nodes_of(hits) == ["project://app/a.py#C", "other"]


def test_b5_a_filter_is_never_emptied_by_what_is_nearer() -> None:
    backend = MemoryVectorBackend()
    angles = np.linspace(0, 1.5, 500)
    backend.upsert(
        [f"n{i}" for i in range(500)],
        np.stack([np.cos(angles), np.sin(angles)], axis=1),
        resource_uris=["project://a/x"] * 499 + ["project://b/x"],
        metadatas=[{"last": i == 499} for i in range(500)],
    )
    for options in ({"scope": ["project://b"]}, {"metadata_filter": {"last": True}}):
        assert nodes_of(backend.similarity_search([1, 0], top_k=1, **options)) == ["n499"]


def test_texts_come_from_hydrate_and_what_it_has_not_is_no_hit() -> None:
    asked: list[str] = []

    def hydrate(nodes: Any) -> dict[str, SearchHit]:
        asked.extend(nodes)
        return {
            node: SearchHit(
                uko_node=node,
                content=f"text of {node}",
                metadata={"n": node},
                provenance=FragmentProvenance(resource_uri="project://x", location="lines 1-2"),
                tier="hot",
            )
            for node in nodes
            if node != "gone"
        }

    backend = MemoryVectorBackend(hydrate=hydrate)
    backend.upsert(
        ["gone", "a", "b"], [[1, 0], [1, 0.1], [0, 1]], resource_uris=["project://x"] * 3
    )
    hits = backend.similarity_search([1, 0], top_k=1)
    assert [(hit.uko_node, hit.content, hit.tier) for hit in hits] == [("a", "text of a", "hot")]
    assert hits[0].provenance.location == "lines 1-2"
    assert nodes_of(backend.similarity_search([1, 0], metadata_filter={"n": "b"})) == ["b"]
    assert set(asked) <= {"gone", "a", "b"}


def test_m7_relevance_is_the_distance_from_the_mean_in_deviations() -> None:
    """M7.index."""
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(200, 8))
    backend = MemoryVectorBackend()
    backend.upsert(range(200), matrix)
    query = rng.normal(size=8)
    cosines = unit(matrix.astype(np.float32)) @ unit(query.astype(np.float32))
    (hit,) = backend.similarity_search(query, top_k=1)
    expected = (cosines.max() - cosines.mean()) / cosines.std()
    assert to_evidence(hit.score) == pytest.approx(expected, abs=1e-3)


def test_m7_a_nodes_relevance_does_not_depend_on_how_many_are_asked_for() -> None:
    backend = MemoryVectorBackend()
    backend.upsert(range(50), np.random.default_rng(4).normal(size=(50, 6)))
    few = backend.similarity_search(np.ones(6), top_k=3, min_similarity=-1)
    many = backend.similarity_search(np.ones(6), top_k=50, min_similarity=-1)
    assert [hit.score for hit in few] == [hit.score for hit in many[:3]]


def test_m7_a_handful_of_nodes_keep_their_cosines() -> None:
    sample = np.eye(3, dtype=np.float32)
    assert relevance([0.9, 0.2, 0.0], sample[0], sample=sample) == [0.9, 0.2, 0.0]
    below = relevance([0.9, -0.5], sample[0], sample=sample)
    assert 1.0 >= below[0] > below[1] >= 0.0


def test_m7_equal_vectors_are_equally_relevant() -> None:
    backend = MemoryVectorBackend()
    backend.upsert(range(300), [[0.3, 0.4, 0.1]] * 300)
    assert len({hit.score for hit in backend.similarity_search([1, 0, 0], top_k=300)}) == 1


@given(st.lists(st.text(max_size=5), max_size=40, unique=True), st.randoms())
def test_the_sample_is_the_same_whatever_the_order(nodes: list[str], random: Any) -> None:
    shuffled = list(nodes)
    random.shuffle(shuffled)
    assert choose_sample(nodes) == choose_sample(shuffled)
    assert sorted(choose_sample(nodes)) == sorted(nodes)


def test_the_sample_is_bounded_and_grows_from_its_own_parts() -> None:
    nodes = [f"project://app/{i}.py" for i in range(1000)]
    chosen = choose_sample(nodes)
    assert len(chosen) == SAMPLE_SIZE
    assert set(choose_sample({*choose_sample(nodes[:700]), *nodes[700:]})) == set(chosen)


def test_readers_see_one_state_while_somebody_writes() -> None:
    backend = MemoryVectorBackend()
    backend.upsert(range(100), [[1.0, 0.0]] * 100, contents=["0"] * 100)
    together = threading.Barrier(5)

    def write() -> None:
        together.wait(timeout=60)
        for version in range(1, 30):
            backend.upsert(range(100), [[1.0, 0.0]] * 100, contents=[str(version)] * 100)

    def read() -> list[set[str | None]]:
        together.wait(timeout=60)
        return [
            {hit.content for hit in backend.similarity_search([1.0, 0.0], top_k=100)}
            for _ in range(30)
        ]

    with ThreadPoolExecutor(5) as pool:
        reads = [pool.submit(read) for _ in range(4)]
        pool.submit(write).result(timeout=60)
        assert all(len(state) == 1 for read in reads for state in read.result(timeout=60))


def test_closing_forgets_everything_and_may_be_repeated(pets: MemoryVectorBackend) -> None:
    pets.close()
    pets.close()
    assert pets.count() == 0


def test_what_was_closed_says_so_and_does_not_look_empty_s9(pets: MemoryVectorBackend) -> None:
    pets.close()
    for ask in (
        lambda: pets.similarity_search([1.0, 0.0]),
        lambda: pets.rate([1.0, 0.0], ["cat"]),
        lambda: pets.upsert(["new"], [[1.0, 0.0]]),
    ):
        with pytest.raises(BackendError, match="closed"):
            ask()


@pytest.mark.parametrize(("count", "size"), [(0, 4), (3, 4), (37, 256), (500, 256), (20, 5_000)])
def test_rows_are_multiplied_in_blocks_as_in_one_piece(count: int, size: int) -> None:
    chance = np.random.default_rng(count)
    rows = chance.standard_normal((count, size)).astype(np.float32)
    query = chance.standard_normal(size).astype(np.float32)
    found = cosines_of(rows, query)
    assert (found.dtype, found.shape) == (np.float32, (count,))
    assert np.allclose(found, rows.astype(np.float64) @ query, rtol=1e-3, atol=1e-3)
