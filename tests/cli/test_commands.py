"""The `acms` command: what it prints, where, and how it exits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from acms_adapters import ContextStore, Plan, token_counter
from acms_adapters.cli.app import app, run

CODE = '''"""Rate limits."""


class TokenBucket:
    """Refills once a second."""

    def acquire(self) -> bool:
        """Take a token if there is one."""
        return self.tokens > 0
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "src"
    source.mkdir()
    (source / "limits.py").write_text(CODE)
    (source / "notes.md").write_text("# Notes\n\nThe bucket was chosen for its simplicity.\n")
    return tmp_path


@pytest.fixture
def indexed(project: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run(["index", "src"]) == 0
    capsys.readouterr()
    return project


def test_index_reports_on_stderr_and_leaves_version_control_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["index", "src"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "2 files" in printed.err
    assert (project / ".acms" / "store" / ".gitignore").read_text() == "*\n"


def test_assemble_prints_the_context_on_stdout_and_one_line_of_figures_on_stderr(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """C1."""
    assert run(["assemble", "How is a token taken from the bucket?", "--budget", "300"]) == 0
    printed = capsys.readouterr()
    assert "def acquire" in printed.out
    assert token_counter().count(printed.out.rstrip("\n")) <= 300
    assert len(printed.err.strip().splitlines()) == 1
    assert "of 300 tokens" in printed.err


def test_assemble_json_is_the_payload(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assemble", "token bucket", "--budget", "300", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["available_tokens"] == 300
    assert payload["is_within_budget"] is True
    assert payload["fragments"]


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["index", "src"], "unchanged"),
        (["assemble", "token bucket"], "fragments"),
        (["explain", "token bucket"], "ledger"),
        (["strategies"], "strategies"),
        (["project", "context", "set", "--skeleton-ratio", "0.5"], "skeleton_ratio"),
        (["project", "context", "list"], "enabled"),
        (["plan", "status", "plan-1"], "skeleton"),
    ],
)
def test_every_command_prints_json_on_request_and_nothing_else(
    arguments: list[str], key: str, indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """C1.json."""
    with ContextStore.open(indexed / ".acms" / "store") as store:
        store.backends().temporal.record(Plan(plan_id="plan-1"))
    assert run([*arguments, "--json"]) == 0
    assert key in json.loads(capsys.readouterr().out)


def options(command: Any, *path: str) -> Iterator[tuple[str, set[str]]]:
    """Options of each command below one."""
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from options(below, *path, name)
    else:
        yield " ".join(path), {option for given in command.params for option in given.opts}


def test_no_command_lacks_the_option_for_json() -> None:
    """C1.json."""
    commands = dict(options(get_command(app)))
    assert set(commands) >= {"index", "assemble", "explain", "strategies", "plan status"}
    assert set(commands) >= {"project context set", "project context list"}
    assert [name for name, known in commands.items() if "--json" not in known] == []


def test_explain_tables_say_what_went_in_what_stayed_out_and_where_tokens_went(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """C1."""
    assert run(["explain", "token bucket", "--budget", "60"]) == 0
    printed = capsys.readouterr().out
    for title in ("In: ", "Out: ", "Tokens by strategy and tier"):
        assert title in printed


def test_a_focus_brings_its_neighbourhood(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = "project://src/limits.py#TokenBucket"
    assert run(["assemble", "what is here", "--focus", node, "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    best = payload["fragments"][0]
    assert "class TokenBucket" in best["content"]
    assert best["relevance_score"] > 0.9


def test_finding_nothing_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert run(["index", "empty"]) == 1
    assert run(["assemble", "anything"]) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["index", "nowhere"], ["nowhere"]),
        (["assemble", ""], ["empty"]),
        (["assemble", "q", "--budget", "0"], ["0"]),
        (["assemble", "q", "--budget", "-5"], ["-5"]),
        (["assemble", "q", "--budget", "many"], ["many"]),
        (["assemble", "q", "--strategy", "simple-keywrod"], ["simple-keywrod", "simple-keyword"]),
        (["assemble", "q", "--store", "missing"], ["missing", "acms index"]),
        (["assemble", "q", "--colour", "red"], ["--colour"]),
        (["frobnicate"], ["frobnicate"]),
    ],
)
def test_wrong_use_exits_with_2_and_names_the_value(
    arguments: list[str], words: list[str], indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    for word in words:
        assert word in printed.err


def test_a_wrong_value_is_named_once(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assemble", "q", "--tokenizer", " "]) == 2
    assert capsys.readouterr().err.count("' '") == 1


def test_a_broken_configuration_exits_with_2_and_names_the_file(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (indexed / ".acms" / "config.toml").write_text("[context]\nmax_tokns = 5\n")
    assert run(["assemble", "q"]) == 2
    error = capsys.readouterr().err
    assert "config.toml" in error
    assert "max_tokens" in error


def test_an_unknown_model_counts_with_a_warning_and_goes_on_a6(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["assemble", "token bucket", "--tokenizer", "claude-sonnet-5"]) == 0


def test_a_dead_store_exits_with_3_or_2_and_never_with_a_traceback(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in (indexed / ".acms" / "store").rglob("*.sqlite3"):
        file.write_bytes(b"this is no database" * 100)
    assert run(["assemble", "token bucket"]) in (2, 3)
    assert "Traceback" not in capsys.readouterr().err


def test_the_installed_command_runs(indexed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "acms_adapters.cli", "assemble", "token bucket", "--budget", "200"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "TokenBucket" in done.stdout


def test_a_text_that_the_terminal_cannot_show_is_shown_as_codes(project: Path) -> None:
    (project / "src" / "greetings.md").write_text(
        "# Gr\u00fc\u00dfe\n\n\u65e5 \U0001f642\n", "utf-8"
    )
    assert run(["index", "src"]) == 0
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "acms_adapters.cli",
            "assemble",
            "Gr\u00fc\u00dfe",
            "--budget",
            "90",
        ],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert rb"\u65e5 \U0001f642" in done.stdout


def test_below_the_folder_of_a_store_its_place_is_told(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(indexed / "src")
    assert run(["assemble", "token bucket"]) == 2
    assert f"go to {str(indexed)!r}" in capsys.readouterr().err


def test_a_focus_that_nobody_knows_is_told(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["assemble", "token bucket", "--focus", "project://src/nowhere.py"]) == 0
    assert "not known: project://src/nowhere.py" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("acms ")
