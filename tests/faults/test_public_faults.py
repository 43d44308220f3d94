"""Faults that people report of other libraries, each end to end with the input reported for it.

Counting and budgets first, then strategies that fail and calls at the same time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from acms_adapters import (
    ACMSPipeline,
    BudgetError,
    ContextBudget,
    ContextFragment,
    ContextRequest,
    ContextStore,
    CoordinatorConfig,
    NothingAnsweredError,
    StrategyCapabilities,
    StrategyCoordinator,
    token_counter,
)
from acms_adapters.models import new_id
from acms_adapters.models.estimate import estimate_tokens
from acms_adapters.pipeline.rounds import Clock

FACTS = {
    "limiter": "The rate limiter refills its token bucket every second.",
    "parser": "The parser closes the brackets of an unfinished JSON string.",
}


class Text(NamedTuple):
    """A document by shape."""

    id: str
    page_content: str
    metadata: dict[str, Any]


class Told:
    """A strategy that does what it is told."""

    capabilities = StrategyCapabilities(uses_text=True, resource_types=("document",))

    def __init__(self, name: str, deliver: Callable[[], Any]) -> None:
        self.name = name
        self._deliver = deliver

    def can_handle(self, request: Any, backends: Any) -> float:
        return 0.5

    def assemble(self, request: Any, backends: Any, budget: Any, plan_context: Any) -> Any:
        return self._deliver()

    def explain(self) -> str:
        return "Does what it is told."


def told(*strategies: Told) -> ACMSPipeline:
    return ACMSPipeline(strategies=strategies, backends={"text": True})


def fragments(texts: dict[str, str] = FACTS, **fields: Any) -> list[ContextFragment]:
    return [
        ContextFragment(uko_node=f"mem://{name}", content=text, **fields)
        for name, text in texts.items()
    ]


def documents(texts: dict[str, str]) -> list[Text]:
    return [Text(name, text, {"source": f"mem://{name}"}) for name, text in texts.items()]


# --- counting and budgets


@pytest.mark.parametrize("kept_in", ["memory", "a folder", "nothing"])
def test_lone_surrogate(assemble, tmp_path: Path, kept_in: str) -> None:
    texts = {**FACTS, "half": "the limiter and the parser of x\ud83d"}
    question = "limiter parser"
    if kept_in == "nothing":
        payload = assemble(ACMSPipeline(), question, fragments=fragments(texts))
    else:
        place = tmp_path / "store"
        store = ContextStore.open(place) if kept_in == "a folder" else ContextStore.in_memory()
        with store:
            store.add_documents(documents(texts))
            payload = assemble(store.pipeline(), question, budget=2_000)
    text = payload.render()
    assert all(fact in text for fact in FACTS.values())
    assert "x\ufffd" in text
    text.encode("utf-8")
    payload.model_dump_json().encode("utf-8")


def test_unknown_model_name(assemble, caplog: pytest.LogCaptureFixture) -> None:
    model = f"claude-sonnet-{new_id()}"  # each name is warned of once
    request = ContextRequest(query="limiter", tokenizer=model)
    with caplog.at_level(logging.WARNING):
        payload = assemble(ACMSPipeline(), request, fragments=fragments(), budget=200)
    assert 0 < payload.rendered_tokens <= 200
    assert payload.rendered_tokens >= token_counter("cl100k_base").count(payload.render())
    assert model in caplog.text


OFFLINE = """
import socket

def refuse(*args, **options):
    raise OSError("there is no network")

socket.socket.connect = socket.getaddrinfo = refuse
from acms_adapters import ACMSPipeline, ContextFragment
found = [ContextFragment(uko_node="mem://a", content="the limiter refills its bucket")]
payload = ACMSPipeline().assemble("limiter", fragments=found, budget=100)
print(len(payload.fragments), payload.is_within_budget)
"""


def test_no_network(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        env={**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.stdout.split() == ["1", "True"], done.stderr


def test_pathological_long_text(assemble) -> None:
    texts = {**FACTS, "long": "^" * 1_000_001, "letters": "a" * 1_000_001}
    with ContextStore.in_memory(embedder=None) as store:
        report = store.add_documents(documents(texts))
        assert report.added == tuple(texts)
        payload = assemble(store.pipeline(), "limiter parser", budget=500)
    assert all(fact in payload.render() for fact in FACTS.values())
    assert payload.is_within_budget


@pytest.mark.parametrize(
    "text", ["你好世界" * 25, "한국어 문장" * 25, "🙂" * 50, "ありがとう" * 25]
)
def test_heuristics_undercount_cjk(text: str) -> None:
    for encoding in ("cl100k_base", "o200k_base"):
        assert estimate_tokens(text) >= token_counter(encoding).count(text)


def test_one_document_bigger_than_the_budget(assemble) -> None:
    whole = " ".join(f"Sentence {i} tells of the zebra." for i in range(1_500))
    with ContextStore.in_memory(embedder=None) as store:
        store.add_documents(documents({"zebra": whole}))
        read = assemble(store.pipeline(), "zebra", budget=200)
    given = assemble(ACMSPipeline(), "zebra", fragments=fragments({"zebra": whole}), budget=200)
    for payload in (read, given):
        assert payload.rendered_tokens <= 200
        assert payload.fragments or payload.ledger.entries[0].explain().startswith("over_budget")


def test_greedy_packing_stops_or_cheats(assemble) -> None:
    sizes = {"large": 900, "one": 50, "two": 50}
    found = [
        ContextFragment(uko_node=name, content=name, token_count=size, relevance_score=score)
        for (name, size), score in zip(sizes.items(), (0.9, 0.8, 0.7), strict=True)
    ]
    payload = assemble(ACMSPipeline(), "plan", found, 120, layout="bare")
    assert [f.uko_node for f in payload.fragments] == ["one", "two"]
    assert payload.total_tokens == 100


@pytest.mark.parametrize(
    ("max_tokens", "reserved_tokens"), [(0, 0), (10, 10), (10, 11), (-1, 0), (10, -1)]
)
def test_degenerate_budgets_are_refused(max_tokens: int, reserved_tokens: int) -> None:
    with pytest.raises(ValueError, match="tokens"):
        ContextBudget(max_tokens=max_tokens, reserved_tokens=reserved_tokens)


def test_degenerate_budgets_that_can_be_give_finite_figures(assemble) -> None:
    assert ContextBudget(max_tokens=10, reserved_tokens=0).available_tokens == 10
    payload = assemble(ACMSPipeline(), "plan", fragments(), ContextBudget(max_tokens=1))
    assert (payload.fragments, payload.budget_used, payload.rendered_tokens) == ((), 0.0, 0)
    shares = CoordinatorConfig(min_useful_budget=0, allocator_strategy="priority")
    result = StrategyCoordinator(config=shares).coordinate(
        None, [Told("a", fragments), Told("b", fragments)], 1
    )
    assert sum(tokens for _, _, tokens in result.allocations) <= 1
    assert issubclass(BudgetError, ValueError)


# --- strategies that fail, and calls at the same time


def fail() -> Any:
    raise OSError("the disk is on fire")


def test_one_strategy_fails(assemble) -> None:
    payload = assemble(told(Told("words", fragments), Told("vectors", fail)), "anything")
    assert len(payload.fragments) == len(FACTS)
    assert [failure.strategy for failure in payload.failures] == ["vectors"]


def test_one_strategy_fails_and_all_of_them_do_is_not_nothing_found(assemble) -> None:
    with pytest.raises(NothingAnsweredError, match="the disk is on fire"):
        assemble(told(Told("words", fail), Told("vectors", fail)), "anything")
    nothing = assemble(told(Told("words", list)), "anything")
    assert (nothing.fragments, nothing.failures, nothing.degraded) == ((), (), False)


async def test_one_strategy_fails_but_a_cancelled_call_is_cancelled(never: threading.Event) -> None:
    started = threading.Event()

    def hang() -> Any:
        started.set()
        never.wait()

    call = asyncio.create_task(told(Told("words", hang)).aassemble("anything"))
    await asyncio.to_thread(started.wait, 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


class Standing(Clock):
    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_circuit_breaker_semantics() -> None:
    clock, outcomes, asked = Standing(), list("FFSFFF"), []

    def deliver() -> Any:
        asked.append(outcomes[0])
        return fail() if outcomes.pop(0) == "F" else fragments()

    config = CoordinatorConfig(
        circuit_breaker_threshold=3, circuit_breaker_reset_timeout=60, default_strategy=None
    )
    coordinator = StrategyCoordinator(config=config, clock=clock)

    def call() -> list[str]:
        return coordinator.coordinate(None, [Told("shaky", deliver)], 1_000).circuit_broken

    assert [call() for _ in range(5)] == [[]] * 5  # F F S F F: never three in a row
    assert call() == ["shaky"]
    assert call() == ["shaky"]
    assert len(asked) == 6
    outcomes.append("F")
    clock.now += 60
    assert call() == ["shaky"]  # one probe, which fails
    assert call() == ["shaky"]
    assert len(asked) == 7
    outcomes.append("S")
    clock.now += 60
    assert call() == []


CALLER: ContextVar[str] = ContextVar("caller", default="nobody")


def test_context_variables_lost_in_workers(assemble) -> None:
    seen: list[str] = []

    def look() -> Sequence[ContextFragment]:
        seen.append(CALLER.get())
        return fragments()

    token = CALLER.set("me")
    try:
        assemble(told(Told("one", look), Told("two", look)), "anything")
    finally:
        CALLER.reset(token)
    assert seen == ["me", "me"]


def test_shared_mutable_state() -> None:
    with ContextStore.in_memory(embedder=None) as store:
        store.add_documents([Text(name, text, {"tags": [name]}) for name, text in FACTS.items()])
        pipeline = store.pipeline()
        calls = [("limiter", 100), ("parser", 200)]
        expected = [pipeline.assemble(word, budget=budget) for word, budget in calls]

        def call(number: int) -> Any:
            word, budget = calls[number % 2]
            return pipeline.assemble(word, budget=budget)

        with ThreadPoolExecutor(8) as pool:
            payloads = list(pool.map(call, range(100)))
        for number, payload in enumerate(payloads):
            wanted = expected[number % 2]
            assert payload.context_hash == wanted.context_hash
            assert payload.budget == wanted.budget
        expected[0].fragments[0].metadata["tags"].append("mine")
        assert pipeline.assemble("limiter", budget=100).fragments[0].metadata["tags"] == ["limiter"]
