"""What a text backend must do (rulings B1 to B5, M7)."""

from __future__ import annotations

import asyncio
import itertools
import unicodedata
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from acms_adapters.models import SearchHit
from acms_adapters.protocols import TextBackend
from acms_adapters.testing.filters import FilteredSearch
from acms_adapters.testing.suite import document, in_threads, needs, nodes_of

_WORD = "lighthouse"

_HOSTILE = (
    '"',
    "''' OR 1=1 --",
    "lighthouse AND",
    "NOT",
    "NEAR(lighthouse, 2)",
    "title:lighthouse",
    "light* -house ^x",
    "((",
    "{lighthouse}",
    "%_\\",
    "\x00",
    "lighthouse\x00",
    "🚀",
    "\ud83d",
    "???",
    "",
    " \n\t",
    "x" * 100_000,
    "lighthouse " * 5_000,
)
_PRESENT = (
    ('the keeper said "halt" twice', '"halt"'),
    ("set retries:max to three", "retries:max"),
    ("a -flag and a *star", "*star"),
    ("launch 🚀 tonight", "🚀"),
    ("null\x00byte inside", "null\x00byte"),
    ("低头思故乡", "故乡"),
    ("検索エンジン", "検索"),
    ("поиск по словам", "ПОИСК"),
    (unicodedata.normalize("NFC", "un café fermé"), unicodedata.normalize("NFD", "café")),
    (unicodedata.normalize("NFD", "un café fermé"), unicodedata.normalize("NFC", "café")),
)


class TextBackendCompliance(FilteredSearch):
    """Subclass it and say how a backend is made of documents.

    Capabilities: those of every filtered search; ``content`` (hits carry the text),
    ``identifiers`` (found by their parts, ruling B9), ``stemming``, ``replace`` (ruling B3).
    """

    capabilities: ClassVar[frozenset[str]] = FilteredSearch.capabilities | {
        "content",
        "identifiers",
        "stemming",
        "replace",
    }

    @abstractmethod
    def make_backend(self, documents: Sequence[SearchHit]) -> TextBackend:
        """A backend that holds exactly these documents; of equal nodes the last."""

    def finder(self, documents: Sequence[SearchHit]) -> Callable[..., Sequence[SearchHit]]:
        """Ask for a word that stands in every document."""
        worded = [replace(item, content=f"{item.content or ''} {_WORD}") for item in documents]
        backend = self.make_backend(worded)
        return lambda **filters: backend.search(_WORD, max_results=100, **filters)

    def _make(self, *texts: str) -> TextBackend:
        return self.make_backend([document(f"n{i}", text) for i, text in enumerate(texts)])

    def test_b1_it_is_a_text_backend(self) -> None:
        assert isinstance(self._make("a"), TextBackend)

    @pytest.mark.parametrize("query", _HOSTILE, ids=lambda query: repr(query)[:20])
    def test_b2_no_text_of_a_user_is_an_error(self, query: str) -> None:
        hits = self._make("the lighthouse", "the harbour").search(query)
        assert set(nodes_of(hits)) <= {"n0", "n1"}

    @pytest.mark.parametrize(("text", "query"), _PRESENT)
    def test_b2_what_stands_in_a_text_is_found(self, text: str, query: str) -> None:
        backend = self._make("nothing to see", text, "nor here")
        assert nodes_of(backend.search(query))[:1] == ["n1"]

    def test_nothing_is_found_in_nothing(self) -> None:
        assert list(self._make().search(_WORD)) == []
        blank = self._make("", "!!!", " \n")
        assert list(blank.search(_WORD)) == []
        assert list(blank.search("???")) == []

    def test_a_word_in_one_of_two_documents_is_found(self) -> None:
        assert nodes_of(self._make("the lighthouse", "the harbour").search(_WORD)) == ["n0"]

    def test_a_word_in_every_document_is_found_in_every_one(self) -> None:
        backend = self._make(*[f"{_WORD} number {i}" for i in range(3)])
        assert set(nodes_of(backend.search(_WORD))) == {"n0", "n1", "n2"}

    def test_a_word_in_no_document_is_found_in_none(self) -> None:
        assert list(self._make("the lighthouse", "the harbour").search("volcano")) == []

    def test_more_of_the_words_are_better(self) -> None:
        backend = self._make(
            "the harbour at noon", "the lighthouse at noon", "the lighthouse in the harbour"
        )
        hits = backend.search("lighthouse harbour")
        assert nodes_of(hits)[0] == "n2"
        assert set(nodes_of(hits)) == {"n0", "n1", "n2"}

    def test_a_rare_word_counts_more_than_a_common_one(self) -> None:
        texts = [f"harbour report {i}" for i in range(20)]
        backend = self._make(*texts, "lighthouse report 20")
        assert nodes_of(backend.search("harbour lighthouse"))[0] == "n20"

    @pytest.mark.parametrize(("limit", "number"), [(0, 0), (1, 1), (3, 3), (4, 4), (100, 4)])
    def test_there_are_at_most_as_many_hits_as_asked_for(self, limit: int, number: int) -> None:
        backend = self._make(*[f"{_WORD} {i}" for i in range(4)])
        assert len(backend.search(_WORD, max_results=limit)) == number

    def test_m7_scores_lie_between_0_and_1_best_first(self) -> None:
        backend = self._make(*[f"{_WORD} " * i + "filler " * (9 - i) for i in range(1, 9)])
        scores = [hit.score for hit in backend.search(f"{_WORD} filler")]
        assert len(scores) == 8
        assert all(0.0 <= score <= 1.0 for score in scores)
        assert all(a >= b for a, b in itertools.pairwise(scores))

    @needs("content")
    def test_b1_a_hit_carries_its_text_or_a_way_to_it(self) -> None:
        text = "  def lighthouse():\n\treturn 1\r\n"
        (hit,) = self._make(text).search(_WORD)
        assert hit.content in (None, text)

    @needs("identifiers")
    @pytest.mark.parametrize("query", ["getUserName", "user name", "getusername", "UserName"])
    def test_b9_an_identifier_is_found_by_itself_and_by_its_parts(self, query: str) -> None:
        backend = self._make("def getUserName(self): ...", "def close(self): ...")
        assert nodes_of(backend.search(query)) == ["n0"]

    @needs("stemming")
    def test_b9_a_word_is_found_by_its_other_forms(self) -> None:
        backend = self._make("indexing the documents", "the harbour")
        assert nodes_of(backend.search("index document")) == ["n0"]

    @needs("replace")
    def test_b3_of_equal_nodes_the_last_one_counts(self) -> None:
        backend = self.make_backend(
            [
                document("n", "the lighthouse", metadata={"v": 1, "old": True}),
                document("n", "the harbour", metadata={"v": 2}),
            ]
        )
        assert list(backend.search("lighthouse")) == []
        (hit,) = backend.search("harbour")
        assert hit.metadata == {"v": 2}

    def test_six_thousand_at_once_are_all_there(self) -> None:
        backend = self._make(*[f"{_WORD} w{i}" for i in range(6_000)])
        for number in (0, 2_500, 5_999):
            assert nodes_of(backend.search(f"w{number}", max_results=1)) == [f"n{number}"]
        assert len(backend.search(_WORD, max_results=10_000)) == 6_000

    @needs("scope")
    def test_b5_a_scope_is_never_emptied_by_better_hits_outside(self) -> None:
        better = [document(f"project://a/{i}", f"{_WORD} " * 9) for i in range(80)]
        backend = self.make_backend([*better, document("project://b/x", f"one {_WORD} of many")])
        hits = backend.search(_WORD, max_results=1, scope=["project://b"])
        assert nodes_of(hits) == ["project://b/x"]

    @needs("metadata_filter")
    def test_b5_a_filter_is_never_emptied_by_better_hits_outside(self) -> None:
        better = [document(f"n{i}", f"{_WORD} " * 9, metadata={"x": 0}) for i in range(80)]
        backend = self.make_backend([*better, document("m", _WORD, metadata={"x": 1})])
        hits = backend.search(_WORD, max_results=1, metadata_filter={"x": 1})
        assert nodes_of(hits) == ["m"]

    def test_the_same_question_has_the_same_answer_in_every_thread(self) -> None:
        backend = self._make(*[f"{_WORD} {'harbour ' * i}" for i in range(12)])
        expected = list(backend.search(f"{_WORD} harbour", max_results=7))
        answers = in_threads(lambda: list(backend.search(f"{_WORD} harbour", max_results=7)))
        assert all(answer == expected for answer in answers)

    def test_what_a_caller_does_to_a_hit_does_not_change_the_next(self) -> None:
        backend = self.make_backend([document("n", _WORD, metadata={"tags": ["x"]})])
        for _ in range(2):
            (hit,) = backend.search(_WORD)
            if "metadata" in self.capabilities:
                assert hit.metadata == {"tags": ["x"]}
                hit.metadata["tags"].append("y")
            hit.metadata["new"] = 1

    def test_an_asynchronous_twin_gives_the_same(self) -> None:
        backend = self._make("the lighthouse", "the harbour")
        twin = getattr(backend, "asearch", None)
        if twin is not None:
            assert list(asyncio.run(twin(_WORD))) == list(backend.search(_WORD))
