"""A few things at the same time: really beside each other, context kept, nobody waits for ever."""

import threading
from contextvars import ContextVar

from acms_strategies.crew import Crew

VARIABLE: ContextVar[str] = ContextVar("variable", default="unset")
LONG = 60.0


def fail() -> int:
    raise LookupError("gone")


def test_all_run_at_the_same_time() -> None:
    barrier = threading.Barrier(2, timeout=10)
    places = Crew().beside(barrier.wait, barrier.wait, seconds=LONG)
    assert set(places) == {0, 1}


def test_with_one_worker_they_run_one_after_the_other_on_one_thread() -> None:
    one, other = Crew().beside(threading.get_ident, threading.get_ident, seconds=LONG, workers=1)
    assert one == other != threading.get_ident()


def test_outcomes_come_in_the_order_of_what_was_asked() -> None:
    first = threading.Event()

    def late() -> str:
        assert first.wait(10)
        return "late"

    def early() -> str:
        first.set()
        return "early"

    assert Crew().beside(late, early, seconds=LONG) == ["late", "early"]
    assert Crew().beside(seconds=LONG) == []


def test_s11_the_callers_context_variables_are_seen_in_all() -> None:
    token = VARIABLE.set("mine")
    try:
        assert Crew().beside(VARIABLE.get, VARIABLE.get, seconds=LONG) == ["mine", "mine"]
    finally:
        VARIABLE.reset(token)


def test_s7_its_threads_do_not_hold_the_interpreter() -> None:
    (daemon,) = Crew().beside(lambda: threading.current_thread().daemon, seconds=LONG)
    assert daemon is True


def test_what_one_raises_stands_in_its_place_beside_what_others_return() -> None:
    error, value = Crew().beside(fail, lambda: 1, seconds=LONG)
    assert isinstance(error, LookupError)
    assert value == 1


def test_s7_what_is_stuck_is_not_waited_for_and_hinders_no_later_call() -> None:
    never = threading.Event()
    crew = Crew()
    try:
        stuck, value = crew.beside(never.wait, lambda: 1, seconds=0.2)
        assert isinstance(stuck, TimeoutError)
        assert "0.2 s" in str(stuck)
        assert value == 1
        assert crew.beside(lambda: 2, lambda: 3, seconds=LONG) == [2, 3]
    finally:
        never.set()


def test_threads_are_used_again() -> None:
    crew = Crew()
    seen = {crew.beside(threading.get_ident, seconds=LONG)[0] for _ in range(20)}
    assert len(seen) < 20
