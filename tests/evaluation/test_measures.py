"""What each measure says, on cases small enough to count by hand."""

from __future__ import annotations

import math

import pytest

from acms_adapters.evaluation.measures import (
    Evidence,
    ReadText,
    has_answer,
    interval,
    ndcg,
    precision_per_token,
    share_located,
    share_read,
)


def read(passage: str, text: str, *, tokens: int = 10, resource: str = "") -> ReadText:
    return ReadText(passage=passage, resource=resource or passage, text=text, tokens=tokens)


def wanted(passage: str, *pieces: str, resource: str = "") -> Evidence:
    return Evidence(passage=passage, resource=resource or passage, pieces=pieces)


BOTH = [wanted("a", "one two three"), wanted("b", "four five")]


def test_evidence_is_read_when_all_of_its_text_is_there_however_it_is_spaced() -> None:
    assert share_read(BOTH, [read("a", "Title\none  two\n three.")]) == 0.5
    assert share_read(BOTH, [read("a", "one two"), read("b", "four five")]) == 0.5
    assert share_read(BOTH, [read("a", "one two three"), read("b", "four five")]) == 1.0


def test_the_same_words_in_another_resource_are_no_evidence() -> None:
    assert share_read(BOTH, [read("c", "one two three four five")]) == 0.0


def test_a_text_of_the_same_resource_that_holds_the_evidence_counts() -> None:
    evidence = [wanted("f#method", "def run(self)", resource="f")]
    assert share_read(evidence, [read("f", "class A:\n  def run(self)", resource="f")]) == 1.0


def test_evidence_in_parts_is_read_when_each_part_is() -> None:
    long = [wanted("a", "first half", "second half")]
    halves = [read("a", "first half"), read("a", "second half")]
    assert share_read(long, halves[:1]) == 0.0
    assert share_read(long, halves) == 1.0
    assert share_read(long, [read("a", "first half second half")]) == 1.0


def test_evidence_is_located_at_any_depth() -> None:
    assert share_located(BOTH, [read("a", "one")]) == 0.5
    assert share_located(BOTH, []) == 0.0


@pytest.mark.parametrize(
    ("answers", "text", "said"),
    [
        (["The Beatles"], "It was written by Beatles, in 1966.", 1.0),
        (["35"], "There were 1350 of them.", 0.0),
        (["35"], "There were (35) of them.", 1.0),
        (["G. Stanley Hall"], "president g stanley hall", 1.0),
        (["none", "second"], "the second one", 1.0),
        (["x"], "", 0.0),
        ([], "anything", None),
        (["the"], "anything", None),
    ],
)
def test_an_answer_counts_as_words_without_case_punctuation_and_articles(
    answers: list[str], text: str, said: float | None
) -> None:
    assert has_answer(answers, text) == said


def test_precision_is_the_share_of_tokens_that_are_of_evidence() -> None:
    texts = [read("a", "one", tokens=30), read("x", "other", tokens=10)]
    assert precision_per_token(BOTH, texts) == 0.75
    assert precision_per_token(BOTH, []) == 0.0


def test_ndcg_discounts_by_rank_and_stops_at_ten() -> None:
    grades = {"a": 2, "b": 1}
    best = 2 / math.log2(2) + 1 / math.log2(3)
    assert ndcg(["a", "b"], grades) == 1.0
    assert ndcg(["b", "a"], grades) == pytest.approx((1 + 2 / math.log2(3)) / best)
    assert ndcg(["x"] * 10 + ["a", "b"], grades) == 0.0


def test_an_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    values = [0.0, 0.5, 1.0, 1.0, 0.0, 0.25] * 10
    low, high = interval(values)
    assert low < sum(values) / len(values) < high
    assert interval(values) == (low, high)
    assert interval([0.25] * 9) == (0.25, 0.25)
    assert interval([]) == (0.0, 0.0)
