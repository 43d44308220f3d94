"""The guide's custom strategy works as printed, from code and from TOML (rulings S1, C2)."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from acms_adapters import (
    ACMSPipeline,
    ContextBudget,
    ContextFragment,
    ContextRequest,
    ContextStore,
    PlanContext,
    Settings,
    StrategyCapabilities,
    TrustError,
)
from acms_adapters.cli.app import run
from acms_adapters.pipeline.spec_adapter import SpecStrategyAdapter, missing_backends
from acms_adapters.protocols import BackendSet

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


class MyCustomStrategy:
    """The guide's class: the same names, signatures and steps."""

    @property
    def name(self) -> str:
        return "my-custom-strategy"

    @property
    def capabilities(self) -> StrategyCapabilities:
        return StrategyCapabilities(
            uses_text=True,
            uses_vector=False,
            uses_graph=True,
            uses_temporal=False,
            resource_types=("source_file", "decision"),
            quality_score=0.75,
            supports_depth_breadth=True,
            supports_plan_hierarchy=False,
            supports_temporal=False,
        )

    def can_handle(self, request: dict[str, Any]) -> float:
        if "focus_nodes" not in request:
            return 0.0
        keywords = request.get("keywords", [])
        if any(kw in ["async", "io", "performance"] for kw in keywords):
            return 0.9
        return 0.6

    def assemble(
        self,
        fragments: Sequence[ContextFragment],
        budget: ContextBudget,
    ) -> Sequence[ContextFragment]:
        ranked = sorted(
            fragments,
            key=lambda f: (f.tier == "hot", f.relevance_score, f.created_at),
            reverse=True,
        )
        selected = []
        total_tokens = 0
        for fragment in ranked:
            if total_tokens + fragment.token_count <= budget.available_tokens:
                selected.append(fragment)
                total_tokens += fragment.token_count
            else:
                break
        return selected

    def explain(self) -> str:
        return "Hot fragments first, and sure of itself where performance is asked about."


AS_PRINTED = """
[context.strategies]
enabled = ["simple-keyword", "my-custom-strategy"]

[context.strategies.custom]
"my-custom-strategy" = "my_package.strategies:MyCustomStrategy"

[context.strategies."my-custom-strategy"]
enabled = true
timeout_seconds = 30
max_fragments = 100
"""


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the class importable where the guide has it."""
    package = types.ModuleType("my_package")
    module = types.ModuleType("my_package.strategies")
    module.MyCustomStrategy = MyCustomStrategy  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_package", package)
    monkeypatch.setitem(sys.modules, "my_package.strategies", module)


def fragment(name: str, relevance: float, **fields: Any) -> ContextFragment:
    return ContextFragment(
        uko_node=f"project://myapp/src/{name}.py",
        content=f"def {name}(): ...",
        relevance_score=relevance,
        **{"token_count": 100, "created_at": NOON, **fields},
    )


FRAGMENTS = [
    fragment("good", 0.8),
    fragment("hot", 0.1, tier="hot"),
    fragment("newer", 0.5, created_at=NOON + timedelta(days=1)),
    fragment("older", 0.5),
]


def names(payload: Any) -> list[str]:
    return [f.uko_node.rpartition("/")[2].removesuffix(".py") for f in payload.fragments]


def test_s1_the_guides_class_works_as_printed() -> None:
    """D4-71."""
    strategy = SpecStrategyAdapter.bridge(MyCustomStrategy())
    assert strategy.name == "my-custom-strategy"
    assert strategy.capabilities.quality_score == 0.75
    assert strategy.explain() == MyCustomStrategy().explain()
    none = BackendSet()
    assert strategy.can_handle(ContextRequest(), none) == 0.0
    assert strategy.can_handle(ContextRequest(focus_nodes=["a"]), none) == 0.6
    assert strategy.can_handle(ContextRequest(focus_nodes=["a"], keywords=["io"]), none) == 0.9
    pool, budget = BackendSet(candidates=tuple(FRAGMENTS)), ContextBudget(max_tokens=200)
    chosen = strategy.assemble(ContextRequest(), pool, budget, PlanContext())
    assert [fragment.uko_node for fragment in chosen] == [
        FRAGMENTS[1].uko_node,
        FRAGMENTS[0].uko_node,
    ]


def test_s1_bridging_twice_changes_nothing() -> None:
    once = SpecStrategyAdapter.bridge(MyCustomStrategy())
    assert SpecStrategyAdapter.bridge(once) is once


def test_s1_the_short_form_needs_no_backend_because_it_sees_none() -> None:
    assert missing_backends(SpecStrategyAdapter(MyCustomStrategy()), BackendSet()) == ()


def test_registered_by_code_it_ranks_the_callers_fragments(assemble) -> None:
    """E4-custom."""
    pipeline = ACMSPipeline()
    strategy = MyCustomStrategy()
    pipeline.register_strategy(strategy.name, strategy)
    payload = assemble(
        pipeline,
        plan_id="plan-1",
        fragments=FRAGMENTS,
        budget=ContextBudget(max_tokens=4096, reserved_tokens=512),
        strategy="my-custom-strategy",
    )
    assert payload.strategies_used == ("my-custom-strategy",)
    assert payload.plan_id == "plan-1"
    assert names(payload) == ["hot", "good", "newer", "older"]
    assert payload.failures == ()


def test_what_it_found_no_room_for_is_in_the_ledger(assemble) -> None:
    """E4-custom: it stops at the first that does not fit."""
    pipeline = ACMSPipeline()
    pipeline.register_strategy("my-custom-strategy", MyCustomStrategy())
    payload = assemble(
        pipeline, plan_id="p", fragments=FRAGMENTS, budget=250, strategy="my-custom-strategy"
    )
    assert names(payload) == ["hot", "good"]
    left = {e.uko_node: e.reason.value for e in payload.ledger.entries}
    assert left == {f.uko_node: "unmatched" for f in FRAGMENTS[2:]}


@pytest.mark.parametrize(
    ("request_fields", "confidence"),
    [
        ({"keywords": ["async"]}, None),
        ({"focus_nodes": ["project://myapp"], "keywords": ["good"]}, 0.6),
        ({"focus_nodes": ["project://myapp"], "keywords": ["good", "io"]}, 0.9),
    ],
)
def test_its_confidence_decides_whether_it_is_selected(
    assemble, request_fields: dict[str, Any], confidence: float | None
) -> None:
    """E4-custom: it reads the request like a mapping."""
    pipeline = ACMSPipeline({"context": {"strategies": {"enabled": ["simple-keyword"]}}})
    pipeline.register_strategy("my-custom-strategy", MyCustomStrategy())
    payload = assemble(pipeline, request_fields, fragments=FRAGMENTS)
    assert ("my-custom-strategy" in payload.strategies_used) == (confidence is not None)
    assert MyCustomStrategy().can_handle(request_fields) == (confidence or 0.0)


def test_named_in_the_global_file_it_runs_beside_another_one(
    assemble, importable, tmp_path: Path
) -> None:
    """E4-custom, C2."""
    own = tmp_path / "config.toml"
    own.write_text(AS_PRINTED)
    pipeline = ACMSPipeline(Settings.load(global_file=own))
    assert [s.name for s in pipeline.registry.enabled()] == ["simple-keyword", "my-custom-strategy"]
    asked = {"focus_nodes": ["project://myapp"], "keywords": ["performance", "good"]}
    payload = assemble(pipeline, asked, fragments=FRAGMENTS, budget=4096)
    assert set(payload.strategies_used) == {"simple-keyword", "my-custom-strategy"}
    assert names(payload)[0] == "hot"
    alone = assemble(
        pipeline, plan_id="p", fragments=FRAGMENTS, budget=4096, strategy="my-custom-strategy"
    )
    assert names(alone) == ["hot", "good", "newer", "older"]


def test_its_table_of_the_file_holds_for_it(importable, tmp_path: Path) -> None:
    """E4-custom: a class without options of its own is bound by the general ones."""
    own = tmp_path / "config.toml"
    own.write_text(AS_PRINTED.replace("max_fragments = 100", "max_fragments = 1"))
    pipeline = ACMSPipeline(Settings.load(global_file=own))
    payload = pipeline.assemble(
        plan_id="p", fragments=FRAGMENTS, budget=4096, strategy="my-custom-strategy"
    )
    assert len(payload.fragments) == 1
    own.write_text(AS_PRINTED.replace("enabled = true", "enabled = false"))
    pipeline = ACMSPipeline(Settings.load(global_file=own))
    assert [s.name for s in pipeline.registry.enabled()] == ["simple-keyword"]


def test_a_projects_file_may_name_it_only_when_trusted(
    importable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """E4-custom, C2: from Python and from the command line."""
    (tmp_path / ".acms").mkdir()
    (tmp_path / ".acms" / "config.toml").write_text(AS_PRINTED)
    with pytest.raises(TrustError, match="my-custom-strategy"):
        Settings.load(tmp_path)
    trusted = ACMSPipeline(Settings.load(tmp_path, trust=True))
    assert "my-custom-strategy" in trusted.registry

    (tmp_path / "good.md").write_text("# Good\n\nPerformance is good.\n")
    monkeypatch.chdir(tmp_path)
    with ContextStore.open(tmp_path / ".acms" / "store", embedder=None) as store:
        store.add_path(tmp_path / "good.md", name="myapp")
    command = ["assemble", "good performance", "--strategy", "my-custom-strategy", "--json"]
    assert run(command) == 2
    assert "--trust" in capsys.readouterr().err
    assert run([*command, "--trust"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["strategies_used"] == ["my-custom-strategy"]
    assert "Performance is good." in payload["fragments"][0]["content"]
