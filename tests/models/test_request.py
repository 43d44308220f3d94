"""What is asked for (rulings M2, M3, M8, A4, S3, T1)."""

import subprocess
import sys
from collections import OrderedDict
from datetime import UTC, datetime
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from acms_adapters.errors import RequestError
from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    ContextRequest,
    PlanContext,
)
from acms_adapters.tokens import token_counter

FIELDS = {
    "query",
    "focus_nodes",
    "history",
    "breadth",
    "depth",
    "keywords",
    "resource_types",
    "detail_level",
    "temporal_window",
    "strategy_hints",
    "budget",
    "plan_id",
    "plan_context",
    "parent_context",
    "inherit_strategy",
    "skeleton_ratio",
    "scope",
    "as_of",
    "tokenizer",
    "min_relevance",
    "exclude_tiers",
    "metadata_filter",
}


class TestFields:
    def test_m2_it_has_every_field_and_none_is_required(self) -> None:
        assert set(ContextRequest.model_fields) == FIELDS
        assert all(getattr(ContextRequest(), name) is None for name in FIELDS)

    def test_the_documented_construction_works(self) -> None:
        """D4-23, D5-50."""
        request = ContextRequest(
            focus_nodes=["project://myapp/src/main.py"],
            breadth=2,
            depth=3,
            keywords=["async", "io"],
            resource_types=["source_file", "decision"],
            detail_level=3,
            temporal_window="7d",
            strategy_hints=["semantic-embedding"],
        )
        assert request.focus_nodes == ("project://myapp/src/main.py",)
        assert (request.breadth, request.depth, request.detail_level) == (2, 3, 3)

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("query", ["", "words"]),
            ("focus_nodes", [(), ("a",), ("a", "a")]),
            ("breadth", [0, 10**6]),
            ("depth", [0, 10**6]),
            ("keywords", [(), ("a", "b")]),
            ("resource_types", [(), ("test",)]),
            ("detail_level", [0, 9]),
            ("temporal_window", ["1d", "ALL", "3W", "1y"]),
            ("strategy_hints", [(), ("arce",)]),
            ("inherit_strategy", ["full", "skeleton", "none"]),
            ("skeleton_ratio", [0.0, 1.0]),
            ("scope", [(), ("project://app",)]),
            ("tokenizer", ["o200k_base", len]),
            ("min_relevance", [0.0, 1.0]),
            ("exclude_tiers", [(), ("cold", "warm")]),
            ("metadata_filter", [{}, {"team": ["a", "b"]}]),
        ],
    )
    def test_values_inside_a_range_are_accepted(self, field: str, values: list[Any]) -> None:
        for value in values:
            assert getattr(ContextRequest(**{field: value}), field) == value

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("query", [7, ["a"]]),
            ("focus_nodes", ["project://app", [""], [" "], [None], [7]]),
            ("breadth", [-1, 1.5, "two", 10**6 + 1, float("nan")]),
            ("depth", [-1, 1.5, "two", 10**6 + 1]),
            ("keywords", ["async", [""], [None]]),
            ("resource_types", ["test", [""], ["a", "a"], [None]]),
            ("detail_level", [-1, 10, 2.5]),
            ("temporal_window", ["", "7", "0d", "-1d", "7h", "week", "d7", "1.5d", 7]),
            ("strategy_hints", ["arce", [""]]),
            ("budget", [0, -1, 1.5, True, {"max_tokens": 0}, "500"]),
            ("plan_context", ["plan", {"unknown": 1}]),
            ("parent_context", ["context", {"unknown": 1}]),
            ("inherit_strategy", ["half", ""]),
            ("skeleton_ratio", [-0.1, 1.1, float("nan")]),
            ("scope", ["project://app", [""], ["a", "a"]]),
            ("as_of", ["yesterday"]),
            ("tokenizer", ["", " ", 7, ["a"]]),
            ("min_relevance", [-0.1, 1.1, float("nan")]),
            ("exclude_tiers", ["cold", ["tepid"]]),
            ("metadata_filter", ["a", [1], {1: 2}]),
            ("unknown", [1]),
        ],
    )
    def test_m6_a_value_outside_its_range_is_refused(self, field: str, values: list[Any]) -> None:
        """M2.frozen, A4."""
        for value in values:
            with pytest.raises(ValueError, match=field):
                ContextRequest(**{field: value})

    def test_a_request_cannot_be_changed(self) -> None:
        """M2.frozen."""
        with pytest.raises(ValueError, match="frozen"):
            ContextRequest().query = "x"  # type: ignore[misc]

    def test_what_the_caller_changes_later_does_not_reach_it(self) -> None:
        wanted = {"team": ["a"]}
        request = ContextRequest(metadata_filter=wanted)
        wanted["team"].append("b")
        assert request.metadata_filter == {"team": ["a"]}

    def test_m8_a_naive_moment_is_utc(self) -> None:
        request = ContextRequest(as_of=datetime(2024, 4, 19, 14, 30))
        assert request.as_of == datetime(2024, 4, 19, 14, 30, tzinfo=UTC)

    def test_s3_a_number_is_a_budget(self) -> None:
        """S3.int."""
        assert ContextRequest(budget=500).budget == ContextBudget(max_tokens=500)
        made = ContextRequest(budget={"max_tokens": 500, "reserved_tokens": 100})
        assert made.budget is not None
        assert made.budget.available_tokens == 400

    def test_m5_a_dict_is_a_plan_context(self) -> None:
        request = ContextRequest(plan_context={"plan_id": "p", "ancestors": ["q"]})
        assert request.plan_context == PlanContext(plan_id="p", ancestors=("q",))

    def test_anything_that_counts_is_a_tokenizer(self) -> None:
        for tokenizer in (
            token_counter(len),
            SimpleNamespace(model_name="gpt-4o"),
            SimpleNamespace(encode_ordinary=list),
        ):
            assert ContextRequest(tokenizer=tokenizer).tokenizer is tokenizer

    def test_names_in_a_set_have_one_order_in_every_process(self) -> None:
        code = (
            "from acms_adapters.models import ContextRequest\n"
            "print(ContextRequest(keywords=set('qwertz')).keywords)"
        )
        told = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={"PYTHONHASHSEED": seed, "PATH": ""},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for seed in ("1", "2")
        }
        assert told == {str(tuple("eqrtwz"))}

    def test_half_a_surrogate_pair_is_repaired(self) -> None:
        request = ContextRequest(query="x\ud83d", keywords=["y\ud83d"])
        assert (request.query, request.keywords) == ("x\ufffd", ("y\ufffd",))


class TestSynonym:
    def test_m2_preferred_strategies_are_strategy_hints(self) -> None:
        """M2.preferred."""
        request = ContextRequest(preferred_strategies=["relevance"])  # type: ignore[call-arg]
        assert request.strategy_hints == request.preferred_strategies == ("relevance",)
        assert request["preferred_strategies"] == request["strategy_hints"]
        assert "preferred_strategies" in request

    def test_both_names_may_agree_and_must_not_differ(self) -> None:
        agreed = ContextRequest.of({"preferred_strategies": ["a"], "strategy_hints": ["a"]})
        assert agreed.strategy_hints == ("a",)
        with pytest.raises(ValueError, match="one field"):
            ContextRequest.of({"preferred_strategies": ["a"], "strategy_hints": ["b"]})

    def test_the_callers_dict_stays_as_it_is(self) -> None:
        asked = {"preferred_strategies": ["a"]}
        ContextRequest.of(asked)
        assert asked == {"preferred_strategies": ["a"]}


class TestMapping:
    """M2: a request reads like a mapping of the fields that were set."""

    REQUEST = ContextRequest(keywords=["async"], breadth=0, focus_nodes=[])

    def test_a_field_that_was_set_is_in_it_whatever_its_value(self) -> None:
        """M2.mapping."""
        assert "keywords" in self.REQUEST
        assert "breadth" in self.REQUEST
        assert "focus_nodes" in self.REQUEST
        assert (self.REQUEST["breadth"], self.REQUEST["focus_nodes"]) == (0, ())

    def test_a_field_that_was_not_set_is_not_in_it(self) -> None:
        """M2.mapping."""
        assert "query" not in self.REQUEST
        assert "unknown" not in self.REQUEST
        assert 7 not in self.REQUEST
        assert self.REQUEST.get("query") is None
        assert self.REQUEST.get("query", "x") == "x"
        assert self.REQUEST.get("unknown", "x") == "x"
        assert self.REQUEST.get("model_fields", "x") == "x"
        for name in ("query", "unknown"):
            with pytest.raises(KeyError):
                self.REQUEST[name]

    def test_it_can_be_iterated_and_unpacked(self) -> None:
        expected = {"focus_nodes": (), "breadth": 0, "keywords": ("async",)}
        assert dict(self.REQUEST) == {**self.REQUEST} == dict(self.REQUEST.items()) == expected
        assert list(self.REQUEST) == list(self.REQUEST.keys()) == list(expected)
        assert ContextRequest(**self.REQUEST) == self.REQUEST

    def test_a_request_without_fields_is_still_true(self) -> None:
        assert ContextRequest()
        assert list(ContextRequest()) == []

    @pytest.mark.parametrize(
        ("fields", "confidence"),
        [
            ({}, 0.0),
            ({"focus_nodes": ["n"]}, 0.6),
            ({"focus_nodes": ["n"], "keywords": ["sql"]}, 0.6),
            ({"focus_nodes": ["n"], "keywords": ["io"]}, 0.9),
        ],
    )
    def test_a_strategy_written_for_dicts_can_read_it(
        self, fields: dict[str, Any], confidence: float
    ) -> None:
        """M2.mapping."""

        def can_handle(request: Any) -> float:
            if "focus_nodes" not in request:
                return 0.0
            keywords = request.get("keywords", [])
            return 0.9 if any(word in ["async", "io"] for word in keywords) else 0.6

        assert can_handle(fields) == can_handle(ContextRequest(**fields)) == confidence


class TestReading:
    def test_itself_a_question_a_mapping_or_nothing_is_a_request(self) -> None:
        """M2.dict."""
        request = ContextRequest(query="how?")
        assert ContextRequest.of(request) is request
        assert ContextRequest.of("how?") == request
        assert ContextRequest.of(None) == ContextRequest()
        for mapping in ({"query": "how?"}, OrderedDict(query="how?")):
            assert ContextRequest.of(mapping) == request
        assert ContextRequest.of(MappingProxyType({"query": "how?"})) == request

    @pytest.mark.parametrize("value", [7, ["how?"], b"how?", object()])
    def test_anything_else_is_refused(self, value: Any) -> None:
        with pytest.raises(RequestError, match="a request is"):
            ContextRequest.of(value)

    @pytest.mark.parametrize("value", [{"unknown": 1}, {7: "x"}, {"breadth": -1}])
    def test_a_mapping_that_is_no_request_is_a_value_error(self, value: Any) -> None:
        with pytest.raises(ValueError, match="ContextRequest"):
            ContextRequest.of(value)

    def test_an_unknown_field_is_refused_with_the_near_one(self) -> None:
        with pytest.raises(ValueError, match="did you mean 'keywords'"):
            ContextRequest(keyword=["a"])

    def test_it_survives_json_equal(self) -> None:
        parent = ContextPayload(
            fragments=[ContextFragment(uko_node="n", content="text", metadata={"a": [1]})]
        )
        request = ContextRequest(
            query="how?",
            focus_nodes=["n"],
            budget=500,
            plan_context={"plan_id": "p", "skeleton_ratio": 0.5},
            parent_context=parent,
            inherit_strategy="skeleton",
            as_of=datetime(2024, 4, 19),
            tokenizer="o200k_base",
            exclude_tiers=["cold"],
            metadata_filter={"team": ["a", None]},
        )
        assert ContextRequest.model_validate_json(request.model_dump_json()) == request
        assert ContextRequest.of(request.model_dump()) == request
        assert ContextRequest.of(request.model_dump(exclude_none=True)) == request
