"""Strategies of one request share what they ask."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from acms_adapters.protocols import RequestMemo

GUARD_SECONDS = 60


def test_whoever_asks_meanwhile_waits_for_the_first_answer() -> None:
    memo, asked, started, go = RequestMemo(), [], threading.Event(), threading.Event()

    def ask() -> str:
        asked.append(1)
        started.set()
        go.wait(GUARD_SECONDS)
        return "answer"

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(memo.once, "question", ask)
        started.wait(GUARD_SECONDS)
        others = [pool.submit(memo.once, "question", ask) for _ in range(3)]
        go.set()
        assert {first.result(), *(other.result() for other in others)} == {"answer"}
    assert asked == [1]
    assert memo.once("another", lambda: 2) == 2


def test_an_error_is_an_answer_too() -> None:
    memo = RequestMemo()

    def fail() -> None:
        raise OSError("gone")

    for _ in range(2):
        with pytest.raises(OSError, match="gone"):
            memo.once("question", fail)


def test_ratings_are_kept_by_strategy_and_copied_out() -> None:
    memo = RequestMemo()
    memo.note_ratings("words", {"a": 0.1})
    memo.note_ratings("words", {"b": 0.2})
    memo.ratings()["words"]["a"] = 1.0
    assert memo.ratings() == {"words": {"a": 0.1, "b": 0.2}}


def test_a_view_shares_answers_and_counts_its_own_hits() -> None:
    memo = RequestMemo()
    first, second = memo.view(), memo.view()
    assert [view.once("question", lambda: [1]) for view in (first, second, second)] == [[1]] * 3
    assert (memo.hits, first.hits, second.hits) == (0, 0, 2)
    second.note_ratings("words", {"a": 0.1})
    assert memo.ratings() == {"words": {"a": 0.1}}
