"""Ids that sort by time."""

import os
import random
import threading
import time

from ulid import ULID

from acms_adapters.models.ulids import new_id


def test_they_are_ulids_of_this_moment() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id()
    read = ULID.from_str(made)
    assert str(read) == made
    assert before <= read.milliseconds <= time.time_ns() // 1_000_000


def test_threads_never_make_the_same() -> None:
    found, start = [], threading.Barrier(4)

    def work() -> None:
        start.wait()
        found.extend(new_id() for _ in range(500))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 2_000


def test_a_program_that_fixes_its_chance_gets_new_ones_all_the_same() -> None:
    state = random.getstate()
    try:
        random.seed(7)
        first = new_id()
        random.seed(7)
        assert new_id()[10:] != first[10:]
    finally:
        random.setstate(state)


def test_a_forked_process_draws_anew() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, new_id()[10:].encode())
        os._exit(0)
    mine = new_id()[10:]
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        assert answer.read() != mine
