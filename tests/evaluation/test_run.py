"""Evaluating a pipeline on small sets, figures known beforehand."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest

from acms_adapters import token_counter
from acms_adapters.backends.embedders import CharacterFrequencyEmbedder
from acms_adapters.evaluation import (
    EvaluationResult,
    difference,
    evaluate,
    open_store,
    read_dataset,
)
from acms_adapters.evaluation.entries import passage_of
from acms_adapters.evaluation.run import chosen_questions, half_of


def without_times(result) -> str:
    return json.dumps(result.model_dump(mode="json", exclude={"times"}))


def test_everything_is_read_when_the_budget_holds_the_whole_set(write_set) -> None:
    result = evaluate(write_set(vectors=True), budgets=(1000,))
    at = result.at(1000)
    assert (at.read.mean, at.located.mean, at.all_read.mean) == (1.0, 1.0, 1.0)
    assert at.answered is not None
    assert (at.answered.mean, at.answered.questions) == (1.0, 2)
    assert (result.questions, result.passages, result.failures) == (3, 4, {})
    assert result.tokenizer == token_counter().name


def test_a_budget_for_one_passage_reads_the_best_one(write_set) -> None:
    folder = write_set(vectors=True)
    data = read_dataset(folder)
    room = max(token_counter().count(passage.whole) for passage in data.passages)
    at = evaluate(
        data, {"context": {"strategies": {"enabled": ["semantic-embedding"]}}}, budgets=(room,)
    ).at(room)
    by_question = {row.question: row for row in at.rows}
    assert by_question["q-amber"].read == 1.0
    assert by_question["q-amber"].ndcg_10 == 1.0
    assert by_question["q-amber"].precision == 1.0
    # the given vector of the third question is that of chalk, one of its two passages
    assert by_question["q-white"].read == 0.5
    assert by_question["q-white"].all_read == 0.0
    assert all(row.tokens <= room for row in at.rows)


def test_given_vectors_are_found_however_a_question_is_spaced(write_set) -> None:
    asked = [("q", "  Which gemstone\nis  fossil resin? ", {})]
    folder = write_set(questions=asked, judgements=[("q", "amber", 1)], vectors=True)
    only_near = {"context": {"strategies": {"enabled": ["semantic-embedding"]}}}
    result = evaluate(folder, only_near, budgets=(1000,))
    assert result.failures == {}
    assert result.at(1000).rows[0].ndcg_10 == 1.0


def test_two_runs_are_equal_but_for_times(write_set) -> None:
    folder = write_set(vectors=True, links=[("chalk", "dolomite", "next")])
    first, second = (evaluate(folder, budgets=(20, 60)) for _ in range(2))
    assert without_times(first) == without_times(second)
    assert set(first.times) == {20, 60}


def test_a_kept_store_gives_what_a_fresh_one_gives(write_set, tmp_path) -> None:
    folder, kept = write_set(vectors=True), tmp_path / "kept"
    fresh = evaluate(folder, budgets=(60,))
    for _ in range(2):
        assert without_times(evaluate(folder, budgets=(60,), store=kept)) == without_times(fresh)
    assert len(list(kept.iterdir())) == 1


def test_another_set_of_the_same_name_gets_a_store_of_its_own(write_set, tmp_path) -> None:
    evaluate(write_set(), budgets=(60,), store=tmp_path / "kept", embedder=None)
    (tmp_path / "stones").rename(tmp_path / "before")
    other = write_set(
        [("granite", "Granite", "Granite is rock.")], [("q", "Granite?", {})], [("q", "granite", 1)]
    )
    result = evaluate(other, budgets=(60,), store=tmp_path / "kept", embedder=None)
    assert result.at(60).read.mean == 1.0
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_a_set_without_vectors_is_asked_by_words_alone_when_no_embedder_is_wanted(
    write_set,
) -> None:
    result = evaluate(write_set(), budgets=(1000,), embedder=None)
    assert result.embedder is None
    assert result.at(1000).read.mean == 1.0


def test_a_question_is_embedded_once_for_all_budgets(write_set) -> None:
    class Counting(CharacterFrequencyEmbedder):
        name = "counting"
        asked: ClassVar[list[str]] = []

        def embed_query(self, text: str) -> list[float]:
            if text.endswith("?"):  # passages come this way too
                self.asked.append(text)
            return super().embed_query(text)

    result = evaluate(write_set(), budgets=(20, 40, 60), embedder=Counting())
    assert result.embedder == "counting"
    assert len(Counting.asked) == len(set(Counting.asked)) == 3


def test_links_become_edges_with_their_type_or_plain_links(write_set) -> None:
    folder = write_set(
        links=[("amber", "chalk", "mentions_title"), ("basalt", "chalk", "calls")], vectors=True
    )
    with open_store(read_dataset(folder)) as store:
        assert store.stats().edges == {"calls": 1, "links": 1}


def test_halves_are_apart_and_make_up_the_whole() -> None:
    halves = [half_of(f"question {n}") for n in range(400)]
    assert 150 < halves.count("tune") < 250
    assert set(halves) == {"tune", "report"}
    assert half_of("question 1") == half_of("question 1")


def test_a_limit_takes_the_first_questions_of_the_half(write_set) -> None:
    data = read_dataset(write_set())
    assert [q.id for q in chosen_questions(data, limit=2)] == ["q-amber", "q-lava"]
    for split in ("tune", "report"):
        ids = [q.id for q in data.questions if half_of(q.id) == split]
        if ids:
            assert [q.id for q in chosen_questions(data, split=split)] == ids


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budgets": ()}, "budgets must be"),
        ({"budgets": (0,)}, "budgets must be"),
        ({"budgets": (5, 5)}, "budgets must be"),
        ({"limit": 0}, "limit must be 1 or more"),
    ],
)
def test_what_cannot_be_measured_is_refused(options, said: str, write_set) -> None:
    with pytest.raises(ValueError, match=said):
        evaluate(write_set(), **options)


BROKEN = """
class Broken:
    name = "broken"

    def can_handle(self, request):
        return 1.0

    def assemble(self, fragments, budget):
        raise OSError("no answer")
"""


def test_failing_parts_are_counted_and_the_rest_still_answers(
    write_set, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_strategy.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    strategies = {
        "enabled": ["simple-keyword", "broken"],
        "custom": {"broken": "broken_strategy:Broken"},
        "executor_circuit_breaker_threshold": 1000,
    }
    config = {"context": {"strategies": strategies}}
    result = evaluate(write_set(), config, budgets=(500, 1000), embedder=None)
    assert result.failures == {"broken": 6}
    assert result.at(1000).read.mean == 1.0


def test_a_difference_is_paired_by_question(write_set) -> None:
    result = evaluate(write_set(vectors=True), budgets=(20, 1000))
    small, large = result.at(20), result.at(1000)
    more = difference(large, small)
    assert more is not None
    assert more.mean == pytest.approx(large.read.mean - small.read.mean, abs=1e-6)
    assert more.low <= more.mean <= more.high
    answered = difference(large, small, "answered")
    assert answered is not None
    assert answered.questions == 2
    half = small.model_copy(update={"rows": small.rows[:1]})
    with pytest.raises(ValueError, match="same questions"):
        difference(large, half)
    with pytest.raises(ValueError, match="nothing was measured at 7"):
        result.at(7)


def test_a_result_comes_back_from_json_as_it_was(write_set) -> None:
    result = evaluate(write_set(vectors=True), budgets=(20, 60))
    assert EvaluationResult.model_validate_json(result.model_dump_json()) == result


def test_parts_count_as_their_passage() -> None:
    known = {"a", "b#part-1"}
    assert passage_of("a", known) == "a"
    assert passage_of("a#part-12", known) == "a"
    assert passage_of("b#part-1", known) == "b#part-1"
    assert passage_of("project://c", known) == ""


def test_a_passage_larger_than_any_budget_is_read_by_its_parts(write_set) -> None:
    long = "\n\n".join(f"Paragraph {n} tells of amber and resin. " * 12 for n in range(40))
    folder = write_set([("long", "Amber", long)], [("q", "amber resin", {})], [("q", "long", 1)])
    result = evaluate(folder, budgets=(700, 8000), embedder=None)
    assert 0.0 == result.at(700).read.mean < result.at(700).located.mean == 1.0
    assert result.at(8000).read.mean == 1.0
