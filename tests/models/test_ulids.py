"""Ids that sort by time."""

import os
import re
import threading
import time

from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from acms_adapters.models import ulids
from acms_adapters.models.ulids import Ulids


def test_they_are_read_by_others_as_ulids_of_this_moment() -> None:
    before = time.time_ns() // 1_000_000
    made = ULIDS_OF_THIS_TEST.make()
    read = ULID.from_str(made)
    assert str(read) == made
    assert before <= read.milliseconds <= time.time_ns() // 1_000_000
    assert re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", made)


ULIDS_OF_THIS_TEST = Ulids()


@given(st.lists(st.integers(0, 2**48 - 1), max_size=30))
def test_each_is_larger_than_the_one_before_whatever_the_clock_does(moments: list[int]) -> None:
    clock, made = iter(moments), Ulids()
    saved = ulids.time
    ulids.time = type("Clock", (), {"time_ns": staticmethod(lambda: next(clock) * 1_000_000)})
    try:
        found = [made.make() for _ in moments]
    finally:
        ulids.time = saved
    assert found == sorted(set(found))


def test_threads_never_make_the_same() -> None:
    made, found, start = Ulids(), [], threading.Barrier(4)

    def work() -> None:
        start.wait()
        found.extend(made.make() for _ in range(500))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 2_000


def test_a_forked_process_draws_anew() -> None:
    made = Ulids()
    before = (made.make(), made._chance.getstate())
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, f"{made._last} {made._chance.getstate() == before[1]}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        assert answer.read() == "0 False"
