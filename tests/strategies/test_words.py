"""Words of requests and what texts hold of them."""

import pytest

from acms_adapters.models import ContextRequest
from acms_strategies.words import keywords, overlaps, question


def test_the_question_is_the_query_with_the_keywords_it_lacks() -> None:
    assert question(ContextRequest(query=" Why pools? ", keywords=["why", "io"])) == "Why pools? io"
    assert question(ContextRequest(keywords=["async", "io"])) == "async io"
    assert question(ContextRequest(query="  ")) == ""
    assert question(ContextRequest()) == ""


def test_m2_given_keywords_are_taken_as_they_are_once() -> None:
    assert keywords(ContextRequest(keywords=["the", "io", "the"], query="x")) == ("the", "io")
    assert keywords(ContextRequest(query="The the THE pool")) == ("pool",)
    assert keywords(ContextRequest()) == ()


def test_a_word_counts_the_more_the_fewer_texts_hold_it() -> None:
    texts = {"a": "pools decided", "b": "decided", "c": "decided, sockets"}
    found = overlaps(texts, ["What decides about pools?"])
    assert found["a"] == 1.0
    assert 0.0 < found["b"] == found["c"] < 0.5


def test_words_are_the_same_whatever_their_endings_and_case() -> None:
    assert overlaps({"a": "Caching was DECIDED"}, ["caches", "decide"]) == {"a": 1.0}


def test_a_word_that_no_text_holds_does_not_count() -> None:
    assert overlaps({"a": "pools", "b": "queues"}, ["pools", "elsewhere"]) == {"a": 1.0, "b": 0.0}
    assert overlaps({"a": "pools"}, ["elsewhere"]) == {"a": 0.0}
    assert overlaps({}, ["pools"]) == {}
    assert overlaps({"a": "pools"}, []) == {"a": 0.0}


@pytest.mark.parametrize(("text", "word"), [("低头思故乡", "故乡"), ("un cafe\u0301 noir", "café")])
def test_scripts_without_spaces_and_either_unicode_form_are_found(text: str, word: str) -> None:
    assert overlaps({"a": text}, [word]) == {"a": 1.0}
