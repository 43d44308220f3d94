"""Walking from a focus, from names and from first hits (rulings M2, M3, B5, B6)."""

import re
from typing import Any

import pytest

from acms_adapters import ACMSPipeline, NothingAnsweredError, StrategyError
from acms_adapters.models import ContextBudget, ContextRequest, PlanContext
from acms_adapters.models.scores import to_evidence
from acms_strategies import BreadthDepthNavigatorStrategy

BUDGET = ContextBudget(max_tokens=1000)


def run(world: Any, *names: str, options: Any = None, plan: Any = None, **request: Any) -> Any:
    strategy = BreadthDepthNavigatorStrategy(options)
    plan_context = PlanContext(**(plan or {}))
    backends = world.backends(*(names or ("graph",)))
    return strategy.assemble(ContextRequest(**request), backends, BUDGET, plan_context)


def found_in(found: Any) -> list[str]:
    """Short names of the nodes, in order."""
    return [re.split("[/#]", fragment.uko_node)[-1] for fragment in found]


@pytest.fixture
def code(world: Any) -> Any:
    """A file that imports another, whose class is called from a third and derives from a base."""
    texts = {
        "main": "def main(): start()",
        "pool": "class Pool(Base): keeps sockets open",
        "close": "def close(self): drop them all",
        "caller": "shutdown happens here",
        "base": "abstract things",
        "far": "further away",
        "stranger": "sockets of a stranger",
    }
    for name, text in texts.items():
        world.add(name, text, names=(name,))
    world.link("main", "pool", "imports")
    world.link("pool", "close", "contains")
    world.link("caller", "close", "calls")
    world.link("pool", "base", "inherits")
    world.link("base", "far", "imports")
    return world


def test_it_starts_at_the_focus_and_ranks_by_distance(code: Any) -> None:
    """D4-46, D6-11."""
    found = run(code, focus_nodes=[code.node("pool")])
    assert found_in(found)[0] == "pool"
    assert set(found_in(found)[1:4]) == {"base", "close", "main"}
    assert set(found_in(found)[4:]) == {"caller", "far"}
    assert found.total == 6


def test_the_relevance_of_a_hop_is_the_decay_but_for_less_than_half_a_hop_more(code: Any) -> None:
    """D6-14."""
    found = {
        name: fragment.relevance_score
        for fragment in run(code, focus_nodes=[code.node("pool")])
        for name in found_in([fragment])
    }
    assert found["pool"] == 1.0
    for name in ("base", "close", "main"):
        assert 0.72 <= found[name] <= 0.8
    for name in ("caller", "far"):
        assert 0.576 <= found[name] <= 0.64


def test_the_decay_is_an_option(code: Any) -> None:
    """D6-14."""
    steep = run(code, options={"distance_decay": 0.1}, focus_nodes=[code.node("pool")])
    assert steep[1].relevance_score <= 0.1
    flat = run(code, options={"distance_decay": 1.0}, focus_nodes=[code.node("pool")])
    assert {fragment.relevance_score for fragment in flat} == {1.0}


def test_m3_breadth_and_depth_of_the_request_go_before_the_options(code: Any) -> None:
    """D6-10, D6-13."""
    focus = [code.node("main")]
    assert set(found_in(run(code, focus_nodes=focus))) == {"main", "pool", "close", "base"}
    assert found_in(run(code, focus_nodes=focus, breadth=0)) == ["main"]
    assert set(found_in(run(code, focus_nodes=focus, breadth=1))) == {"main", "pool"}
    narrow = {"default_breadth": 0, "default_depth": 0}
    assert found_in(run(code, options=narrow, focus_nodes=focus)) == ["main"]
    pool = [code.node("pool")]
    assert set(found_in(run(code, focus_nodes=pool, breadth=0))) == {"pool", "close"}
    assert found_in(run(code, focus_nodes=pool, breadth=0, depth=0)) == ["pool"]


def test_m2_without_a_focus_it_starts_at_names_in_the_question(code: Any) -> None:
    """M2.names."""
    found = run(code, query="What does `close` do?", breadth=1)
    assert found_in(found)[0] == "close"
    assert set(found_in(found)) == {"close", "pool", "caller"}


def test_m2_a_name_that_many_share_is_a_weaker_start(code: Any) -> None:
    for number in range(4):
        code.add(f"run{number}", "running", names=("run",))
    found = run(code, query="Does `close` call run()?", breadth=0)
    scores = dict(zip(found_in(found), (f.relevance_score for f in found), strict=True))
    assert scores["close"] > 1.8 * scores["run0"]
    assert len({scores[f"run{number}"] for number in range(4)}) == 1


def test_m2_without_names_it_starts_at_the_best_first_hits(code: Any) -> None:
    """M2.seeds."""
    found = run(code, "graph", "text", query="Who keeps things open?", breadth=1, depth=0)
    assert found_in(found)[0] == "pool"
    assert set(found_in(found)) >= {"pool", "base", "close", "main"}


def test_it_brings_a_caller_that_neither_words_nor_vectors_bring(code: Any) -> None:
    question = "Who keeps sockets open?"
    backends = code.backends()
    by_words = {hit.uko_node for hit in backends.text.search(question)}
    assert code.node("caller") not in by_words
    found = run(code, "graph", "text", query=question)
    assert {"caller", "base", "main"} <= set(found_in(found))


def test_what_the_question_is_about_comes_first_at_one_distance(code: Any) -> None:
    """D4-46."""
    focus, question = [code.node("pool")], "abstract"
    plain = run(code, focus_nodes=focus)
    weighed = run(code, "graph", "text", focus_nodes=focus, query=question)
    assert found_in(weighed)[:2] == ["pool", "base"]
    assert set(found_in(weighed)) == set(found_in(plain))
    order = found_in(weighed)
    assert order.index("close") < order.index("caller")


def test_what_calls_a_node_counts_for_a_question_that_names_it(code: Any) -> None:
    def lift(question: str) -> float:
        found = run(code, "graph", "text", query=question)
        scores = {name: f.relevance_score for f in found for name in found_in([f])}
        return scores["caller"]

    assert lift("What does `close` drop?") > 2 * lift("What does drop them all?")


def test_the_decay_holds_where_the_question_is_weighed_too(code: Any) -> None:
    def far(decay: float) -> float:
        options = {"distance_decay": decay}
        found = run(code, "graph", "text", options=options, query="What does `close` drop?")
        return next(f.relevance_score for f in found if f.uko_node == code.node("caller"))

    assert far(1.0) > far(0.8) > far(0.4)


def test_the_focus_stays_first_whatever_the_question_says(code: Any) -> None:
    found = run(
        code, "graph", "text", focus_nodes=[code.node("caller")], query="abstract things away"
    )
    assert found_in(found)[0] == "caller"
    assert all(f.relevance_score < found[0].relevance_score for f in found[1:])


def test_f11_its_evidence_can_be_added_to_that_of_others(code: Any) -> None:
    found = run(code, "graph", "text", query="Who keeps sockets open?")
    assert all(-60.0 < to_evidence(fragment.relevance_score) < 60.0 for fragment in found)


def test_missing_focus_nodes_do_no_harm_and_are_told(code: Any) -> None:
    """D6-15."""
    there, absent = code.node("pool"), code.node("absent")
    found = run(code, focus_nodes=[absent, there], breadth=0, depth=0)
    assert found_in(found) == ["pool"]
    assert found.stats["ignored"] == [absent]
    lost = run(code, focus_nodes=[absent], query="What does `close` do?", breadth=0)
    assert found_in(lost) == ["close"]
    assert lost.stats["ignored"] == [absent]
    assert run(code, focus_nodes=[absent]) == []


def test_the_focus_of_the_plan_is_a_focus(code: Any) -> None:
    found = run(code, plan={"focus_nodes": (code.node("close"),)}, breadth=0)
    assert found_in(found) == ["close"]
    asked = ContextRequest(plan_context={"focus_nodes": [code.node("close")]})
    assert BreadthDepthNavigatorStrategy().can_handle(asked, code.backends("graph")) == 0.85


def test_b5_a_walk_never_leaves_its_scope(code: Any) -> None:
    """B5.target."""
    code.add("docs/pool", "about the pool")
    code.link("pool", "docs/pool", "links")
    code.link("docs/pool", "far", "links")
    inside = [code.node(name) for name in ("pool", "close", "docs")]
    found = run(code, focus_nodes=[code.node("pool")], scope=inside)
    assert set(found_in(found)) == {"pool", "close"}
    assert run(code, focus_nodes=[code.node("main")], scope=inside) == []


def test_kinds_that_are_not_wanted_are_walked_through_and_left_out(code: Any) -> None:
    code.add("decision", "use sockets", resource_type="decision")
    code.link("caller", "decision", "links")
    found = run(code, focus_nodes=[code.node("close")], resource_types=["decision"])
    assert found_in(found) == ["decision"]


def test_a_text_backend_that_fails_is_told_and_no_reason_to_fail(code: Any) -> None:
    class Broken:
        def search(self, query: str, **options: Any) -> Any:
            raise OSError("disk gone")

    backends = code.backends("graph").with_(text=Broken())
    request = ContextRequest(query="What does `close` do?", breadth=0)
    found = BreadthDepthNavigatorStrategy().assemble(request, backends, BUDGET, PlanContext())
    assert found_in(found) == ["close"]
    assert found.stats["failed_searches"] == ["text search: OSError: disk gone"]


def test_s9_a_walk_that_cannot_begin_because_every_search_failed_did_not_find_nothing(
    code: Any,
) -> None:
    class Broken:
        def search(self, query: str, **options: Any) -> Any:
            raise OSError("disk gone")

    backends = code.backends("graph").with_(text=Broken())
    request = ContextRequest(query="how long does a connection live")
    with pytest.raises(StrategyError, match="where to begin: text search: OSError: disk gone"):
        BreadthDepthNavigatorStrategy().assemble(request, backends, BUDGET, PlanContext())
    with pytest.raises(NothingAnsweredError):
        ACMSPipeline(backends=backends).assemble(request, budget=1_000)


def test_d_a_cycle_a_loop_and_endless_hops_end(code: Any) -> None:
    """D6-15."""
    code.link("base", "pool", "calls")
    code.link("pool", "pool", "calls")
    found = run(code, focus_nodes=[code.node("pool")], breadth=10**6, depth=10**6)
    assert len(found) == len(set(found_in(found))) == 6


def test_it_can_be_asked_by_focus_by_name_or_by_a_question_that_leads_to_hits(code: Any) -> None:
    strategy = BreadthDepthNavigatorStrategy()
    graph, both = code.backends("graph"), code.backends("graph", "text")
    assert strategy.can_handle(ContextRequest(focus_nodes=["n://x"]), graph) == 0.85
    assert strategy.can_handle(ContextRequest(query="`close`"), graph) == 0.85
    assert strategy.can_handle(ContextRequest(keywords=["close"]), graph) == 0.0
    assert strategy.can_handle(ContextRequest(keywords=["close"]), both) == 0.85
