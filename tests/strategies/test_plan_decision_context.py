"""Decisions from the plan up to its ancestors, and what is linked to them (rulings S14, T3)."""

import re
from datetime import timedelta
from typing import Any

import pytest

from acms_adapters.models import ContextBudget, ContextRequest, PlanContext
from acms_strategies import PlanDecisionContextStrategy

BUDGET = ContextBudget(max_tokens=1000)
LINE = ["child", "parent", "grandparent", "great", "ancient", "first"]


def run(world: Any, options: Any = None, plan: Any = None, **request: Any) -> Any:
    strategy = PlanDecisionContextStrategy(options)
    plan_context = PlanContext(**({"plan_id": "child"} if plan is None else plan))
    backends = world.backends("graph", "temporal")
    return strategy.assemble(ContextRequest(**request), backends, BUDGET, plan_context)


def found_in(found: Any) -> list[str]:
    """Short names of the nodes, in order."""
    return [re.split("[/#]", fragment.uko_node)[-1] for fragment in found]


@pytest.fixture
def plans(world: Any) -> Any:
    """Six plans in a line, each with a decision about a file; a decision of nobody's plan."""
    for steps, (plan, parent) in enumerate(zip(LINE, [*LINE[1:], None], strict=True)):
        world.add(f"{plan}-file", f"code of {plan}")
        world.decide(
            plan,
            f"of-{plan}",
            f"What {plan} decided",
            days=steps,
            parent=parent,
            done=steps > 1,
            about=[f"{plan}-file"],
        )
    world.decide("another", "stranger", "unrelated")
    return world


def decisions(found: Any) -> list[str]:
    return [name for name in found_in(found) if name.startswith("of-")]


def test_it_takes_the_decisions_of_the_plan_and_its_ancestors_from_warm_and_cold(
    plans: Any,
) -> None:
    """D4-49, D6-30, D6-34."""
    found = run(plans)
    assert decisions(found) == [f"of-{plan}" for plan in LINE]
    assert {fragment.tier for fragment in found if "#of-" in fragment.uko_node} == {"warm", "cold"}
    assert {"stranger", *LINE}.isdisjoint(found_in(found))
    assert found.stats["plans"] == LINE


def test_it_ranks_by_the_nearness_of_the_plan(plans: Any) -> None:
    """D6-31."""
    found = {name: f.relevance_score for f in run(plans) for name in found_in([f])}
    assert [found[f"of-{plan}"] for plan in LINE] == pytest.approx([0.8**n for n in range(6)])


@pytest.mark.parametrize("depth", [0, 1, 3, 5, 100])
def test_it_goes_up_no_further_than_the_option_says(plans: Any, depth: int) -> None:
    """D6-35."""
    found = run(plans, {"max_ancestor_depth": depth})
    assert decisions(found) == [f"of-{plan}" for plan in LINE[: depth + 1]]


def test_by_default_five_ancestors_count(plans: Any) -> None:
    """D6-35."""
    plans.decide("grandchild", "of-grandchild", parent="child")
    found = run(plans, plan={"plan_id": "grandchild"})
    assert decisions(found) == ["of-grandchild", *(f"of-{plan}" for plan in LINE[:5])]


def test_without_those_of_ancestors_the_plans_own_are_left(plans: Any) -> None:
    """D6-34."""
    found = run(plans, {"include_ancestor_decisions": False})
    assert found_in(found) == ["of-child", "child-file"]


def test_the_hierarchy_comes_from_the_plans_context_and_above_that_from_what_was_recorded(
    plans: Any,
) -> None:
    told = run(plans, plan={"plan_id": "new", "ancestors": ("grandparent", "great")})
    assert told.stats["plans"] == ["new", "grandparent", "great", "ancient", "first"]
    by_parent = run(plans, plan={"plan_id": "new", "parent_id": "great"})
    assert by_parent.stats["plans"] == ["new", "great", "ancient", "first"]
    nameless = run(plans, plan={"parent_id": "ancient"})
    assert nameless.stats["plans"] == ["ancient", "first"]
    by_request = run(plans, plan={}, plan_id="ancient")
    assert by_request.stats["plans"] == ["ancient", "first"]
    assert run(plans, plan={}) == []


def test_d_a_hierarchy_that_runs_in_a_circle_ends(plans: Any) -> None:
    plans.decide("one", "of-one", parent="other")
    plans.decide("other", "of-other", parent="one")
    assert run(plans, plan={"plan_id": "one"}).stats["plans"] == ["one", "other"]
    told = run(plans, plan={"plan_id": "one", "ancestors": ("one", "other")})
    assert told.stats["plans"] == ["one", "other"]


def test_it_walks_from_decisions_to_what_is_linked_to_them(plans: Any) -> None:
    """D4-49, D6-32."""
    plans.add("helper", "a helper")
    plans.link("child-file", "helper", "imports")
    found = run(plans, {"max_ancestor_depth": 0})
    assert found_in(found) == ["of-child", "child-file", "helper"]
    assert [f.relevance_score for f in found] == pytest.approx([1.0, 0.8, 0.64])
    assert found.stats["related"] == 2
    assert found_in(run(plans, {"max_ancestor_depth": 0}, breadth=0)) == ["of-child", "child-file"]


def test_it_ranks_by_relevance_too(plans: Any) -> None:
    """D6-31."""
    about = run(plans, query="What did ancient decide?")
    assert decisions(about)[0] == "of-ancient"
    near = run(plans, focus_nodes=[plans.node("first-file")])
    scores = {name: f.relevance_score for f in near for name in found_in([f])}
    assert scores["of-first"] > scores["of-ancient"]


def test_the_title_of_a_decision_counts_as_its_words(plans: Any) -> None:
    title = "Choice of the vector store"
    plans.decide("great", "titled", "We take the other one.", days=3, title=title)
    assert found_in(run(plans, query="Which vector store?"))[0] == "titled"


def test_t2_as_of_and_the_window_of_the_request_reach_the_store(plans: Any) -> None:
    then = plans.now - timedelta(days=2, hours=1)
    found = run(plans, as_of=then, temporal_window="2d", query="ancient")
    assert decisions(found) == ["of-ancient", "of-great"]
    assert run(plans).stats["decisions"] == 6


def test_kinds_of_the_request_hold_for_what_is_delivered(plans: Any) -> None:
    only_code = run(plans, {"max_ancestor_depth": 0}, resource_types=["source_file"])
    assert found_in(only_code) == ["child-file"]
    only_decisions = run(plans, {"max_ancestor_depth": 0}, resource_types=["decision"])
    assert found_in(only_decisions) == ["of-child"]


def test_it_is_addressed_by_a_plan(plans: Any) -> None:
    strategy, backends = PlanDecisionContextStrategy(), plans.backends("graph", "temporal")
    assert strategy.can_handle(ContextRequest(query="decided"), backends) == 0.0
    for request in (
        ContextRequest(plan_id="child"),
        ContextRequest(plan_context={"parent_id": "parent"}),
        ContextRequest(plan_context={"ancestors": ["parent"]}),
    ):
        assert strategy.can_handle(request, backends) == 0.7


def test_decisions_of_other_plans_do_not_come_in_through_the_graph(plans: Any) -> None:
    plans.decide("sibling", "of-sibling", "What else holds", parent="parent", about=["child-file"])
    found = found_in(run(plans, breadth=3))
    assert {"of-child", "child-file"} <= set(found)
    assert "of-sibling" not in found
