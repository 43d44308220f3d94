"""Plans, their decisions, and what strategies are told of them (ruling M5)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from acms_adapters.models import (
    ContextFragment,
    ContextPayload,
    ContextRequest,
    Decision,
    Plan,
    PlanContext,
    SkeletonMetadata,
)

PAYLOAD = ContextPayload(
    fragments=[ContextFragment(uko_node="n", content="text", token_count=40)],
    skeleton_metadata=SkeletonMetadata(ratio=0.5, original_tokens=80, compressed_tokens=40),
)


class TestPlan:
    def test_nothing_is_required(self) -> None:
        plan = Plan()
        assert plan.plan_id != Plan().plan_id
        assert (plan.title, plan.parent, plan.status) == ("", None, "active")
        assert (plan.focus_nodes, plan.decisions) == ((), ())
        assert (plan.context_payload, plan.context_hash) == (None, None)
        assert (plan.skeleton_metadata, plan.skeleton_ratio) == (None, None)
        assert plan.created_at.tzinfo is UTC

    def test_the_documented_construction_works(self) -> None:
        """M5.plan, D4-81."""
        plan = Plan(
            title="Implement async I/O", context_payload=PAYLOAD, context_hash=PAYLOAD.context_hash
        )
        assert plan.context_payload is PAYLOAD

    def test_hash_and_receipt_left_out_are_those_of_the_payload(self) -> None:
        """M5.plan."""
        plan = Plan(context_payload=PAYLOAD)
        assert plan.context_hash == PAYLOAD.context_hash
        assert plan.skeleton_metadata == PAYLOAD.skeleton_metadata
        own = SkeletonMetadata(ratio=0.1, original_tokens=1, compressed_tokens=1)
        assert Plan(context_payload=PAYLOAD, skeleton_metadata=own).skeleton_metadata == own

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("plan_id", ""),
            ("status", "paused"),
            ("focus_nodes", "project://app"),
            ("skeleton_ratio", 1.5),
            ("skeleton_ratio", float("nan")),
            ("context_payload", "text"),
            ("created_at", "now"),
            ("unknown", 1),
        ],
    )
    def test_a_value_outside_its_range_is_refused(self, field: str, value: Any) -> None:
        with pytest.raises(ValueError, match=field):
            Plan(**{field: value})

    def test_a_plan_cannot_be_changed(self) -> None:
        with pytest.raises(ValueError, match="frozen"):
            Plan().title = "x"  # type: ignore[misc]

    def test_it_survives_json_equal(self) -> None:
        plan = Plan(
            title="x", context_payload=PAYLOAD, parent="p", focus_nodes=["n"], skeleton_ratio=0.5
        ).record_decision("use B", nodes=("n",), metadata={"votes": [1, 2]})
        assert Plan.model_validate_json(plan.model_dump_json()) == plan
        assert Plan(**plan.model_dump()) == plan


class TestDecisions:
    def test_recording_one_gives_another_plan(self) -> None:
        """M5.decisions."""
        plan = Plan(title="x")
        after = plan.record_decision(
            "use B because of C",
            title="B",
            nodes=("n",),
            supersedes="old",
            decided_at=datetime(2024, 4, 19),
            metadata={"votes": 3},
        )
        assert plan.decisions == ()
        (decision,) = after.decisions
        assert after.model_copy(update={"decisions": ()}) == plan
        assert decision.plan_id == plan.plan_id
        assert (decision.text, decision.title) == ("use B because of C", "B")
        assert (decision.nodes, decision.supersedes) == (("n",), "old")
        assert decision.decided_at == datetime(2024, 4, 19, tzinfo=UTC)
        assert decision.metadata == {"votes": 3}

    def test_they_are_kept_in_the_order_of_recording(self) -> None:
        plan = Plan().record_decision("one").record_decision("two")
        assert [decision.text for decision in plan.decisions] == ["one", "two"]
        assert len({decision.decision_id for decision in plan.decisions}) == 2

    @pytest.mark.parametrize(
        "change", [{"text": ""}, {"plan_id": ""}, {"decision_id": ""}, {"x": 1}]
    )
    def test_an_empty_one_is_refused(self, change: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(change))):
            Decision(**{"plan_id": "p", "text": "use B", **change})


class TestRequest:
    def test_a_plan_asks_by_its_title_and_focus(self) -> None:
        """M5.plan, D4-80."""
        plan = Plan(title="Add async", focus_nodes=["n"], parent="p", skeleton_ratio=0.5)
        request = plan.request()
        assert isinstance(request, ContextRequest)
        assert (request.query, request.focus_nodes) == ("Add async", ("n",))
        assert (request.plan_id, request.plan_context) == (plan.plan_id, plan.context())

    def test_fields_that_are_given_come_first(self) -> None:
        plan = Plan(title="Add async", focus_nodes=["n"])
        request = plan.request("how?", focus_nodes=["m"], parent_context=PAYLOAD, breadth=2)
        assert (request.query, request.focus_nodes, request.breadth) == ("how?", ("m",), 2)
        assert request.parent_context is PAYLOAD

    def test_a_plan_without_title_and_focus_leaves_them_unset(self) -> None:
        request = Plan().request()
        assert (request.query, request.focus_nodes) == (None, None)


class TestSummary:
    def test_it_is_json_and_names_the_skeleton(self) -> None:
        """M5.cli."""
        plan = Plan(title="x", context_payload=PAYLOAD, parent="p").record_decision("one")
        shown = json.loads(json.dumps(plan.as_cli_dict()))
        assert shown == {
            "plan_id": plan.plan_id,
            "title": "x",
            "parent": "p",
            "status": "active",
            "focus_nodes": [],
            "decisions": 1,
            "context_hash": PAYLOAD.context_hash,
            "context_tokens": 40,
            "skeleton": {
                "ratio": 0.5,
                "original_tokens": 80,
                "compressed_tokens": 40,
                "source_decision_ids": [],
            },
            "created_at": plan.created_at.isoformat(),
        }

    def test_a_fresh_plan_has_neither_context_nor_skeleton(self) -> None:
        shown = Plan().as_cli_dict()
        assert (shown["context_hash"], shown["context_tokens"], shown["skeleton"]) == (
            None,
            None,
            None,
        )


class TestPlanContext:
    def test_m5_it_needs_no_argument(self) -> None:
        context = PlanContext()
        assert (context.plan_id, context.parent_id, context.title) == (None, None, "")
        assert (context.ancestors, context.focus_nodes) == ((), ())
        assert (context.skeleton_ratio, context.metadata) == (None, {})

    def test_it_is_made_of_a_plan(self) -> None:
        plan = Plan(title="x", parent="p", focus_nodes=["n"], skeleton_ratio=0.5)
        assert plan.context() == PlanContext(
            plan_id=plan.plan_id,
            parent_id="p",
            ancestors=("p",),
            title="x",
            focus_nodes=("n",),
            skeleton_ratio=0.5,
        )
        assert plan.context(("p", "q")).ancestors == ("p", "q")

    def test_the_distance_counts_steps_upwards(self) -> None:
        context = PlanContext(plan_id="c", parent_id="b", ancestors=("b", "a"))
        assert [context.distance(name) for name in ("c", "b", "a")] == [0, 1, 2]
        assert context.distance("stranger") is None
        assert context.distance(None) is None
        assert PlanContext(plan_id="c", parent_id="b").distance("b") == 1
        assert PlanContext().distance(None) is None

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("skeleton_ratio", -0.1),
            ("skeleton_ratio", float("nan")),
            ("focus_nodes", "n"),
            ("ancestors", "a"),
            ("metadata", None),
            ("unknown", 1),
        ],
    )
    def test_a_value_outside_its_range_is_refused(self, field: str, value: Any) -> None:
        with pytest.raises(ValueError, match=field):
            PlanContext(**{field: value})

    def test_it_survives_json_equal_and_shares_nothing(self) -> None:
        tags = ["a"]
        context = PlanContext(plan_id="p", metadata={"tags": tags})
        tags.append("b")
        assert context.metadata == {"tags": ["a"]}
        assert PlanContext.model_validate_json(context.model_dump_json()) == context
