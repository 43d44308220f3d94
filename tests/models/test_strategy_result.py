"""What strategies declare and deliver (ruling M1)."""

from typing import Any

import pytest

import acms_adapters
from acms_adapters.models import (
    ContextFragment,
    ContextStrategyResult,
    StrategyCapabilities,
    StrategyFailure,
    StrategyResult,
)


class TestCapabilities:
    def test_the_defaults_are_the_documented_ones(self) -> None:
        """D3-6, D3-7, D3-8, D3-9."""
        assert StrategyCapabilities().model_dump() == {
            "uses_text": False,
            "uses_vector": False,
            "uses_graph": False,
            "uses_temporal": False,
            "resource_types": (),
            "quality_score": 0.5,
            "supports_depth_breadth": False,
            "supports_plan_hierarchy": False,
            "supports_temporal": False,
        }

    def test_it_names_the_backends_that_are_needed(self) -> None:
        assert StrategyCapabilities().needs == ()
        assert StrategyCapabilities(uses_graph=True, uses_text=True).needs == ("text", "graph")
        every = StrategyCapabilities(
            uses_text=True, uses_vector=True, uses_graph=True, uses_temporal=True
        )
        assert every.needs == ("text", "vector", "graph", "temporal")

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("quality_score", 1.1),
            ("quality_score", float("nan")),
            ("resource_types", "test"),
            ("uses_text", "perhaps"),
            ("uses_magic", True),
        ],
    )
    def test_a_value_outside_its_range_is_refused(self, field: str, value: Any) -> None:
        """D3-8."""
        with pytest.raises(ValueError, match=field):
            StrategyCapabilities(**{field: value})


class TestResult:
    def test_m1_both_documented_names_are_one_class(self) -> None:
        """M1.result."""
        assert StrategyResult is ContextStrategyResult
        assert acms_adapters.StrategyResult is acms_adapters.ContextStrategyResult

    def test_only_the_name_is_required(self) -> None:
        made = StrategyResult(strategy_name="arce")
        assert (made.fragments, made.reserve, made.errors) == ((), (), ())
        assert (made.total_fragments, made.tokens_used, made.execution_time_ms) == (0, 0, 0.0)
        assert (made.stats, made.failure) == ({}, None)

    def test_the_documented_construction_works_and_survives_json(self) -> None:
        """D3-23, D5-18."""
        made = StrategyResult(
            strategy_name="semantic-embedding",
            fragments=[ContextFragment(uko_node="n", content="text")],
            total_fragments=45,
            tokens_used=2048,
            execution_time_ms=234,
            errors=[],
            stats={"similarity_scores": [0.95, 0.87], "backend_queries": 3, "cache_hits": 2},
        )
        assert StrategyResult.model_validate_json(made.model_dump_json()) == made

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("strategy_name", None),
            ("total_fragments", -1),
            ("tokens_used", -1),
            ("execution_time_ms", -0.1),
            ("fragments", "text"),
            ("errors", "late"),
            ("stats", []),
            ("unknown", 1),
        ],
    )
    def test_a_value_outside_its_range_is_refused(self, field: str, value: Any) -> None:
        with pytest.raises(ValueError, match=field):
            StrategyResult(**{"strategy_name": "arce", field: value})


class TestFailure:
    @pytest.mark.parametrize("kind", ["error", "timeout", "circuit_open", "unavailable", "invalid"])
    def test_it_says_who_failed_and_how(self, kind: Any) -> None:
        assert str(StrategyFailure(strategy="arce", kind=kind)) == f"arce: {kind}"
        told = str(StrategyFailure(strategy="arce", kind=kind, message="after 30 s"))
        assert told == f"arce: {kind} (after 30 s)"

    def test_another_kind_is_refused(self) -> None:
        with pytest.raises(ValueError, match="kind"):
            StrategyFailure(strategy="arce", kind="tired")  # type: ignore[arg-type]
