"""Skeletons end to end: an indexed project, plans on disk, the command line (rulings K1 to K4)."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acms_adapters import DEFAULT_SKELETON_RATIO, ContextStore, Plan, Settings
from acms_adapters.cli.app import run
from acms_adapters.pipeline import PlanLifecycle

BUDGET = 2_000
SHARE = 0.15 * BUDGET


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a real package's code."""
    spec = importlib.util.find_spec("pathspec")
    assert spec is not None
    assert spec.origin is not None
    place = tmp_path_factory.mktemp("indexed") / "store"
    with ContextStore.open(place, embedder=None) as store:
        store.add_path(Path(spec.origin).parent, name="pathspec", include=["/*.py"])
    return place


@pytest.fixture
def project(indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of its own, where commands are run."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(indexed, tmp_path / ".acms" / "store")
    return tmp_path


@pytest.fixture
def store(project: Path) -> Iterator[ContextStore]:
    with ContextStore.open(project / ".acms" / "store", embedder=None) as store:
        yield store


@pytest.fixture(params=["sync", "async"])
def do(request: pytest.FixtureRequest) -> Callable[..., Plan]:
    def call(lifecycle: PlanLifecycle, name: str, *args: Any, **options: Any) -> Plan:
        if request.param == "sync":
            return getattr(lifecycle, name)(*args, **options)
        return asyncio.run(getattr(lifecycle, f"a{name}")(*args, **options))

    return call


def ids(plan: Plan) -> set[str]:
    assert plan.context_payload is not None
    return {fragment.fragment_id for fragment in plan.context_payload.fragments}


def inherited(plan: Plan) -> set[str]:
    assert plan.context_payload is not None
    return {fragment.fragment_id for fragment in plan.context_payload.skeleton_fragments}


def parent_of_all(lifecycle: PlanLifecycle, do: Callable[..., Plan], **fields: Any) -> Plan:
    plan = Plan(plan_id="parent", title="How are patterns matched against paths?", **fields)
    return do(lifecycle, "create", plan, budget=BUDGET)


def child_named(name: str) -> Plan:
    return Plan(plan_id=name, title=f"How does {name} read its lines?")


def test_a_grandchild_inherits_what_came_down_through_its_parent(store, do) -> None:
    """E2-smoke."""
    lifecycle = PlanLifecycle(store.pipeline())
    parent = parent_of_all(lifecycle, do)
    child = do(lifecycle, "spawn", parent, child_named("gitignore"), budget=BUDGET)
    grandchild = do(lifecycle, "spawn", child, child_named("regex"), budget=BUDGET)
    for above, below in ((parent, child), (child, grandchild)):
        assert inherited(below)
        assert inherited(below) <= ids(above)
        receipt = below.skeleton_metadata
        assert receipt is not None
        assert receipt.original_tokens == above.context_payload.total_tokens
        assert 0 < receipt.compressed_tokens <= SHARE
        assert below.context_payload.is_within_budget
    temporal = store.backends().temporal
    assert list(temporal.ancestors("regex")) == ["gitignore", "parent"]


@pytest.mark.parametrize(
    ("plan_ratio", "project_ratio", "expected"),
    [(0.95, 0.5, 0.95), (None, 0.9, 0.9), (None, None, DEFAULT_SKELETON_RATIO)],
    ids=["the plan's", "the project's", "the default"],
)
def test_the_ratio_is_the_plans_else_the_projects_else_the_default(
    store, project, do, plan_ratio: float | None, project_ratio: float | None, expected: float
) -> None:
    """E2-smoke."""
    if project_ratio is not None:
        assert run(["project", "context", "set", "--skeleton-ratio", str(project_ratio)]) == 0
    lifecycle = PlanLifecycle(store.pipeline(Settings.load(project)))
    parent = parent_of_all(lifecycle, do, skeleton_ratio=plan_ratio)
    child = do(lifecycle, "spawn", parent, child_named("gitignore"), budget=BUDGET)
    receipt = child.skeleton_metadata
    assert receipt is not None
    assert receipt.ratio == expected
    assert receipt.compressed_tokens <= min(SHARE, receipt.original_tokens * (1 - expected))


def test_the_receipt_stays_on_the_childs_plan_with_the_decisions_it_kept(store, do) -> None:
    """E2-smoke."""
    pipeline = store.pipeline()
    lifecycle = PlanLifecycle(pipeline)
    plan = Plan(plan_id="parent", title="How are patterns matched?").record_decision(
        "Patterns become regular expressions once.", nodes=("project://pathspec/pattern.py",)
    )
    store.backends().temporal.record(plan)
    parent = do(lifecycle, "create", plan, budget=BUDGET, strategy="plan-decision-context")
    child = do(lifecycle, "spawn", parent, child_named("gitignore"), budget=BUDGET)
    receipt = child.skeleton_metadata
    assert receipt.source_decision_ids == (plan.decisions[0].decision_id,)
    recorded = store.backends().temporal.plan("gitignore")
    assert recorded.skeleton_metadata == receipt == child.context_payload.skeleton_metadata
    stepped = do(lifecycle, "step", child)
    assert stepped.skeleton_metadata == receipt


def test_the_command_line_shows_what_a_plan_inherited(store, do, capsys) -> None:
    """E2-smoke."""
    lifecycle = PlanLifecycle(store.pipeline())
    parent = parent_of_all(lifecycle, do)
    child = do(lifecycle, "spawn", parent, child_named("gitignore"), budget=BUDGET)
    store.close()
    capsys.readouterr()
    assert run(["plan", "status", "gitignore", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads(json.dumps(child.as_cli_dict()))
    assert shown["skeleton"]["compressed_tokens"] == child.skeleton_metadata.compressed_tokens
    assert run(["plan", "status", "parent", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["skeleton"] is None
    assert run(["plan", "status", "gitignore"]) == 0
    assert "skeleton" in capsys.readouterr().out


def test_the_parent_stays_as_it_was_here_and_on_disk(store, do) -> None:
    """E2-smoke."""
    lifecycle = PlanLifecycle(store.pipeline())
    parent = parent_of_all(lifecycle, do)
    before = parent.model_dump_json()
    recorded = store.backends().temporal.plan("parent").model_dump_json()
    child = do(lifecycle, "spawn", parent, child_named("gitignore"), budget=BUDGET)
    for fragment in child.context_payload.fragments:
        fragment.metadata["mine"] = True
    do(lifecycle, "complete", child)
    assert parent.model_dump_json() == before
    assert store.backends().temporal.plan("parent").model_dump_json() == recorded


def test_siblings_do_not_see_what_the_other_read(store, do) -> None:
    """E2-smoke."""
    lifecycle = PlanLifecycle(store.pipeline())
    parent = parent_of_all(lifecycle, do)
    first = do(lifecycle, "spawn", parent, child_named("gitignore"), budget=BUDGET)
    second = do(lifecycle, "spawn", parent, child_named("util"), budget=BUDGET)
    alone = do(lifecycle, "spawn", parent, child_named("util"), budget=BUDGET)
    assert inherited(second) <= ids(parent)
    assert inherited(second).isdisjoint(ids(first) - ids(parent))
    assert second.context_hash == alone.context_hash
    assert second.context_hash != first.context_hash
