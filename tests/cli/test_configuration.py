"""Strategies, project settings and plans on the command line (rulings C1, C2, M5)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from acms_adapters import ContextStore, Plan, SkeletonMetadata
from acms_adapters.cli.app import run

BUILT_IN = {
    "arce",
    "breadth-depth-navigator",
    "plan-decision-context",
    "semantic-embedding",
    "simple-keyword",
    "temporal-archaeology",
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def out(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


def test_strategies_lists_the_six_and_which_are_enabled(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """C1, D3-17."""
    assert run(["strategies", "--json"]) == 0
    rows = {row["name"]: row for row in out(capsys)["strategies"]}
    assert set(rows) == BUILT_IN
    enabled = {name for name, row in rows.items() if row["enabled"]}
    assert enabled == {"simple-keyword", "semantic-embedding", "breadth-depth-navigator"}
    assert rows["arce"]["quality"] == 0.95


def test_set_replaces_the_enabled_list_whole_and_keeps_what_else_is_there_c1(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """D2-34, D3-22, D6-41, D6-42."""
    file = project / ".acms" / "config.toml"
    file.parent.mkdir()
    file.write_text("# mine\n[context]\nmax_tokens = 9000\n")
    arguments = ["--strategy", "simple-keyword", "--strategy", "arce", "--skeleton-ratio", "0.5"]
    assert run(["project", "context", "set", *arguments]) == 0
    written = tomllib.loads(file.read_text())["context"]
    assert written["strategies"]["enabled"] == ["simple-keyword", "arce"]
    assert written["skeleton_ratio"] == 0.5
    assert written["max_tokens"] == 9000
    assert "# mine" in file.read_text()
    capsys.readouterr()
    assert run(["project", "context", "list", "--json"]) == 0
    assert out(capsys)["enabled"] == ["simple-keyword", "arce"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--skeleton-ratio", "1.5"], "1.5"),
        (["--strategy", "simple-keywrod"], "simple-keyword"),
        (["--profile", "fast"], "fast"),
        ([], "--skeleton-ratio"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_and_nothing_is_written(
    arguments: list[str], word: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["project", "context", "set", *arguments]) == 2
    assert word in capsys.readouterr().err
    assert not (project / ".acms" / "config.toml").exists()


def test_a_value_that_cannot_be_is_mended_by_setting_it(project: Path) -> None:
    file = project / ".acms" / "config.toml"
    file.parent.mkdir()
    file.write_text("[context]\nmax_tokens = -1\n")
    assert run(["project", "context", "list"]) == 2
    assert run(["project", "context", "set", "--max-tokens", "9000"]) == 0
    assert run(["project", "context", "list"]) == 0


def test_a_cloned_repository_runs_no_code_without_trust_c2(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".acms").mkdir()
    (project / ".acms" / "config.toml").write_text(
        '[context.strategies.custom]\n"evil" = "evil_module:Evil"\n'
    )
    for command in (["strategies"], ["project", "context", "set", "--strategy", "arce"]):
        assert run(command) == 2
        assert "--trust" in capsys.readouterr().err


def test_plan_status_shows_what_was_inherited_m5(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """C1, D2-35, E2-smoke."""
    receipt = SkeletonMetadata(ratio=0.3, original_tokens=1000, compressed_tokens=640)
    with ContextStore.open(project / ".acms" / "store", embedder=None) as store:
        store.backends().temporal.record(
            Plan(plan_id="plan-1", title="Refactor", skeleton_metadata=receipt)
        )
    assert run(["plan", "status", "plan-1", "--json"]) == 0
    assert out(capsys)["skeleton"]["compressed_tokens"] == 640
    assert run(["plan", "status", "plan-1"]) == 0
    assert "skeleton" in capsys.readouterr().out


def test_an_unknown_plan_exits_with_1(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ContextStore.open(project / ".acms" / "store", embedder=None):
        pass
    assert run(["plan", "status", "nope"]) == 1
    assert "nope" in capsys.readouterr().err
