"""What a vector backend must do (rulings B1, B3 to B5, B7, M7)."""

from __future__ import annotations

import asyncio
import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import pytest

from acms_adapters.models import SearchHit
from acms_adapters.protocols import VectorBackend
from acms_adapters.testing.filters import FilteredSearch
from acms_adapters.testing.suite import document, in_threads, needs, nodes_of

Rows = Sequence[Sequence[float]]


class VectorBackendCompliance(FilteredSearch):
    """Subclass it and say how a backend is made of documents and their vectors.

    Capabilities: those of every filtered search; ``content`` (hits carry the text), ``threshold``
    (`min_similarity` is raw cosine), ``exact`` (finds every node however many are alike),
    ``replace`` (ruling B3).
    """

    capabilities: ClassVar[frozenset[str]] = FilteredSearch.capabilities | {
        "content",
        "threshold",
        "exact",
        "replace",
    }

    @abstractmethod
    def make_backend(self, documents: Sequence[SearchHit], vectors: Rows) -> VectorBackend:
        """A backend that holds exactly these documents; of equal nodes the last."""

    def finder(self, documents: Sequence[SearchHit]) -> Callable[..., Sequence[SearchHit]]:
        """Ask for what lies near the vectors of all documents."""
        vectors = [[1.0, index / 100.0] for index in range(len(documents))]
        backend = self.make_backend(documents, vectors)
        return lambda **filters: backend.similarity_search([1.0, 0.0], top_k=100, **filters)

    def _make(self, *vectors: Sequence[float]) -> VectorBackend:
        documents = [document(f"n{i}", f"text {i}") for i in range(len(vectors))]
        return self.make_backend(documents, vectors)

    def test_b1_it_is_a_vector_backend(self) -> None:
        assert isinstance(self._make([1.0, 0.0]), VectorBackend)

    def test_m7_the_nearest_is_first_and_the_most_relevant(self) -> None:
        hits = self._make([0.0, 1.0], [0.7, 0.7], [3.0, 0.0]).similarity_search([1.0, 0.0])
        assert nodes_of(hits) == ["n2", "n1", "n0"]
        assert hits[0].score > hits[1].score > hits[2].score

    def test_m7_length_does_not_matter(self) -> None:
        backend = self._make([0.1, 0.0], [50.0, 50.0])
        assert nodes_of(backend.similarity_search([9.0, 0.0])) == ["n0", "n1"]

    @pytest.mark.parametrize("size", [1, 5, 12, 40])
    def test_m7_scores_lie_between_0_and_1_best_first(self, size: int) -> None:
        angles = [3.0 * i / size for i in range(size)]
        backend = self._make(*[[math.cos(a), math.sin(a)] for a in angles])
        bound = -1.0 if "threshold" in self.capabilities else 0.0
        hits = backend.similarity_search([1.0, 0.1], top_k=50, min_similarity=bound)
        scores = [hit.score for hit in hits]
        assert all(0.0 <= score <= 1.0 for score in scores)
        assert all(a >= b for a, b in itertools.pairwise(scores))

    @needs("threshold")
    @pytest.mark.parametrize(("bound", "number"), [(1.0, 1), (0.5, 2), (0.0, 3), (-1.0, 4)])
    def test_b7_the_threshold_is_raw_cosine_and_inclusive(self, bound: float, number: int) -> None:
        backend = self._make([2.0, 0.0], [1.0, 3**0.5], [0.0, 1.0], [-1.0, 0.0])
        hits = backend.similarity_search([1.0, 0.0], min_similarity=bound)
        assert nodes_of(hits) == [f"n{i}" for i in range(number)]

    @pytest.mark.parametrize("size", [0, 1, 3])
    @pytest.mark.parametrize("top_k", [0, 1, 10])
    def test_there_are_at_most_as_many_hits_as_asked_for(self, size: int, top_k: int) -> None:
        backend = self._make(*[[1.0, float(i)] for i in range(size)])
        assert len(backend.similarity_search([1.0, 1.0], top_k=top_k)) == min(size, top_k)

    @needs("exact")
    def test_nodes_that_are_alike_are_all_found(self) -> None:
        backend = self._make(*[[1.0, float(i % 2), 0.5] for i in range(300)])
        assert len(backend.similarity_search([1.0, 0.0, 0.5], top_k=300)) == 300

    def test_a_zero_vector_is_no_error(self) -> None:
        backend = self._make([0.0, 0.0], [1.0, 0.0])
        assert nodes_of(backend.similarity_search([1.0, 0.0]))[0] == "n1"
        assert set(nodes_of(backend.similarity_search([0.0, 0.0]))) <= {"n0", "n1"}

    def test_b7_a_question_of_another_size_is_an_error_that_names_both(self) -> None:
        backend = self._make([1.0, 0.0, 0.0])
        with pytest.raises(Exception, match=r"(?s)\b3\b.*\b2\b|\b2\b.*\b3\b"):
            backend.similarity_search([1.0, 0.0])

    @needs("content")
    def test_b1_a_hit_carries_its_text_or_a_way_to_it(self) -> None:
        text = "  def f():\n\treturn 1\r\n"
        backend = self.make_backend([document("n", text)], [[1.0, 0.0]])
        (hit,) = backend.similarity_search([1.0, 0.0])
        assert hit.content in (None, text)

    @needs("replace")
    def test_b3_of_equal_nodes_the_last_one_counts(self) -> None:
        backend = self.make_backend(
            [
                document("n", "old", metadata={"v": 1, "old": True}),
                document("m", "other"),
                document("n", "new", metadata={"v": 2}),
            ],
            [[1.0, 0.0], [0.7, 0.7], [0.0, 1.0]],
        )
        hits = backend.similarity_search([0.0, 1.0], top_k=4)
        assert nodes_of(hits) == ["n", "m"]
        assert hits[0].metadata == {"v": 2}

    def test_six_thousand_at_once_are_all_there(self) -> None:
        rows = [_on_a_sphere(i, 6_000) for i in range(6_000)]
        backend = self._make(*rows)
        for number in (0, 2_500, 5_999):
            assert nodes_of(backend.similarity_search(rows[number], top_k=1)) == [f"n{number}"]

    @needs("scope")
    def test_b5_a_scope_is_never_emptied_by_nearer_ones_outside(self) -> None:
        nearer = [document(f"project://a/{i}") for i in range(150)]
        backend = self.make_backend(
            [*nearer, document("project://b/x")],
            [*[[1.0, i / 1000.0] for i in range(150)], [0.5, 1.0]],
        )
        hits = backend.similarity_search([1.0, 0.0], top_k=1, scope=["project://b"])
        assert nodes_of(hits) == ["project://b/x"]

    @needs("metadata_filter")
    def test_b5_a_filter_is_never_emptied_by_nearer_ones_outside(self) -> None:
        nearer = [document(f"n{i}", metadata={"x": 0}) for i in range(150)]
        backend = self.make_backend(
            [*nearer, document("m", metadata={"x": 1})],
            [*[[1.0, i / 1000.0] for i in range(150)], [0.5, 1.0]],
        )
        hits = backend.similarity_search([1.0, 0.0], top_k=1, metadata_filter={"x": 1})
        assert nodes_of(hits) == ["m"]

    def test_the_same_question_has_the_same_answer_in_every_thread(self) -> None:
        backend = self._make(*[[math.cos(i), math.sin(i)] for i in range(30)])
        expected = list(backend.similarity_search([1.0, 0.2], top_k=7))
        answers = in_threads(lambda: list(backend.similarity_search([1.0, 0.2], top_k=7)))
        assert all(answer == expected for answer in answers)

    def test_what_a_caller_does_to_a_hit_does_not_change_the_next(self) -> None:
        backend = self.make_backend([document("n", metadata={"tags": ["x"]})], [[1.0, 0.0]])
        for _ in range(2):
            (hit,) = backend.similarity_search([1.0, 0.0])
            if "metadata" in self.capabilities:
                assert hit.metadata == {"tags": ["x"]}
                hit.metadata["tags"].append("y")
            hit.metadata["new"] = 1

    def test_an_asynchronous_twin_gives_the_same(self) -> None:
        backend = self._make([1.0, 0.0], [0.0, 1.0])
        twin = getattr(backend, "asimilarity_search", None)
        if twin is not None:
            found = list(asyncio.run(twin([1.0, 0.0])))
            assert found == list(backend.similarity_search([1.0, 0.0]))


def _on_a_sphere(number: int, size: int) -> list[float]:
    """One of `size` directions that lie evenly apart: a turn of the golden angle for each."""
    height = 1.0 - (2.0 * number + 1.0) / size
    radius, turn = math.sqrt(1.0 - height * height), number * math.pi * (3.0 - math.sqrt(5.0))
    return [radius * math.cos(turn), radius * math.sin(turn), height]
