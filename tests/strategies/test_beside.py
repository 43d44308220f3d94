"""Two things at the same time: really beside each other, context kept, errors told."""

import threading
from contextvars import ContextVar

import pytest

from acms_strategies.beside import beside

VARIABLE: ContextVar[str] = ContextVar("variable", default="unset")


def test_both_run_at_the_same_time() -> None:
    barrier = threading.Barrier(2, timeout=10)
    places = beside(barrier.wait, barrier.wait)
    assert sorted(places) == [0, 1]


def test_with_one_worker_they_run_one_after_the_other_on_the_calling_thread() -> None:
    one, other = beside(threading.get_ident, threading.get_ident, workers=1)
    assert one == other == threading.get_ident()


def test_s11_the_callers_context_variables_are_seen_in_both() -> None:
    token = VARIABLE.set("mine")
    try:
        assert beside(VARIABLE.get, VARIABLE.get) == ("mine", "mine")
    finally:
        VARIABLE.reset(token)


def test_s7_the_thread_of_its_own_does_not_hold_the_interpreter() -> None:
    daemon, _ = beside(lambda: threading.current_thread().daemon, lambda: None)
    assert daemon


def fail() -> None:
    raise LookupError("gone")


def test_what_either_raises_is_raised() -> None:
    with pytest.raises(LookupError, match="gone"):
        beside(fail, lambda: 1)
    with pytest.raises(LookupError, match="gone"):
        beside(lambda: 1, fail)
