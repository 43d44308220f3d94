"""Plans and decisions over time (rulings M5, M8, T1 to T3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.errors import RequestError
from acms_adapters.models import (
    ContextFragment,
    ContextPayload,
    Decision,
    Edge,
    Plan,
    SearchHit,
    SkeletonMetadata,
)

START = datetime(2030, 1, 1, tzinfo=UTC)
ANY_TEXT = st.text(st.characters(exclude_categories=()), min_size=1)


@dataclass
class Clock:
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: float) -> datetime:
        self.now += timedelta(days=days)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "file"])
def past(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[SQLiteStore]:
    path = None if request.param == "memory" else tmp_path / "store.db"
    with SQLiteStore(path, clock=clock) as store:
        yield store


def decision(name: str, *, plan: str = "p", day: float = 0, **more: Any) -> Decision:
    decided = START + timedelta(days=day)
    return Decision(
        plan_id=plan, decision_id=name, text=f"text of {name}", decided_at=decided, **more
    )


def plan(name: str = "p", *, day: float = 0, **more: Any) -> Plan:
    made = START + timedelta(days=day)
    return Plan(plan_id=name, title=f"title of {name}", created_at=made, **more)


def ids(hits: list[SearchHit]) -> list[str]:
    return [hit.metadata.get("decision_id") or hit.metadata["plan_id"] for hit in hits]


# records


def test_m5_a_plan_comes_back_with_all_it_holds(past: SQLiteStore) -> None:
    """M5.stored."""
    payload = ContextPayload(
        fragments=(
            ContextFragment(
                uko_node="n", content="text", metadata={"nan": float("nan"), "t": [1, {"a": None}]}
            ),
        ),
        skeleton_metadata=SkeletonMetadata(ratio=0.3, original_tokens=9, compressed_tokens=6),
    )
    made = plan(focus_nodes=("n",), parent="q", skeleton_ratio=0.5, context_payload=payload)
    made = made.record_decision("first", title="one", nodes=("n", "m"), metadata={"k": [1]})
    made = made.record_decision("second", decided_at=START - timedelta(days=9))
    past.temporal.record(made)
    read = past.temporal.plan("p")
    assert read is not None
    assert read.model_dump_json() == made.model_dump_json()
    assert read.decisions == made.decisions
    assert past.temporal.plan("nobody") is None


@given(text=ANY_TEXT, name=ANY_TEXT, title=st.text(), metadata=st.dictionaries(ANY_TEXT, ANY_TEXT))
def test_any_text_comes_back(text: str, name: str, title: str, metadata: dict[str, str]) -> None:
    with SQLiteStore(None) as store:
        made = Plan(plan_id=name, title=title).record_decision(text, metadata=metadata)
        store.temporal.record(made)
        read = store.temporal.plan(name)
        assert read is not None
        assert read.title == made.title
        assert [(d.text, d.metadata) for d in read.decisions] == [
            (d.text, d.metadata) for d in made.decisions
        ]
        uris = [hit.uko_node for hit in store.temporal.query_by_tier("warm")]
        assert [hit.uko_node for hit in store.graph.get(uris)] == uris


def test_hits_say_what_they_are_and_where_they_belong(past: SQLiteStore) -> None:
    past.temporal.record(plan(focus_nodes=("n",)))
    past.temporal.record(decision("d", nodes=("a", "b"), title="Short", metadata={"why": (1,)}))
    (hit,) = past.temporal.query_by_tier("warm", resource_types=["decision"])
    assert (hit.content, hit.detail_depth, hit.score) == ("text of d", 9, 0.0)
    assert (hit.tier, hit.created_at) == ("warm", START)
    assert hit.metadata == {
        "why": [1],
        "title": "Short",
        "decision_id": "d",
        "plan_id": "p",
        "nodes": ["a", "b"],
    }
    assert hit.provenance is not None
    assert (hit.provenance.resource_type, hit.provenance.resource_uri) == ("decision", "plan://p")
    (of_plan,) = past.temporal.query_by_tier("warm", resource_types=["plan"])
    assert of_plan.content == "title of p\nFocus: n"
    assert of_plan.metadata["plan_id"] == "p"
    assert of_plan.provenance is not None
    assert of_plan.provenance.resource_type == "plan"


def test_recording_twice_is_recording_once(past: SQLiteStore) -> None:
    made = plan().record_decision("text", decided_at=START)
    past.temporal.record(made)
    generation, stats = past.generation, past.stats()
    past.temporal.record(made)
    past.temporal.record(made.decisions[0])
    assert (past.generation, past.stats()) == (generation, stats)
    assert len(past.temporal.query_by_tier("warm")) == 2


def test_the_same_id_replaces_what_was_recorded(past: SQLiteStore, clock: Clock) -> None:
    past.temporal.record(decision("d", nodes=("a",)))
    before = clock.pass_days(1)
    clock.pass_days(1)
    past.temporal.record(decision("d", nodes=("b",), title="new"))
    (hit,) = past.temporal.query_by_tier("warm")
    assert (hit.metadata["nodes"], hit.metadata["title"]) == (["b"], "new")
    (old,) = past.temporal.query_by_tier("warm", as_of=before)
    assert old.metadata["nodes"] == ["a"]


def test_a_plan_recorded_again_keeps_decisions_that_came_by_themselves(
    past: SQLiteStore,
) -> None:
    past.temporal.record(plan())
    past.temporal.record(decision("d"))
    past.temporal.record(plan(focus_nodes=("n",)))
    read = past.temporal.plan("p")
    assert read is not None
    assert [d.decision_id for d in read.decisions] == ["d"]
    assert read.focus_nodes == ("n",)


def test_ancestors_are_nearest_first_and_end_on_a_cycle(past: SQLiteStore) -> None:
    for name, parent in (("a", "b"), ("b", "c"), ("c", "unrecorded"), ("x", "y"), ("y", "x")):
        past.temporal.record(plan(name, parent=parent))
    past.temporal.record(plan("self", parent="self"))
    assert past.temporal.ancestors("a") == ["b", "c", "unrecorded"]
    assert past.temporal.ancestors("x") == ["y"]
    assert past.temporal.ancestors("self") == []
    assert past.temporal.ancestors("nobody") == []


# tiers


def test_t3_decisions_of_living_plans_are_warm_and_those_of_completed_plans_cold(
    past: SQLiteStore,
) -> None:
    past.temporal.record(plan("a").record_decision("x", decided_at=START))
    past.temporal.record(decision("d", plan="a"))
    past.temporal.record(decision("e", plan="b"))
    past.temporal.record(plan("c", status="completed"))
    assert past.temporal.query_by_tier("hot") == []
    assert len(past.temporal.query_by_tier("warm")) == 4
    assert past.temporal.archive("a") == 3
    assert past.temporal.archive("a") == 0
    assert past.temporal.archive("nobody") == 0
    assert ids(past.temporal.query_by_tier("warm")) == ["e"]
    cold = past.temporal.query_by_tier("cold")
    assert len(cold) == 4
    assert all(hit.tier == "cold" for hit in cold)
    done = past.temporal.plan("a")
    assert done is not None
    assert done.status == "completed"


def test_t3_a_decision_of_a_completed_plan_is_cold_and_a_revived_plan_warm(
    past: SQLiteStore,
) -> None:
    past.temporal.record(plan())
    past.temporal.archive("p")
    past.temporal.record(decision("late"))
    assert sorted(ids(past.temporal.query_by_tier("cold"))) == ["late", "p"]
    past.temporal.record(plan())
    assert past.temporal.query_by_tier("cold") == []
    assert sorted(ids(past.temporal.query_by_tier("warm"))) == ["late", "p"]


def test_decisions_without_a_recorded_plan_are_archived_too(past: SQLiteStore) -> None:
    past.temporal.record(decision("d"))
    assert past.temporal.archive("p") == 1
    assert ids(past.temporal.query_by_tier("cold")) == ["d"]


# windows


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (None, ["d1", "d6", "d29", "d89", "d300", "d4000"]),
        ("all", ["d1", "d6", "d29", "d89", "d300", "d4000"]),
        ("1d", ["d1"]),
        ("7D", ["d1", "d6"]),
        ("1w", ["d1", "d6"]),
        ("30d", ["d1", "d6", "d29"]),
        ("1m", ["d1", "d6", "d29"]),
        ("90d", ["d1", "d6", "d29", "d89"]),
        ("1y", ["d1", "d6", "d29", "d89", "d300"]),
        ("999999d", ["d1", "d6", "d29", "d89", "d300", "d4000"]),
    ],
)
def test_t1_a_window_ends_at_the_clock(
    past: SQLiteStore, window: str | None, expected: list[str]
) -> None:
    for days in (29, 1, 4000, 6, 300, 89):
        past.temporal.record(decision(f"d{days}", day=-days))
    assert ids(past.temporal.query_by_tier("warm", window=window)) == expected


def test_t1_a_window_ends_at_as_of(past: SQLiteStore) -> None:
    for days in (1, 10, 20):
        past.temporal.record(decision(f"d{days}", day=-days))
    then = START - timedelta(days=9)
    assert ids(past.temporal.query_by_tier("warm", window="7d", as_of=then)) == ["d10"]
    naive = then.replace(tzinfo=None)
    assert ids(past.temporal.query_by_tier("warm", window="7d", as_of=naive)) == ["d10"]


@pytest.mark.parametrize("window", ["7", "d7", "0d", "-1d", "week", "1h"])
def test_t1_another_window_is_an_error(past: SQLiteStore, window: str) -> None:
    with pytest.raises(RequestError, match="window"):
        past.temporal.query_by_tier("warm", window=window)


def test_requests_that_cannot_be_are_refused(past: SQLiteStore) -> None:
    with pytest.raises(RequestError, match="tepid"):
        past.temporal.query_by_tier("tepid")  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="-1"):
        past.temporal.query_by_tier("warm", limit=-1)
    with pytest.raises(RequestError, match="plan_ids must be a list"):
        past.temporal.query_by_tier("warm", plan_ids="p")


# the past as it was


def test_t2_a_superseded_decision_holds_until_the_other_was_taken(past: SQLiteStore) -> None:
    past.temporal.record(decision("old", day=-20))
    past.temporal.record(decision("new", day=-10, supersedes="old"))
    assert ids(past.temporal.query_by_tier("warm")) == ["new"]
    for day, expected in ((-30, []), (-20, ["old"]), (-11, ["old"]), (-10, ["new"]), (0, ["new"])):
        as_of = START + timedelta(days=day)
        assert ids(past.temporal.query_by_tier("warm", as_of=as_of)) == expected


def test_t2_the_order_of_recording_does_not_matter(past: SQLiteStore) -> None:
    past.temporal.record(decision("new", day=-10, supersedes="old"))
    past.temporal.record(decision("old", day=-20))
    assert ids(past.temporal.query_by_tier("warm")) == ["new"]
    assert ids(past.temporal.query_by_tier("warm", as_of=START - timedelta(days=11))) == ["old"]


def test_t2_a_line_of_superseding_decisions_leaves_the_last(past: SQLiteStore) -> None:
    past.temporal.record(decision("a", day=-3))
    past.temporal.record(decision("b", day=-2, supersedes="a"))
    past.temporal.record(decision("c", day=-1, supersedes="b"))
    past.temporal.record(decision("self", day=-5, supersedes="self"))
    assert ids(past.temporal.query_by_tier("warm")) == ["c", "self"]


def test_t2_a_decision_that_no_longer_supersedes_gives_the_other_back(
    past: SQLiteStore, clock: Clock
) -> None:
    past.temporal.record(decision("old", day=-2, nodes=("n",)))
    past.temporal.record(decision("new", day=-1, supersedes="old"))
    clock.pass_days(1)
    past.temporal.record(decision("new", day=-1))
    assert ids(past.temporal.query_by_tier("warm")) == ["new", "old"]
    assert len(past.graph.get(["plan://p#old", "plan://p#new"])) == 2


def test_t2_tiers_and_plans_are_shown_as_they_stood(past: SQLiteStore, clock: Clock) -> None:
    past.temporal.record(plan().record_decision("x", decided_at=START))
    living = clock.pass_days(5)
    clock.pass_days(5)
    past.temporal.record(plan(focus_nodes=("n",)))
    refocused = clock.pass_days(1)
    clock.pass_days(1)
    past.temporal.archive("p")
    assert past.temporal.query_by_tier("cold", as_of=living) == []
    assert len(past.temporal.query_by_tier("warm", as_of=living)) == 2
    assert len(past.temporal.query_by_tier("cold", as_of=clock.now)) == 2
    shown = [past.temporal.plan("p", as_of=moment) for moment in (living, refocused, None)]
    assert [(p.focus_nodes, p.status, len(p.decisions)) for p in shown if p] == [
        ((), "active", 1),
        (("n",), "active", 1),
        (("n",), "completed", 1),
    ]
    assert past.temporal.plan("p", as_of=START - timedelta(days=1)) is None


def test_a_clock_behind_the_records_hides_nothing_now(past: SQLiteStore) -> None:
    past.temporal.record(decision("tomorrow", day=1))
    assert ids(past.temporal.query_by_tier("warm")) == ["tomorrow"]
    assert ids(past.temporal.query_by_tier("warm", as_of=START)) == ["tomorrow"]


# filters


def test_records_are_chosen_by_plan_kind_scope_and_limit(past: SQLiteStore) -> None:
    past.temporal.record(plan("a", focus_nodes=("project://app/x.py",)))
    past.temporal.record(decision("d1", plan="a", day=-1, nodes=("project://app/x.py#f",)))
    past.temporal.record(decision("d2", plan="a", day=-2, nodes=("project://other/y.py",)))
    past.temporal.record(decision("d3", plan="a", day=-3))
    past.temporal.record(decision("d4", plan="b", day=-4))

    def chosen(**options: Any) -> list[str]:
        return ids(past.temporal.query_by_tier("warm", **options))

    assert chosen() == ["a", "d1", "d2", "d3", "d4"]
    assert chosen(limit=2) == ["a", "d1"]
    assert chosen(limit=0) == []
    assert chosen(plan_ids=["b"]) == ["d4"]
    assert chosen(plan_ids=[]) == []
    assert chosen(resource_types=["decision"], limit=1) == ["d1"]
    assert chosen(resource_types=[]) == ["a", "d1", "d2", "d3", "d4"]
    assert chosen(resource_types=["source_file"]) == []
    assert chosen(scope=["project://app"]) == ["a", "d1", "d3"]
    assert chosen(scope=["project://app"], limit=3) == ["a", "d1", "d3"]
    assert chosen(scope=["project://other"]) == ["d2"]
    assert chosen(scope=["plan://a"]) == ["a", "d1", "d2", "d3"]


# the graph


def test_the_graph_leads_from_decisions_to_nodes_and_back(past: SQLiteStore, make: Any) -> None:
    past.temporal.record(decision("d", nodes=("n", "missing")))
    past.replace(make.document("n", "text"))
    uri = "plan://p#d"
    tie = Edge(source=uri, target="n", relation="decides")
    assert past.graph.neighbors([uri]) == past.graph.neighbors(["n"], direction="in") == [tie]
    (hit,) = past.graph.get([uri])
    assert [hit] == past.temporal.query_by_tier("warm")
    rendering = past.renderings.at(uri, 9)
    assert rendering is not None
    assert rendering.content == "text of d"
    past.remove("n")
    assert past.graph.neighbors([uri]) == []
    past.replace(make.document("n", "text"))
    assert past.graph.neighbors([uri]) == [tie]


def test_archived_decisions_still_lead_to_their_nodes(past: SQLiteStore, make: Any) -> None:
    past.replace(make.document("n", "text"))
    past.temporal.record(decision("d", nodes=("n",)))
    past.temporal.archive("p")
    (hit,) = past.graph.get(["plan://p#d"])
    assert hit.tier == "cold"
    assert len(past.graph.neighbors([hit.uko_node])) == 1


def test_a_superseded_decision_leads_to_its_nodes_but_nothing_leads_to_it(
    past: SQLiteStore, make: Any
) -> None:
    past.replace(make.document("n", "text"))
    past.temporal.record(decision("old", day=-2, nodes=("n",)))
    past.temporal.record(decision("new", day=-1, nodes=("n",), supersedes="old"))
    assert [e.source for e in past.graph.neighbors(["n"])] == ["plan://p#new"]
    assert [e.target for e in past.graph.neighbors(["plan://p#old"])] == ["n"]
    assert past.graph.get(["plan://p#old"]) == []


def test_a_decision_that_changes_its_nodes_or_plan_leaves_no_old_edge(
    past: SQLiteStore, make: Any
) -> None:
    past.replace(make.resource(make.node("a"), make.node("b"), uri="r"))
    past.temporal.record(decision("d", nodes=("a",)))
    past.temporal.record(decision("d", nodes=("b",), plan="q"))
    assert past.graph.neighbors(["a"]) == []
    assert [e.source for e in past.graph.neighbors(["b"])] == ["plan://q#d"]
    assert past.graph.get(["plan://p#d"]) == []


def test_ids_may_hold_what_separates_segments(past: SQLiteStore) -> None:
    past.temporal.record(decision("d/1#2", plan="p/q"))
    (hit,) = past.temporal.query_by_tier("warm", plan_ids=["p/q"])
    assert hit.uko_node == "plan://p%2Fq#d%2F1%232"
    assert past.temporal.query_by_tier("warm", scope=["plan://p"]) == []


def test_records_are_no_part_of_the_index(past: SQLiteStore) -> None:
    past.temporal.record(plan().record_decision("apples"))
    assert past.text.search("apples") == []
    assert past.hashes() == {}
    assert past.vector_hashes() == {}
    assert past.stats().nodes == {"decision": 1, "plan": 1}


def test_a_record_is_written_whole_or_not_at_all(past: SQLiteStore) -> None:
    def crash() -> None:
        with past.transaction():
            past.temporal.record(plan().record_decision("x"))
            raise KeyError

    with pytest.raises(KeyError):
        crash()
    assert past.temporal.query_by_tier("warm") == []
    assert past.stats().nodes == {}


def test_records_are_there_after_reopening(tmp_path: Path) -> None:
    """M5.stored."""
    path = tmp_path / "store.db"
    with SQLiteStore(path) as store:
        store.temporal.record(decision("d"))
    with SQLiteStore(path, read_only=True) as store:
        assert ids(store.temporal.query_by_tier("warm")) == ["d"]
