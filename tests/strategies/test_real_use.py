"""Each strategy at what it is best at, on the code base of an installed library."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acms_adapters import ACMSPipeline, ContextStore
from acms_adapters.models import ContextBudget, ContextRequest, Plan, PlanContext
from acms_adapters.testing import PlainEmbedder
from acms_strategies import (
    ArceStrategy,
    BreadthDepthNavigatorStrategy,
    PlanDecisionContextStrategy,
    SemanticEmbeddingStrategy,
    SimpleKeywordStrategy,
    TemporalArchaeologyStrategy,
)

BUDGET = ContextBudget(max_tokens=2_000)
FILES = ["base.py", "branch.py", "config.py", "fallbacks.py", "passthrough.py", "retry.py"]


@pytest.fixture(scope="module")
def core() -> Iterator[ContextStore]:
    """The runnables of langchain_core, in memory."""
    pytest.importorskip("wordllama")
    spec = importlib.util.find_spec("langchain_core")
    assert spec is not None
    assert spec.origin is not None
    with ContextStore.in_memory(embedder="wordllama") as store:
        store.add_path(Path(spec.origin).parent / "runnables", name="core", include=FILES)
        yield store


def run(store: ContextStore, strategy: Any, **request: Any) -> list[str]:
    found = strategy.assemble(ContextRequest(**request), store.backends(), BUDGET, PlanContext())
    return [fragment.uko_node.removeprefix("project://core/") for fragment in found]


def test_words_lead_to_what_is_called_by_them(core: ContextStore) -> None:
    """D4-50."""
    found = run(core, SimpleKeywordStrategy(), query="exponential jitter params")
    assert found[0] == "retry.py#ExponentialJitterParams"


def test_nearness_leads_to_what_is_said_in_other_words(core: ContextStore) -> None:
    """D4-50."""
    question = "try again later when something goes wrong"
    assert (
        "base.py#Runnable.with_retry" in run(core, SemanticEmbeddingStrategy(), query=question)[:5]
    )
    assert "base.py#Runnable.with_retry" not in run(core, SimpleKeywordStrategy(), query=question)


def test_links_lead_from_a_class_to_its_base_and_its_user_before_its_members(
    core: ContextStore,
) -> None:
    """D4-50."""
    focus = ["project://core/retry.py#RunnableRetry"]
    found = run(core, BreadthDepthNavigatorStrategy(), focus_nodes=focus)
    assert found[0] == "retry.py#RunnableRetry"
    assert set(found[1:4]) == {
        "base.py#Runnable.with_retry",
        "base.py#RunnableBindingBase",
        "retry.py",
    }
    assert "retry.py#RunnableRetry._batch" in found


def test_links_bring_a_base_class_that_neither_words_nor_nearness_bring(
    core: ContextStore,
) -> None:
    question, base = "What is behind `RunnableAssign`?", "base.py#RunnableSerializable"
    assert base in run(core, BreadthDepthNavigatorStrategy(), query=question)[:25]
    assert base not in run(core, SimpleKeywordStrategy(), query=question)
    assert base not in run(core, SemanticEmbeddingStrategy(), query=question)[:25]


def test_all_three_together_bring_what_each_would(core: ContextStore) -> None:
    """D4-50."""
    request = ContextRequest(query="How are calls that failed retried?")
    found = ArceStrategy().assemble(request, core.backends(), BUDGET, PlanContext())
    names = [fragment.uko_node.removeprefix("project://core/") for fragment in found]
    assert "retry.py#RunnableRetry" in names[:5]
    assert all(tokens > 0 for tokens in found.stats["gathered"].values())


def test_the_past_leads_to_decisions_and_the_code_they_led_to(core: ContextStore) -> None:
    """D4-50."""
    plan = Plan(title="Make calls sturdy").record_decision(
        "Retries belong to the runnable that is retried, because it knows its errors.",
        title="Where retries live",
        nodes=("project://core/retry.py#RunnableRetry",),
    )
    temporal = core.backends().temporal
    assert temporal is not None
    temporal.record(plan)
    assert run(core, TemporalArchaeologyStrategy(), query="retries", temporal_window="30d") == []
    temporal.archive(plan.plan_id)
    found = run(core, TemporalArchaeologyStrategy(), query="retries", temporal_window="30d")
    decision = plan.decisions[0].decision_id
    assert found[0] == f"plan://{plan.plan_id}#{decision}"
    assert {"retry.py#RunnableRetry", "base.py#RunnableBindingBase"} <= set(found)


def test_a_plan_sees_what_its_parent_decided_and_the_code_it_is_about(core: ContextStore) -> None:
    """D4-50."""
    parent = Plan(title="Fall back").record_decision(
        "Fallbacks are tried in order, and the last error is raised.",
        nodes=("project://core/fallbacks.py#RunnableWithFallbacks",),
    )
    child = Plan(title="Test the fallbacks", parent=parent.plan_id)
    temporal = core.backends().temporal
    assert temporal is not None
    temporal.record(parent)
    temporal.record(child)
    found = run(core, PlanDecisionContextStrategy(), plan_id=child.plan_id)
    assert found[0] == f"plan://{parent.plan_id}#{parent.decisions[0].decision_id}"
    assert "fallbacks.py#RunnableWithFallbacks" in found
    assert run(core, PlanDecisionContextStrategy(), plan_id=parent.plan_id)[0] == found[0]


@pytest.mark.parametrize(
    "name",
    [
        "simple-keyword",
        "semantic-embedding",
        "breadth-depth-navigator",
        "arce",
        "temporal-archaeology",
        "plan-decision-context",
    ],
)
def test_a_named_strategy_fills_a_budget_and_keeps_it(core: ContextStore, name: str) -> None:
    """D3-18, D6-37."""
    plan = Plan(title="Log retries").record_decision(
        "Retries are logged.", nodes=("project://core/retry.py#RunnableRetry",)
    )
    temporal = core.backends().temporal
    assert temporal is not None
    temporal.record(plan)
    temporal.archive(plan.plan_id)
    payload = core.pipeline().assemble(
        ContextRequest(query="How are failed calls retried?", plan_id=plan.plan_id),
        budget=800,
        strategy=name,
    )
    assert payload.strategies_used == (name,)
    assert payload.fragments
    assert payload.is_within_budget


def test_a_focus_node_that_nobody_knows_is_named_in_the_payload(core: ContextStore) -> None:
    request = ContextRequest(query="retry with a wait", focus_nodes=("project://core/none.py",))
    payload = core.pipeline().assemble(request, budget=500)
    assert payload.fragments
    assert payload.strategy_stats["breadth-depth-navigator"]["ignored"] == [
        "project://core/none.py"
    ]


@pytest.mark.parametrize("question", ["qqqqzzz blorf", "how to bake bread with yeast"])
@pytest.mark.parametrize("strategy", [BreadthDepthNavigatorStrategy, ArceStrategy])
def test_m7_a_walk_makes_nothing_relevant_to_a_question_that_nothing_answers(
    core: ContextStore, strategy: Any, question: str
) -> None:
    request = ContextRequest(query=question)
    found = strategy().assemble(request, core.backends(), BUDGET, PlanContext())
    assert max((fragment.relevance_score for fragment in found), default=0.0) < 0.5
    answered = ContextRequest(query="exponential jitter params of a retry")
    found = strategy().assemble(answered, core.backends(), BUDGET, PlanContext())
    assert found[0].relevance_score > 0.8


def test_b7_a_strategy_that_goes_on_without_the_vectors_tells_why(core: ContextStore) -> None:
    pipeline = ACMSPipeline(backends=core.backends().with_(embedder=PlainEmbedder()))
    payload = pipeline.assemble("Who renders a fragment?", strategy="breadth-depth-navigator")
    (told,) = payload.strategy_stats["breadth-depth-navigator"]["failed_searches"]
    assert told.startswith("vector search: EmbedderMismatchError")
    assert str(PlainEmbedder.dimensions) in told
