"""Strategies run beside each other, each in its time (rulings S3, S7, S8, S11 and M7)."""

import asyncio
import contextvars
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from acms_adapters.models import ContextFragment, ContextRequest, PlanContext, StrategyOptions
from acms_adapters.pipeline.assembly_round import AROUND_STRATEGY
from acms_adapters.pipeline.strategy_executor import StrategyExecutor
from acms_adapters.pipeline.workers import Workers
from acms_adapters.protocols import BackendSet, RequestMemo

GUARD_SECONDS = 60
CALLER: contextvars.ContextVar[str] = contextvars.ContextVar("caller", default="nobody")


def fragment(node: str, tokens: int = 10, **fields: Any) -> ContextFragment:
    return ContextFragment(uko_node=node, content=node, token_count=tokens, **fields)


def forged(**fields: Any) -> ContextFragment:
    """A fragment made without validation."""
    whole = fragment("forged")
    return ContextFragment.model_construct(**{**vars(whole), **fields})


def raises(error: BaseException) -> Callable[..., Any]:
    def assemble(*_: Any) -> Any:
        raise error

    return assemble


def hangs(clock: Any, never: threading.Event, *, seconds: float) -> Callable[..., Any]:
    """Lets `seconds` pass and then never returns."""

    def assemble(*_: Any) -> Any:
        clock.advance(seconds)
        never.wait(GUARD_SECONDS)
        return []

    return assemble


def lasts(clock: Any, seconds: float) -> Callable[..., Any]:
    def assemble(*_: Any) -> Any:
        clock.advance(seconds)
        return [fragment("slow")]

    return assemble


def nodes(result: Any) -> list[str]:
    return [f.uko_node for f in result.fragments]


# --- parallel


def test_s7_as_many_strategies_as_workers_run_at_the_same_time(execute: Any, stub: Any) -> None:
    """D4-26."""
    barrier = threading.Barrier(4)

    def meet(*_: Any) -> Any:
        barrier.wait(GUARD_SECONDS)
        return [fragment("met")]

    strategies = {stub(name, assemble=meet): 100 for name in "abcd"}
    results = execute(StrategyExecutor(max_workers=4), strategies, None, None)
    assert [(r.strategy_name, nodes(r)) for r in results] == [(n, ["met"]) for n in "abcd"]


def test_the_documented_call_gives_a_result_for_each_strategy(execute: Any, stub: Any) -> None:
    """D5-13."""
    results = execute(
        StrategyExecutor(max_workers=4, timeout_seconds=30),
        allocations={stub("semantic-embedding"): 1892, stub("breadth-depth-navigator"): 1692},
        request=ContextRequest(query="io"),
        backends={"vector": True},
        plan_context=PlanContext(plan_id="plan-1"),
    )
    assert [r.strategy_name for r in results] == ["semantic-embedding", "breadth-depth-navigator"]
    assert [(r.total_fragments, r.tokens_used, r.errors) for r in results] == [(1, 10, ())] * 2


def test_no_more_strategies_than_workers_run_at_the_same_time(execute: Any, stub: Any) -> None:
    """D4-26."""
    lock = threading.Lock()
    barrier = threading.Barrier(2)
    running, most = 0, 0

    def count(*_: Any) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        barrier.wait(GUARD_SECONDS)
        with lock:
            running -= 1
        return []

    execute(StrategyExecutor(max_workers=2), {stub(n, assemble=count): 9 for n in "abcd"}, None, {})
    assert most == 2


def test_results_come_in_the_order_of_the_allocations(execute: Any, stub: Any) -> None:
    first_done = threading.Event()

    def after(*_: Any) -> Any:
        first_done.wait(GUARD_SECONDS)
        return []

    def before(*_: Any) -> Any:
        first_done.set()
        return []

    allocations = {stub("z", assemble=after): 9, stub("a", assemble=before): 9}
    results = execute(StrategyExecutor(), allocations, None, None)
    assert [r.strategy_name for r in results] == ["z", "a"]


# --- time


def test_s7_a_stuck_strategy_times_out_and_the_others_answer(
    execute: Any, stub: Any, fake_clock: Any, never: threading.Event
) -> None:
    """S7.stuck, D1-11, D4-27."""
    stuck = stub("stuck", assemble=hangs(fake_clock, never, seconds=6))
    executor = StrategyExecutor(
        limits={"stuck": StrategyOptions(timeout_seconds=5)}, clock=fake_clock
    )
    first, second = execute(executor, {stuck: 50, stub("good"): 50}, None, None)
    assert first.failure.kind == "timeout"
    assert first.errors == (str(first.failure),)
    assert nodes(second) == ["mem://good"]


def test_s7_a_stuck_strategy_frees_its_worker(
    execute: Any, stub: Any, fake_clock: Any, never: threading.Event
) -> None:
    strategies = {
        stub(name, assemble=hangs(fake_clock, never, seconds=6)): 50 for name in ("s1", "s2")
    }
    executor = StrategyExecutor(
        max_workers=1, timeout_seconds=5, deadline_seconds=100, clock=fake_clock
    )
    results = execute(executor, {**strategies, stub("good"): 50}, None, None)
    assert [bool(r.failure) for r in results] == [True, True, False]


def test_s7_waiting_for_a_worker_does_not_use_up_a_strategys_time(
    execute: Any, stub: Any, fake_clock: Any
) -> None:
    executor = StrategyExecutor(
        max_workers=1, timeout_seconds=10, deadline_seconds=100, clock=fake_clock
    )
    strategies = {stub(name, assemble=lasts(fake_clock, 8)): 50 for name in "abc"}
    results = execute(executor, strategies, None, None)
    assert [r.failure for r in results] == [None, None, None]
    assert [r.execution_time_ms for r in results] == [8000.0, 8000.0, 8000.0]


def test_s7_an_answer_after_its_own_timeout_is_a_timeout_though_nobody_looked_earlier(
    execute: Any, stub: Any, fake_clock: Any
) -> None:
    executor = StrategyExecutor(timeout_seconds=10, deadline_seconds=100, clock=fake_clock)
    (result,) = execute(executor, {stub("slow", assemble=lasts(fake_clock, 11)): 50}, None, None)
    assert result.failure.kind == "timeout"
    assert result.fragments == ()


def test_s7_the_deadline_ends_what_runs_and_what_waits(
    execute: Any, stub: Any, fake_clock: Any, never: threading.Event
) -> None:
    """S7.deadline."""
    stuck = stub("stuck", assemble=hangs(fake_clock, never, seconds=11))
    waiting = stub("waiting")
    executor = StrategyExecutor(max_workers=1, deadline_seconds=10, clock=fake_clock)
    first, second = execute(executor, {stuck: 50, waiting: 50}, None, None)
    assert first.failure.kind == "timeout"
    assert "no worker was free" in second.failure.message
    assert waiting.runs == 0


def test_s7_the_deadline_is_the_largest_timeout_unless_told_otherwise(
    execute: Any, stub: Any, fake_clock: Any
) -> None:
    """S7.deadline."""
    limits = {"a": StrategyOptions(timeout_seconds=10), "b": StrategyOptions(timeout_seconds=45)}
    executor = StrategyExecutor(max_workers=1, limits=limits, clock=fake_clock)
    strategies = {
        stub("a", assemble=lasts(fake_clock, 9)): 50,
        stub("b", assemble=lasts(fake_clock, 40)): 50,
    }
    first, second = execute(executor, strategies, None, None)
    assert first.failure is None
    assert second.failure.kind == "timeout"  # within its own 45 s, but 49 s after the start


def test_s7_document_6s_timeouts_hold_where_a_strategys_options_declare_them() -> None:
    """S7.own."""

    class OwnDefaults(StrategyOptions):
        timeout_seconds: float = 10.0

    executor = StrategyExecutor(
        timeout_seconds=7.0,
        circuit_breaker_threshold=5,
        limits={
            "own": OwnDefaults(),
            "plain": StrategyOptions(enabled=True),
            "set": StrategyOptions(timeout_seconds=30.0, circuit_breaker_threshold=1),
        },
    )
    assert executor.options("own").timeout_seconds == 10.0
    assert executor.options("plain").timeout_seconds == 7.0
    assert executor.options("set").timeout_seconds == 30.0
    assert executor.options("nobody").timeout_seconds == 7.0
    thresholds = [executor.options(n).circuit_breaker_threshold for n in ("own", "plain", "set")]
    assert thresholds == [5, 5, 1]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_s7_a_stuck_strategy_does_not_delay_the_exit_of_the_interpreter(mode: str) -> None:
    """S7.stuck."""
    program = f"""
import asyncio, threading
from acms_adapters.models import StrategyCapabilities
from acms_adapters.pipeline.strategy_executor import StrategyExecutor

class Stuck:
    name = "stuck"
    capabilities = StrategyCapabilities()
    def can_handle(self, request, backends): return 1.0
    def assemble(self, request, backends, budget, plan_context): threading.Event().wait()

executor = StrategyExecutor(timeout_seconds=0.05)
if "{mode}" == "sync":
    results = executor.execute({{Stuck(): 9}}, None, None)
else:
    results = asyncio.run(executor.aexecute({{Stuck(): 9}}, None, None))
print(results[0].failure.kind)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=GUARD_SECONDS
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "timeout"), ran.stderr


def test_s7_a_report_after_the_event_loop_is_gone_disturbs_nobody(
    stub: Any, fake_clock: Any, never: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    heard = threading.Event()

    class Ears(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "after its round" in record.getMessage():
                heard.set()

    ears, logger = Ears(), logging.getLogger("acms_adapters.pipeline.rounds")
    logger.addHandler(ears)
    try:
        with caplog.at_level(logging.INFO, logger=logger.name):
            stuck = stub("stuck", assemble=hangs(fake_clock, never, seconds=31))
            executor = StrategyExecutor(clock=fake_clock)
            (result,) = asyncio.run(executor.aexecute({stuck: 9}, None, None))
            assert result.failure.kind == "timeout"
            never.set()
            assert heard.wait(GUARD_SECONDS)
    finally:
        logger.removeHandler(ears)


# --- what surrounds a strategy


def test_s11_context_variables_of_the_caller_are_seen_and_not_changed(
    execute: Any, stub: Any
) -> None:
    seen: dict[str, str] = {}
    barrier = threading.Barrier(2)

    def look(name: str) -> Callable[..., Any]:
        def assemble(*_: Any) -> Any:
            seen[name] = CALLER.get()
            CALLER.set(name)
            barrier.wait(GUARD_SECONDS)
            assert CALLER.get() == name
            return []

        return assemble

    token = CALLER.set("caller")
    try:
        strategies = {stub(n, assemble=look(n)): 9 for n in "ab"}
        results = execute(StrategyExecutor(), strategies, None, None)
        assert [r.failure for r in results] == [None, None]
        assert CALLER.get() == "caller"
    finally:
        CALLER.reset(token)
    assert seen == {"a": "caller", "b": "caller"}


@pytest.fixture
def around() -> Iterator[list[str]]:
    """Sets a function around each strategy that notes its name and sets a context variable."""
    names: list[str] = []

    def call(name: str, run: Callable[[], Any]) -> Any:
        names.append(name)
        CALLER.set(f"around {name}")
        return run()

    token = AROUND_STRATEGY.set(call)
    yield names
    AROUND_STRATEGY.reset(token)


def test_s11_an_adapter_can_wrap_the_run_of_each_strategy(
    execute: Any, stub: Any, around: list[str]
) -> None:
    seen: dict[str, str] = {}

    def look(name: str) -> Callable[..., Any]:
        return lambda *_: seen.update({name: CALLER.get()}) or []

    execute(StrategyExecutor(), {stub(n, assemble=look(n)): 9 for n in "ab"}, None, None)
    assert sorted(around) == ["a", "b"]
    assert seen == {"a": "around a", "b": "around b"}
    assert CALLER.get() == "nobody"


async def test_s11_the_wrapping_reaches_into_a_coroutine(stub: Any, around: list[str]) -> None:
    seen: list[str] = []

    class Native(stub):  # type: ignore[misc, valid-type]
        async def aassemble(self, *_: Any) -> Any:
            await asyncio.sleep(0)
            seen.append(CALLER.get())
            return []

    await StrategyExecutor().aexecute({Native("a"): 9}, None, None)
    assert seen == ["around a"]


def test_a_wrapping_that_returns_something_else_is_a_failure_that_says_so(
    execute: Any, stub: Any
) -> None:
    token = AROUND_STRATEGY.set(lambda name, run: "done")
    try:
        (result,) = execute(StrategyExecutor(), {stub("a"): 9}, None, None)
    finally:
        AROUND_STRATEGY.reset(token)
    assert "must return what the function it is given returns" in result.failure.message


def test_a_strategy_gets_the_request_the_backends_its_share_and_the_plan(
    execute: Any, stub: Any
) -> None:
    """D3-3."""
    given: list[Any] = []
    strategy = stub("a", assemble=lambda *arguments: given.extend(arguments) or [])
    execute(StrategyExecutor(), {strategy: 70}, {"query": "q"}, {"text": True}, {"plan_id": "p"})
    request, backends, budget, plan = given
    assert request.query == "q"
    assert backends.has("text")
    assert budget.available_tokens == 70
    assert plan == PlanContext(plan_id="p")


def test_m5_the_plan_of_the_request_is_the_one_when_no_other_is_given(
    execute: Any, stub: Any
) -> None:
    plans: list[Any] = []
    strategy = stub("a", assemble=lambda request, backends, budget, plan: plans.append(plan) or [])
    executor = StrategyExecutor()
    execute(executor, {strategy: 9}, {"plan_id": "p1"}, None)
    execute(executor, {strategy: 9}, {"plan_context": {"plan_id": "p2"}}, None)
    execute(executor, {strategy: 9}, None, None)
    assert [plan.plan_id for plan in plans] == ["p1", "p2", None]


# --- event loops


async def test_a_strategy_with_a_coroutine_is_awaited_on_the_callers_loop(stub: Any) -> None:
    loop = asyncio.get_running_loop()
    threads: list[Any] = []

    class Native(stub):  # type: ignore[misc, valid-type]
        async def aassemble(self, *_: Any) -> Any:
            assert asyncio.get_running_loop() is loop
            threads.append(threading.current_thread())
            return [fragment("awaited")]

    strategy = Native("a")
    (result,) = await StrategyExecutor().aexecute({strategy: 50}, None, None)
    assert nodes(result) == ["awaited"]
    assert strategy.runs == 0
    assert threads == [threading.current_thread()]


def test_without_a_loop_the_plain_method_of_such_a_strategy_is_used(stub: Any) -> None:
    class Native(stub):  # type: ignore[misc, valid-type]
        async def aassemble(self, *_: Any) -> Any:
            raise AssertionError("not to be awaited")

    (result,) = StrategyExecutor().execute({Native("a"): 50}, None, None)
    assert nodes(result) == ["mem://a"]


async def test_a_plain_strategy_never_blocks_the_loop(stub: Any) -> None:
    """B1.async."""
    set_by_the_loop = threading.Event()

    def wait_for_the_loop(*_: Any) -> Any:
        loop.call_soon_threadsafe(set_by_the_loop.set)
        assert set_by_the_loop.wait(GUARD_SECONDS)
        return [fragment("went on")]

    loop = asyncio.get_running_loop()
    strategy = stub("a", assemble=wait_for_the_loop)
    (result,) = await StrategyExecutor().aexecute({strategy: 50}, None, None)
    assert nodes(result) == ["went on"]


async def test_coroutines_need_no_worker(stub: Any) -> None:
    all_there = asyncio.Barrier(3)

    class Native(stub):  # type: ignore[misc, valid-type]
        async def aassemble(self, *_: Any) -> Any:
            async with asyncio.timeout(GUARD_SECONDS):
                await all_there.wait()
            return []

    executor = StrategyExecutor(max_workers=1)
    results = await executor.aexecute({Native(n): 9 for n in "abc"}, None, None)
    assert [r.failure for r in results] == [None] * 3


async def test_a_coroutine_takes_no_worker_from_a_plain_strategy(stub: Any) -> None:
    plain_ran = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Native(stub):  # type: ignore[misc, valid-type]
        async def aassemble(self, *_: Any) -> Any:
            async with asyncio.timeout(GUARD_SECONDS):
                await plain_ran.wait()
            return []

    plain = stub("b", assemble=lambda *_: loop.call_soon_threadsafe(plain_ran.set) and [])
    results = await StrategyExecutor(max_workers=1).aexecute({Native("a"): 9, plain: 9}, None, None)
    assert [r.failure for r in results] == [None, None]


async def test_a_coroutine_that_hangs_is_cancelled_at_its_timeout(
    stub: Any, fake_clock: Any
) -> None:
    cancelled = asyncio.Event()

    class Native(stub):  # type: ignore[misc, valid-type]
        async def aassemble(self, *_: Any) -> Any:
            fake_clock.advance(31)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

    (result,) = await StrategyExecutor(clock=fake_clock).aexecute({Native("a"): 9}, None, None)
    assert result.failure.kind == "timeout"
    async with asyncio.timeout(GUARD_SECONDS):
        await cancelled.wait()


async def test_a_cancelled_call_cancels_its_coroutines_and_is_no_failure_of_theirs(
    stub: Any,
) -> None:
    """S8.cancelled."""
    started, cancelled = asyncio.Event(), asyncio.Event()

    class Native(stub):  # type: ignore[misc, valid-type]
        async def aassemble(self, *_: Any) -> Any:
            started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

    executor = StrategyExecutor(circuit_breaker_threshold=1)
    call = asyncio.create_task(executor.aexecute({Native("a"): 9}, None, None))
    async with asyncio.timeout(GUARD_SECONDS):
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await cancelled.wait()
    assert executor.breaker("a").state == "closed"


async def test_s8_a_cancelled_probe_lets_the_next_one_through(
    stub: Any, fake_clock: Any, never: threading.Event
) -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()
    acts: list[Callable[..., Any]] = [
        raises(ValueError()),
        lambda *_: loop.call_soon_threadsafe(started.set) and never.wait(GUARD_SECONDS),
        lambda *_: [],
    ]
    strategy = stub("a", assemble=lambda *arguments: acts.pop(0)(*arguments))
    executor = StrategyExecutor(circuit_breaker_threshold=1, clock=fake_clock)
    await executor.aexecute({strategy: 9}, None, None)
    fake_clock.advance(60)
    probe = asyncio.create_task(executor.aexecute({strategy: 9}, None, None))
    async with asyncio.timeout(GUARD_SECONDS):
        await started.wait()
    assert executor.breaker("a").refuses
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    (result,) = await executor.aexecute({strategy: 9}, None, None)
    assert result.failure is None
    assert executor.breaker("a").state == "closed"


# --- failures


@pytest.mark.parametrize(
    "interrupt", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()], ids=repr
)
def test_an_interrupt_inside_a_strategy_reaches_the_caller(
    stub: Any, interrupt: BaseException
) -> None:
    executor = StrategyExecutor(circuit_breaker_threshold=1)
    with pytest.raises(type(interrupt)):
        executor.execute({stub("a", assemble=raises(interrupt)): 9, stub("b"): 9}, None, None)
    assert executor.breaker("a").state == "closed"
    assert executor.breaker("b").state == "closed"


async def test_a_cancellation_inside_a_strategy_reaches_the_caller_of_a_coroutine(
    stub: Any,
) -> None:
    strategy = stub("a", assemble=raises(asyncio.CancelledError()))
    with pytest.raises(asyncio.CancelledError):
        await StrategyExecutor().aexecute({strategy: 9}, None, None)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("wrong"),
        BaseException("a panic of native code"),
        RuntimeError("half a character \ud83d"),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_s9_whatever_else_is_raised_is_a_failure_of_that_strategy_alone(
    execute: Any, stub: Any, error: BaseException
) -> None:
    bad, good = execute(
        StrategyExecutor(), {stub("bad", assemble=raises(error)): 9, stub("good"): 50}, None, None
    )
    assert (bad.failure.strategy, bad.failure.kind) == ("bad", "error")
    assert type(error).__name__ in bad.failure.message
    bad.failure.message.encode("utf-8")
    assert nodes(good) == ["mem://good"]


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        42,
        "text",
        b"bytes",
        {"uko_node": "a", "content": "b"},
        ["a", "b"],
        [None],
        [fragment("fine"), {"uko_node": "a"}],
        [forged(token_count=-5)],
        [forged(token_count="many")],
        [forged(relevance_score="high")],
        [forged(content=None)],
        [forged(tier="tepid")],
        [forged(metadata=None)],
        [forged(provenance=None)],
        [forged(created_at=None)],
        [ContextFragment.model_construct(uko_node="a", metadata=None)],
        object(),
    ],
    ids=lambda garbage: repr(garbage)[:20],
)
def test_s9_what_is_no_list_of_fragments_is_invalid(execute: Any, stub: Any, garbage: Any) -> None:
    (result,) = execute(StrategyExecutor(), {stub("a", assemble=lambda *_: garbage): 9}, None, None)
    assert result.failure.kind == "invalid"
    assert result.fragments == ()


def test_a_coroutine_in_the_place_of_assemble_is_invalid_and_says_its_right_name(
    execute: Any, stub: Any
) -> None:
    async def assemble(*_: Any) -> Any:
        return []

    (result,) = execute(StrategyExecutor(), {stub("a", assemble=assemble): 9}, None, None)
    assert result.failure.kind == "invalid"
    assert "aassemble" in result.failure.message


def test_an_error_while_a_lazy_answer_is_read_is_the_strategys_error(
    execute: Any, stub: Any
) -> None:
    """D4-74."""

    def lazy(*_: Any) -> Iterator[ContextFragment]:
        yield fragment("a")
        raise OSError("gone")

    (result,) = execute(StrategyExecutor(), {stub("a", assemble=lazy): 9}, None, None)
    assert result.failure.kind == "error"
    assert "gone" in result.failure.message


def test_an_endless_answer_is_read_no_further_than_its_timeout(
    execute: Any, stub: Any, fake_clock: Any
) -> None:
    """D4-74."""
    closed = threading.Event()

    def endless(*_: Any) -> Iterator[ContextFragment]:
        try:
            while True:
                yield fragment("more")
                fake_clock.advance(1)
        finally:
            closed.set()

    executor = StrategyExecutor(timeout_seconds=5, clock=fake_clock)
    (result,) = execute(executor, {stub("a", assemble=endless): 9}, None, None)
    assert result.failure.kind == "timeout"
    assert closed.wait(GUARD_SECONDS)


# --- circuit breaker


def test_s8_a_strategy_that_keeps_failing_is_not_asked_until_the_reset_time(
    execute: Any, stub: Any, fake_clock: Any
) -> None:
    """D5-17."""
    answers: list[Any] = [
        ValueError(),
        ValueError(),
        None,
        ValueError(),
        ValueError(),
        ValueError(),
    ]

    def assemble(*_: Any) -> Any:
        if answers and (error := answers.pop(0)):
            raise error
        return []

    strategy = stub("a", assemble=assemble)
    executor = StrategyExecutor(clock=fake_clock)

    def kind() -> str | None:
        (result,) = execute(executor, {strategy: 9}, None, None)
        return result.failure and result.failure.kind

    assert [kind() for _ in range(6)] == ["error", "error", None, "error", "error", "error"]
    assert kind() == "circuit_open"
    assert strategy.runs == 6
    fake_clock.advance(60)
    assert kind() is None
    assert executor.breaker("a").state == "closed"


def test_s8_timeouts_and_garbage_count_as_failures(
    execute: Any, stub: Any, fake_clock: Any
) -> None:
    """D1-11."""
    acts = iter([lasts(fake_clock, 31), lambda *_: 42])
    strategy = stub("a", assemble=lambda *arguments: next(acts)(*arguments))
    executor = StrategyExecutor(circuit_breaker_threshold=2, clock=fake_clock)
    for _ in range(2):
        execute(executor, {strategy: 9}, None, None)
    assert executor.breaker("a").state == "open"


def test_s8_waiting_in_vain_for_a_worker_is_no_failure_of_the_strategy(
    execute: Any, stub: Any, fake_clock: Any
) -> None:
    executor = StrategyExecutor(max_workers=1, circuit_breaker_threshold=1, clock=fake_clock)
    strategies = {stub("slow", assemble=lasts(fake_clock, 31)): 9, stub("waiting"): 9}
    execute(executor, strategies, None, None)
    assert executor.breaker("slow").state == "open"
    assert executor.breaker("waiting").state == "closed"


def test_s8_a_failed_probe_reopens_the_circuit(execute: Any, stub: Any, fake_clock: Any) -> None:
    strategy = stub("a", assemble=raises(ValueError()))
    executor = StrategyExecutor(circuit_breaker_threshold=1, clock=fake_clock)
    execute(executor, {strategy: 9}, None, None)
    fake_clock.advance(60)
    (probe,) = execute(executor, {strategy: 9}, None, None)
    assert probe.failure.kind == "error"
    (after,) = execute(executor, {strategy: 9}, None, None)
    assert after.failure.kind == "circuit_open"


# --- what is taken of an answer


def take(execute: Any, stub: Any, delivered: Any, tokens: int = 100, **options: Any) -> Any:
    strategy = stub("a", assemble=lambda *_: delivered)
    (result,) = execute(StrategyExecutor(**options), {strategy: tokens}, None, None)
    return result


def test_fragments_are_ordered_by_relevance_then_node(execute: Any, stub: Any) -> None:
    """D3-25."""
    pool = [
        fragment("c", relevance_score=0.5),
        fragment("a", relevance_score=0.5),
        fragment("b", relevance_score=0.9),
    ]
    result = take(execute, stub, pool)
    assert nodes(result) == ["b", "a", "c"]
    assert (result.total_fragments, result.tokens_used) == (3, 30)


def test_s3_what_does_not_fit_the_share_is_skipped_and_travels_as_reserve(
    execute: Any, stub: Any
) -> None:
    """D3-4."""
    pool = [
        fragment("big", 900, relevance_score=0.9),
        fragment("one", 50, relevance_score=0.8),
        fragment("two", 50, relevance_score=0.7),
        fragment("three", 50, relevance_score=0.6),
    ]
    result = take(execute, stub, pool, tokens=120)
    assert nodes(result) == ["one", "two"]
    assert result.tokens_used == 100
    assert [f.uko_node for f in result.reserve] == ["big", "three"]


def test_s3_without_reserve_nothing_lies_beyond_the_share(execute: Any, stub: Any) -> None:
    pool = [fragment("one", 50, relevance_score=0.8), fragment("two", 90)]
    result = take(execute, stub, pool, tokens=100, reserve=False)
    assert nodes(result) == ["one"]
    assert result.reserve == ()


def test_s3_share_and_reserve_together_hold_at_most_max_fragments(execute: Any, stub: Any) -> None:
    """S3.limit, D3-24, D5-63."""
    pool = [fragment(str(i), relevance_score=i / 10) for i in range(10)]
    result = take(execute, stub, pool, tokens=20, limits={"a": StrategyOptions(max_fragments=5)})
    assert nodes(result) == ["9", "8"]
    assert [f.uko_node for f in result.reserve] == ["7", "6", "5"]
    assert result.total_fragments == 10


def test_s3_a_share_of_zero_is_not_run(execute: Any, stub: Any) -> None:
    strategy = stub("a")
    (result,) = execute(StrategyExecutor(), {strategy: 0}, None, None)
    assert (result.failure, result.fragments, strategy.runs) == (None, (), 0)


def test_every_fragment_is_stamped_with_its_strategy_and_score(execute: Any, stub: Any) -> None:
    """D4-3."""
    earlier = fragment("a", relevance_score=0.7)
    earlier = earlier.model_copy(
        update={"provenance": earlier.provenance.model_copy(update={"strategy": "x", "score": 0.1})}
    )
    result = take(execute, stub, [earlier, fragment("big", 500, relevance_score=0.6)])
    (kept,), (reserve,) = result.fragments, result.reserve
    assert (kept.provenance.strategy, kept.provenance.score) == ("a", 0.7)
    assert (reserve.provenance.strategy, reserve.provenance.score) == ("a", 0.6)
    assert kept.fragment_id == earlier.fragment_id
    assert earlier.provenance.strategy == "x"


def test_m7_scores_out_of_range_are_mapped_into_it_keeping_their_order(
    execute: Any, stub: Any
) -> None:
    scores = {"far": 250.0, "near": 3.0, "under": -2.0, "none": float("nan")}
    pool = [forged(uko_node=node, relevance_score=score) for node, score in scores.items()]
    result = take(execute, stub, pool)
    assert nodes(result) == ["far", "near", "under", "none"]
    relevance = [f.relevance_score for f in result.fragments]
    assert relevance == sorted(relevance, reverse=True)
    assert all(0.0 <= value <= 1.0 for value in relevance)
    assert relevance[0] > relevance[1] > relevance[2] > relevance[3] == 0.0
    assert [f.provenance.score for f in result.fragments] == relevance


def test_scores_in_range_stay_as_they_are(execute: Any, stub: Any) -> None:
    result = take(execute, stub, [fragment("a", relevance_score=0.31)])
    assert result.fragments[0].relevance_score == 0.31


def test_what_a_caller_changes_in_an_answer_does_not_reach_the_strategy(
    execute: Any, stub: Any
) -> None:
    own = fragment("a", metadata={"tags": ["x"], "n": 1})
    first = take(execute, stub, [own]).fragments[0]
    first.metadata["tags"].append("changed")
    first.metadata["n"] = 2
    second = take(execute, stub, [own]).fragments[0]
    assert second.metadata == {"tags": ["x"], "n": 1}
    assert own.metadata == {"tags": ["x"], "n": 1}


def test_a_result_tells_the_documented_figures(execute: Any, stub: Any) -> None:
    """D3-23."""
    pool = [
        fragment("a", 30, relevance_score=0.9, tier="hot"),
        fragment("b", 20, relevance_score=0.5),
    ]
    assert take(execute, stub, pool).stats == {
        "cache_hits": 0,
        "allotted_tokens": 100,
        "budget_used": 0.5,
        "avg_relevance": 0.7,
        "tier_distribution": {"hot": 1, "warm": 1, "cold": 0},
    }


def test_a_result_tells_how_often_another_strategy_had_asked_already(
    execute: Any, stub: Any
) -> None:
    def ask(request: Any, backends: BackendSet, *_: Any) -> list[ContextFragment]:
        assert backends.memo is not None
        return [backends.memo.once("found", lambda: fragment("x")) for _ in range(2)]

    strategies = {stub("a", assemble=ask): 100, stub("b", assemble=ask): 100}
    memo = RequestMemo()
    results = execute(StrategyExecutor(), strategies, None, BackendSet(memo=memo))
    assert sorted(result.stats["cache_hits"] for result in results) == [1, 2]
    assert memo.hits == 0


def test_s1_a_strategy_of_the_short_form_gets_the_candidates(execute: Any) -> None:
    from acms_adapters.models import StrategyCapabilities
    from acms_adapters.protocols import BackendSet

    class Short:
        name = "short"
        capabilities = StrategyCapabilities(uses_text=True)

        def can_handle(self, request: Any) -> float:
            return 1.0

        def assemble(self, fragments: Any, budget: Any) -> Any:
            return fragments

    pool = (fragment("x"), fragment("y"))
    (result,) = execute(StrategyExecutor(), {Short(): 100}, None, BackendSet(candidates=pool))
    assert nodes(result) == ["x", "y"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_workers": 0}, "max_workers must be a whole number >= 1, not 0"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"circuit_breaker_threshold": 0}, "circuit_breaker_threshold"),
        ({"circuit_breaker_reset_timeout": -1}, "reset_timeout must be seconds >= 0, not -1"),
        ({"deadline_seconds": 0}, "deadline_seconds must be seconds > 0, not 0"),
        ({"max_fragments": 0}, "max_fragments"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        StrategyExecutor(**options)


# --- workers


@pytest.mark.parametrize("idle_seconds", [0.0, 30.0])
def test_workers_run_everything_they_are_given(idle_seconds: float) -> None:
    workers = Workers(idle_seconds=idle_seconds)
    done = threading.Semaphore(0)
    for _ in range(300):
        workers.submit(done.release)
    for _ in range(300):
        assert done.acquire(timeout=GUARD_SECONDS)


def test_an_idle_worker_is_used_again() -> None:
    workers = Workers(idle_seconds=30.0)
    idents: list[int] = []
    done = threading.Event()

    def note() -> None:
        idents.append(threading.get_ident())
        done.set()

    for _ in range(50):
        done.clear()
        workers.submit(note)
        assert done.wait(GUARD_SECONDS)
    assert len(set(idents)) < 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_workers_can_be_used_in_a_process_that_was_forked() -> None:
    program = """
import os, threading
from acms_adapters.pipeline.workers import Workers

workers = Workers()
for _ in range(5):  # leaves idle threads behind
    done = threading.Event()
    workers.submit(done.set)
    done.wait(60)
child = os.fork()
if child == 0:
    done = threading.Event()
    workers.submit(done.set)
    os._exit(0 if done.wait(60) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=2 * GUARD_SECONDS,
    )
    assert ran.stdout.strip() == "0", ran.stderr


class Told(list[ContextFragment]):
    """A delivery that tells how it came about."""

    total = 7
    stats: ClassVar[Any] = {"ignored": ["nobody"], "allotted_tokens": -1}


def test_the_figures_of_a_delivery_reach_its_result_beside_those_of_the_executor(
    execute: Any, stub: Any
) -> None:
    (result,) = execute(
        StrategyExecutor(),
        {stub("a", assemble=lambda *_: Told([fragment("x")])): 100},
        {},
        {},
        {},
    )
    assert result.stats["ignored"] == ["nobody"]
    assert result.stats["allotted_tokens"] == 100
    assert result.total_fragments == 7


def test_figures_that_are_none_do_no_harm(execute: Any, stub: Any) -> None:
    class Odd(Told):
        total = "many"  # type: ignore[assignment]
        stats: ClassVar[Any] = 3

    (result,) = execute(
        StrategyExecutor(),
        {stub("a", assemble=lambda *_: Odd([fragment("x")])): 100},
        {},
        {},
        {},
    )
    assert result.total_fragments == 1
    assert nodes(result) == ["x"]
