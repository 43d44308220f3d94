"""Many equal vectors in a collection: what lies beside them is found as well (M7, B5)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromadb.api.models.Collection import Collection

from acms_adapters.backends.chroma import ChromaVectorBackend, crowds
from acms_adapters.backends.vectors import MemoryVectorBackend, scan
from acms_adapters.backends.vectors.records import unit
from acms_adapters.backends.vectors.scan import Scan, has_equals

OTHERS, EQUAL = 2_000, 400
RANDOM = np.random.default_rng(7)
VECTORS = np.concatenate(
    [RANDOM.normal(size=(OTHERS, 48)), np.repeat(RANDOM.normal(size=(1, 48)), EQUAL, axis=0)]
).astype(np.float32)
NODES = [f"project://app/{number % 10}/{number:04d}" for number in range(len(VECTORS))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written in a random order, as files come."""
    path = tmp_path_factory.mktemp("crowd")
    backend = ChromaVectorBackend(path)
    order = RANDOM.permutation(len(NODES))
    for part in np.array_split(order, 6):
        backend.upsert(
            [NODES[row] for row in part], VECTORS[part], contents=[f"text {row}" for row in part]
        )
    backend.close()
    return path


def lost(backend: ChromaVectorBackend, *, step: int = 1) -> list[str]:
    """Nodes that their own vector does not find: of all or some others, and of all equal ones."""
    missing = []
    for row in range(0, OTHERS, step):
        node = NODES[row]
        (hit,) = backend.similarity_search(VECTORS[row].tolist(), top_k=1)
        if (hit.uko_node, hit.content) != (node, f"text {int(node[-4:])}"):
            missing.append(node)
    found = backend.similarity_search(VECTORS[-1].tolist(), top_k=EQUAL)
    return [*missing, *sorted(set(NODES[OTHERS:]).difference(hit.uko_node for hit in found))]


def test_every_vector_beside_many_equal_ones_is_found_by_itself(folder: Path) -> None:
    backend = ChromaVectorBackend(folder)
    assert lost(backend) == []
    backend.close()


def test_without_comparing_all_the_graph_loses_some(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once Chroma loses none, comparing can go."""
    monkeypatch.setattr(crowds, "SMALL", OTHERS)
    monkeypatch.setattr(crowds, "TIED", 2 * EQUAL)
    backend = ChromaVectorBackend(folder)
    assert lost(backend, step=4)
    backend.close()


def test_at_any_size_an_answer_that_is_tied_tells_of_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a collection of which a sample would tell too little."""
    monkeypatch.setattr(crowds, "SMALL", OTHERS)
    monkeypatch.setattr(scan, "_MOST_BYTES", 0)  # and too large for memory
    backend = ChromaVectorBackend(folder)
    near = unit((VECTORS[-1] + 0.1 * VECTORS[0]).astype(np.float32))
    wanted = np.argsort(-(unit(VECTORS) @ near), kind="stable")[EQUAL]
    hits = backend.similarity_search(near.tolist(), top_k=EQUAL + 1)
    assert {hit.uko_node for hit in hits} == {*NODES[OTHERS:], NODES[wanted]}
    assert lost(backend) == []
    backend.close()


@pytest.mark.slow
def test_among_more_than_ten_thousand_they_are_found_and_what_lies_beside_them(
    tmp_path: Path,
) -> None:
    backend, others = ChromaVectorBackend(tmp_path), 12_000
    vectors = RANDOM.normal(size=(others + EQUAL, 48)).astype(np.float32)
    vectors[others:] = vectors[others]
    nodes = [f"n{number:05d}" for number in range(len(vectors))]
    for part in np.array_split(RANDOM.permutation(len(nodes)), 12):
        backend.upsert([nodes[row] for row in part], vectors[part])
    hits = backend.similarity_search(vectors[-1].tolist(), top_k=EQUAL)
    assert {hit.uko_node for hit in hits} == set(nodes[others:])
    missing = [
        nodes[row]
        for row in range(0, others, 25)
        if backend.similarity_search(vectors[row].tolist(), top_k=1)[0].uko_node != nodes[row]
    ]
    assert missing == []
    backend.close()


def test_b5_it_answers_as_the_vectors_in_memory_do_in_a_scope(folder: Path) -> None:
    memory, backend = MemoryVectorBackend(), ChromaVectorBackend(folder)
    memory.upsert(NODES, VECTORS)
    for row in (0, 7, OTHERS):
        for scope in (None, ["project://app/3"], ["project://app/nowhere"]):
            asked: dict[str, Any] = {"top_k": 30, "scope": scope, "min_similarity": -1.0}
            answers = [
                [(hit.uko_node, round(hit.score, 6)) for hit in each.similarity_search(q, **asked)]
                for q in [VECTORS[row].tolist()]
                for each in (memory, backend)
            ]
            assert answers[0] == answers[1]
    backend.close()


def test_what_is_written_after_a_question_is_found_at_once(tmp_path: Path) -> None:
    reader, writer = ChromaVectorBackend(tmp_path), ChromaVectorBackend(tmp_path)
    equal = [[1.0, 0.0, 0.0]] * 20
    writer.upsert([f"e{number}" for number in range(20)], equal)
    assert len(reader.similarity_search([1, 0, 0], top_k=50)) == 20
    for backend in (writer, reader):
        backend.upsert(["new"], [[0, 1, 0]])
        for each in (reader, writer):
            assert each.similarity_search([0, 1, 0], top_k=1)[0].uko_node == "new"
        backend.upsert(["new"], [[0, 0, 1]])
        for each in (reader, writer):
            assert each.similarity_search([0, 0, 1], top_k=1)[0].uko_node == "new"
        backend.remove(["new"])
        for each in (reader, writer):
            assert "new" not in {h.uko_node for h in each.similarity_search([0, 0, 1], top_k=50)}
    for each in (reader, writer):
        each.close()


def test_where_no_two_are_equal_vectors_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = ChromaVectorBackend(tmp_path)
    backend.upsert(NODES[:900], VECTORS[:900])
    read: list[int] = []
    get = Collection.get

    def watched(self: Collection, *args: Any, **options: Any) -> Any:
        page = get(self, *args, **options)
        if "embeddings" in options.get("include", ()):
            read.append(len(page["ids"]))
        return page

    monkeypatch.setattr(Collection, "get", watched)
    for row in range(20):
        backend.similarity_search(VECTORS[row].tolist(), top_k=5)
    assert sum(read) <= 2 * 256, "more than the sample was read"
    backend.close()


def test_rows_are_equal_if_float32_cannot_tell_them_apart() -> None:
    apart = unit(RANDOM.normal(size=(256, 256)).astype(np.float32))
    assert not has_equals(apart)
    noise = RANDOM.normal(size=256) * 1e-8
    assert has_equals(np.concatenate([apart, unit((apart[:1] + noise).astype(np.float32))]))
    assert not has_equals(np.zeros((0, 0), dtype=np.float32))
    assert not has_equals(np.zeros((3, 4), dtype=np.float32))


@pytest.mark.parametrize("most_bytes", [0, 2**25])
def test_a_scan_of_pages_is_that_of_all_at_once(
    monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    monkeypatch.setattr(scan, "_MOST_BYTES", most_bytes)
    rows = unit(VECTORS[:50])
    pages = [
        (NODES[start : start + 7], rows[start : start + 7]) for start in (42, *range(0, 42, 7))
    ]
    paged = Scan.of_pages(NODES[:49], iter(pages), size=48)
    whole = Scan.of(dict(zip(NODES[:49], rows, strict=False)))
    assert paged.nodes == whole.nodes
    assert np.allclose(paged.matrix, whole.matrix, atol=1e-6)
    assert paged.nearest(rows[3], 5) == whole.nearest(rows[3], 5)
    assert isinstance(paged.matrix, np.memmap) == (not most_bytes)


def test_where_no_file_can_be_made_a_scan_is_held_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(scan, "_MOST_BYTES", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    found = Scan.of_pages(["a"], [(["a"], np.ones((1, 1), dtype=np.float32))], size=1)
    assert found.nearest(np.ones(1, dtype=np.float32), 1) == [("a", 1.0)]
    assert "in memory" in caplog.text


def test_a_scan_chooses_among_some_and_breaks_ties_by_node() -> None:
    rows = np.asarray([[0, 2], [0, 1], [3, 0]], dtype=np.float32)
    found = Scan.of(dict(zip("bac", rows, strict=True)))
    query = np.asarray([0, 1], dtype=np.float32)
    assert found.nearest(query, 9) == [("a", 1.0), ("b", 1.0), ("c", 0.0)]
    assert found.nearest(query, 1, among=["nobody", "c", "b"]) == [("b", 1.0)]
    assert found.nearest(query, 5, among=[]) == []
