"""Ranking found passages anew by the question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acms_adapters.backends.analysis import query_terms, tokens
from acms_adapters.pipeline.occurrences import Occurrences
from acms_adapters.pipeline.reranking import Passage, heading_of, rerank

WORDS = [
    *("install", "installed", "Installation", "requirement", "getUserName", "get_user_name"),
    *(
        "flying",
        "fly",
        "skies",
        "sky",
        "python3",
        "2018",
        "12018",
        "a",
        "b",
        "use",
        "using",
        "user",
    ),
    *("reuse", "HTTPServer", "3", "3rd", "x1", "the", "of", "dying", "day", "days", "AI"),
]
QUESTION = "How does the installer find a requirement of python3?"
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def ranked(question: str, passages: Sequence[Passage], given: Sequence[float]) -> list[int]:
    """Places of passages, best first."""
    relevance = rerank(question, passages, given)
    return sorted(range(len(passages)), key=lambda place: -relevance[place])


def falling(count: int) -> list[float]:
    """Scores of a list that is in order."""
    return [1.0 / (60 + place) for place in range(count)]


def fillers(count: int) -> list[Passage]:
    """Passages that say nothing."""
    return [Passage(f"nothing of note {'here ' * place}") for place in range(count)]


@given(st.lists(texts, min_size=1, max_size=8), texts)
def test_it_counts_what_the_text_index_would(found: list[str], question: str) -> None:
    asked = Occurrences(question)
    terms = [term[0] for term in query_terms(question)]
    for text in found:
        indexed = tokens(text)
        there = {term: indexed.count(term) for term in terms if term in indexed}
        assert asked.within(text) == there


def test_it_counts_pairs_of_characters_and_symbols_of_scripts_without_blanks() -> None:
    assert Occurrences("東京 🚀").within("東京都と東京駅 🚀") == {"東京": 2, "🚀": 1}


@pytest.mark.parametrize("question", ["", "  ", "?!"])
def test_without_a_question_nothing_changes(question: str) -> None:
    given = [0.2, 0.9, 0.9]
    assert rerank(question, fillers(3), given) == given


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_texts_that_say_nothing_leave_the_given_order(given: list[float]) -> None:
    best_first = sorted(range(len(given)), key=lambda place: -given[place])
    assert ranked(QUESTION, [Passage("nothing of note")] * len(given), given) == best_first


@given(
    st.lists(st.tuples(texts, texts, st.floats(-5, 5)), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
)
@settings(max_examples=50)
def test_relevance_is_in_range_and_the_same_wherever_a_passage_stands(
    rows: list[tuple[str, str, float]], random: Random
) -> None:
    rows = [
        (text, heading, place + score / 100) for place, (text, heading, score) in enumerate(rows)
    ]
    places = list(range(len(rows)))
    random.shuffle(places)

    def relevance(rows: Sequence[tuple[str, str, float]]) -> list[float]:
        found = [Passage(f"{heading}\n{text}", heading) for text, heading, _ in rows]
        return rerank(QUESTION, found, [score for *_, score in rows])

    straight, mixed = relevance(rows), relevance([rows[place] for place in places])
    assert mixed == pytest.approx([straight[place] for place in places])
    if len(rows) > 1:
        assert all(0.0 <= one <= 1.0 for one in straight)


def test_words_of_the_question_lift_a_passage() -> None:
    passages = fillers(30)
    passages[12] = Passage("python3 looks for the requirement that an installer needs")
    assert ranked(QUESTION, passages, falling(30)).index(12) < 4


def test_words_in_a_heading_lift_further_than_words_below_it() -> None:
    plain = "one line about nothing\nand another about as little"
    passages = [Passage(plain, heading_of(plain)) for _ in range(30)]
    for place, text in ((12, f"{plain} requirement"), (13, f"requirement {plain}")):
        passages[place] = Passage(text, heading_of(text))
    order = ranked(QUESTION, passages, falling(30))
    assert order.index(13) < order.index(12) < 12


def test_a_rare_name_leads_from_the_best_passage_to_one_that_the_question_does_not_name() -> None:
    passages = fillers(30)
    passages[0] = Passage("The installer was written by Ada Lovelace for python3, a requirement.")
    passages[20] = Passage("The home of Ada Lovelace is in the north.")
    passages[21] = Passage("The home of Charles Babbage is in the south.")
    order = ranked(QUESTION, passages, falling(30))
    assert order[0] == 0
    assert order.index(20) < 4
    assert order.index(21) > 19


def test_a_name_that_half_of_the_passages_hold_leads_nowhere() -> None:
    passages = [Passage(f"Ada Lovelace was {'here ' * place}") for place in range(12)]
    assert ranked(QUESTION, passages, falling(12)) == list(range(12))


def test_the_given_order_counts_most() -> None:
    passages = fillers(30)
    passages[29] = Passage("python3 requirement")
    assert ranked(QUESTION, passages, falling(30))[0] == 0


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("A title\nand more", "A title"),
        ("only one line", ""),
        ("only one line\n \n", ""),
        ("x" * 101 + "\nmore", ""),
        ("", ""),
    ],
)
def test_a_short_first_line_is_a_heading_where_more_follows(text: str, heading: str) -> None:
    assert heading_of(text) == heading


def test_passages_and_scores_of_any_kind_are_ranked() -> None:
    passages = [Passage(""), Passage("\ud800 requirement", "\x00"), Passage("REQUIREMENT " * 5000)]
    relevance = rerank(QUESTION, passages, [0.0, 0.0, 0.0])
    assert all(math.isfinite(one) for one in relevance)
