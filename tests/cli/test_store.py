"""`acms store`: what it holds, and whether it is in order."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from acms_adapters.cli.app import run


@pytest.fixture
def indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "notes.md").write_text("# Notes\n\nThe bucket was chosen.\n")
    assert run(["index", "src"]) == 0
    capsys.readouterr()
    return tmp_path


def damage(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / ".acms" / "store" / "store.sqlite3")) as connection:
        assert connection.execute(statement).rowcount
        connection.commit()


def test_a_store_in_order_exits_with_0(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["store", "check"]) == 0
    assert capsys.readouterr().out.startswith("in order: 2 resources")
    assert run(["store", "check", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["clean"], found["whole"], found["findings"]) == (True, True, [])


def test_what_can_be_repaired_is_and_exits_with_0(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(indexed, "DELETE FROM facts")
    assert run(["store", "check", "--no-repair"]) == 1
    assert "not repaired" in capsys.readouterr().out
    assert run(["store", "check", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["clean"], found["whole"]) == (False, True)
    assert found["findings"][0]["part"] == "metadata"
    assert run(["store", "check"]) == 0
    assert capsys.readouterr().out.startswith("in order")


def test_what_cannot_be_repaired_exits_with_1_until_it_is_indexed_again(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(indexed, "UPDATE renderings SET content = 'x' WHERE depth = 9")
    (indexed / "src" / "notes.md").write_text("# Notes\n\nThe bucket was changed.\n")
    assert run(["store", "check"]) == 1
    assert "project://src/notes.md" in capsys.readouterr().out
    assert run(["index", "src"]) == 0
    assert run(["store", "check"]) == 0


def test_figures_are_told(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["store", "stats"]) == 0
    assert "resources: 2" in capsys.readouterr().out
    assert run(["store", "stats", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["resources"] == 2


@pytest.mark.parametrize("command", ["check", "stats"])
def test_a_store_that_is_not_there_is_wrong_use(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["store", command, "--store", str(tmp_path / "missing")]) == 2
    assert "missing" in capsys.readouterr().err
    assert not (tmp_path / "missing").exists()
