"""A strategy that keeps failing is left alone for a while (ruling S8)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.pipeline.circuit_breaker import CircuitBreaker


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def run(breaker: CircuitBreaker, verdicts: str) -> None:
    for verdict in verdicts:
        permit = breaker.acquire()
        assert permit is not None
        {"F": permit.fail, "S": permit.succeed, "C": permit.release}[verdict]()


def opened(time: Time, threshold: int = 3) -> CircuitBreaker:
    breaker = CircuitBreaker(threshold, 60.0, clock=time)
    run(breaker, "F" * threshold)
    return breaker


def test_s8_failures_must_be_consecutive_to_open_it() -> None:
    breaker = CircuitBreaker(3, 60.0, clock=Time())
    run(breaker, "FFSFF")
    assert breaker.state == "closed"
    run(breaker, "F")
    assert breaker.state == "open"
    assert breaker.acquire() is None
    assert breaker.refuses


def test_s8_it_stays_open_until_the_reset_time_has_passed() -> None:
    time = Time()
    breaker = opened(time)
    time.now = 59.9
    assert breaker.state == "open"
    assert breaker.acquire() is None
    time.now = 60.0
    assert breaker.state == "half_open"
    assert not breaker.refuses
    assert breaker.acquire() is not None


def test_s8_half_open_lets_exactly_one_probe_through() -> None:
    """S8.half."""
    time = Time()
    breaker = opened(time)
    time.now = 60.0
    assert breaker.acquire() is not None
    assert breaker.acquire() is None
    assert breaker.refuses


def test_s8_a_failed_probe_reopens_it_for_the_whole_reset_time() -> None:
    """S8.half."""
    time = Time()
    breaker = opened(time)
    time.now = 70.0
    run(breaker, "F")
    assert breaker.state == "open"
    time.now = 129.9
    assert breaker.acquire() is None
    time.now = 130.0
    assert breaker.acquire() is not None


def test_s8_a_probe_that_succeeds_closes_it_and_forgets_the_failures() -> None:
    """S8.half."""
    time = Time()
    breaker = opened(time)
    time.now = 60.0
    run(breaker, "S")
    assert breaker.state == "closed"
    run(breaker, "FF")
    assert breaker.state == "closed"
    run(breaker, "F")
    assert breaker.state == "open"


def test_s8_a_cancelled_call_is_no_failure_and_no_success() -> None:
    """S8.cancelled."""
    breaker = CircuitBreaker(3, 60.0, clock=Time())
    run(breaker, "FFCC")
    assert breaker.state == "closed"
    run(breaker, "F")
    assert breaker.state == "open"


def test_s8_a_cancelled_probe_lets_the_next_one_through() -> None:
    time = Time()
    breaker = opened(time)
    time.now = 60.0
    run(breaker, "C")
    assert breaker.state == "half_open"
    assert breaker.acquire() is not None


def test_a_call_that_began_before_the_circuit_opened_does_not_close_it() -> None:
    breaker = CircuitBreaker(3, 60.0, clock=Time())
    slow = breaker.acquire()
    assert slow is not None
    run(breaker, "FFF")
    slow.succeed()
    assert breaker.state == "open"


def test_only_the_first_verdict_of_a_permit_counts() -> None:
    breaker = CircuitBreaker(2, 60.0, clock=Time())
    permit = breaker.acquire()
    assert permit is not None
    permit.fail()
    permit.fail()
    assert breaker.state == "closed"


def test_a_reset_time_of_zero_probes_at_once() -> None:
    breaker = CircuitBreaker(1, 0.0, clock=Time())
    run(breaker, "FF")
    assert breaker.state == "half_open"


def test_s8_of_many_threads_one_gets_the_probe() -> None:
    """S8.shared."""
    time = Time()
    breaker = opened(time)
    time.now = 60.0
    barrier = threading.Barrier(8)

    def ask(_: int) -> Any:
        barrier.wait(30)
        return breaker.acquire()

    with ThreadPoolExecutor(8) as pool:
        permits = list(pool.map(ask, range(8)))
    assert sum(permit is not None for permit in permits) == 1


def test_s8_no_failure_of_many_threads_is_lost() -> None:
    """S8.shared."""
    breaker = CircuitBreaker(64, 60.0, clock=Time())
    permits = [breaker.acquire() for _ in range(64)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda permit: permit.fail(), permits))
    assert breaker.state == "open"


@given(threshold=st.integers(1, 5), verdicts=st.text("FSC", max_size=40))
def test_s8_it_is_open_exactly_after_a_run_of_failures_as_long_as_the_threshold(
    threshold: int, verdicts: str
) -> None:
    breaker = CircuitBreaker(threshold, 60.0, clock=Time())
    streak = 0
    for verdict in verdicts:
        permit = breaker.acquire()
        assert (permit is None) == (streak >= threshold)
        if permit is None:
            break
        streak = {"F": streak + 1, "S": 0, "C": streak}[verdict]
        {"F": permit.fail, "S": permit.succeed, "C": permit.release}[verdict]()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"threshold": 0}, "threshold must be a whole number >= 1, not 0"),
        ({"reset_timeout": -1.0}, "reset_timeout must be seconds >= 0, not -1.0"),
        ({"reset_timeout": float("nan")}, "reset_timeout must be seconds >= 0, not nan"),
    ],
)
def test_values_out_of_range_are_refused(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        CircuitBreaker(**arguments)
