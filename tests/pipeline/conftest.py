"""Strategies and clocks that a test has in hand."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from acms_adapters.models import ContextFragment, StrategyCapabilities
from acms_adapters.pipeline.rounds import Clock

GUARD_SECONDS = 60  # a broken test fails instead of hanging


class FakeClock(Clock):
    """Stands still until a test or a strategy moves it, and then wakes who waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._lock = threading.Lock()
        self._moved = False
        self._wakers: list[Callable[[], object]] = []

    def monotonic(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds
            self._moved = True
            for wake in self._wakers:
                wake()

    def wait(self, signal: threading.Event, seconds: float) -> None:
        with self._waking(signal.set) as moved:
            assert moved or signal.wait(GUARD_SECONDS), "nothing happened"

    async def await_(self, signal: asyncio.Event, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        with self._waking(lambda: loop.call_soon_threadsafe(signal.set)) as moved:
            if not moved:
                async with asyncio.timeout(GUARD_SECONDS):
                    await signal.wait()

    @contextmanager
    def _waking(self, wake: Callable[[], object]) -> Iterator[bool]:
        """Tells whether the clock was moved since anybody waited."""
        with self._lock:
            moved, self._moved = self._moved, False
            self._wakers.append(wake)
        try:
            yield moved
        finally:
            with self._lock:
                self._wakers = [waker for waker in self._wakers if waker is not wake]


class Stub:
    """A strategy of the native form that does what it is told.

    By default it delivers one fragment of 10 tokens whose text is the strategy's name.
    """

    def __init__(
        self,
        name: str,
        confidence: Any = 0.5,
        *,
        assemble: Callable[..., Any] | None = None,
        quality: float = 0.5,
        **capabilities: Any,
    ) -> None:
        self.name = name
        self.capabilities = StrategyCapabilities(quality_score=quality, **capabilities)
        self.runs = 0
        self.budgets: list[int] = []
        self._confidence = confidence
        self._assemble = assemble

    def can_handle(self, request: Any, backends: Any) -> Any:
        if callable(self._confidence):
            return self._confidence(request, backends)
        return self._confidence

    def assemble(self, request: Any, backends: Any, budget: Any, plan_context: Any) -> Any:
        self.runs += 1
        self.budgets.append(budget.available_tokens)
        if self._assemble is not None:
            return self._assemble(request, backends, budget, plan_context)
        return [ContextFragment(uko_node=f"mem://{self.name}", content=self.name, token_count=10)]

    def explain(self) -> str:
        return self.name


@pytest.fixture
def fake_clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def stub() -> type[Stub]:
    return Stub


@pytest.fixture(params=["sync", "async"])
def execute(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Calls an executor in both of its ways."""

    def call(executor: Any, *positional: Any, **named: Any) -> Any:
        if request.param == "sync":
            return executor.execute(*positional, **named)
        return asyncio.run(executor.aexecute(*positional, **named))

    return call


@pytest.fixture(params=["sync", "async"])
def coordinate(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Calls a coordinator in both of its ways."""

    def call(coordinator: Any, *positional: Any, **named: Any) -> Any:
        if request.param == "sync":
            return coordinator.coordinate(*positional, **named)
        return asyncio.run(coordinator.acoordinate(*positional, **named))

    return call
