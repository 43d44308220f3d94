"""`acms eval`: what it prints, what it writes, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acms_adapters.cli.app import run

PASSAGES = {
    "amber": "Amber is fossil tree resin that is valued as a gemstone.",
    "basalt": "Basalt is a dark volcanic rock formed from rapidly cooled lava.",
}


@pytest.fixture
def stones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "stones"
    folder.mkdir()
    passages = [{"_id": name, "title": name, "text": text} for name, text in PASSAGES.items()]
    questions = [
        {"_id": "q1", "text": "fossil resin", "metadata": {"answer": "Amber"}},
        {"_id": "q2", "text": "cooled lava", "metadata": {"answer": "Basalt"}},
    ]
    for name, rows in (("corpus", passages), ("queries", questions)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "qrels.tsv").write_text("q1\tamber\t1\nq2\tbasalt\t1\n")
    return "stones"


def test_it_prints_one_column_a_budget_and_one_row_a_measure(
    stones: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", stones, "--budget", "100,200", "--strategies", "simple-keyword"]) == 0
    printed = capsys.readouterr()
    assert "stones: 2 questions, 2 passages" in printed.out
    for row in ("tokens used", "evidence read whole", "answer in context", "nDCG@10"):
        assert row in printed.out
    assert printed.out.count("1.000 [1.00 1.00]") >= 4
    assert printed.err == ""


def test_three_budgets_fit_a_terminal_of_80_columns(
    stones: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["eval", stones, "--strategies", "simple-keyword"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert len(rows) == 8
    assert all(len(row) <= 80 for row in rows)


def test_it_writes_json_and_a_plot(stones: str) -> None:
    command = ["eval", stones, "--budget", "100", "--json", "r.json", "--plot", "r.svg"]
    assert run([*command, "--profile", "spec", "--strategies", "simple-keyword"]) == 0
    result = json.loads(Path("r.json").read_text())
    assert result["budgets"][0]["read"]["mean"] == 1.0
    assert [row["question"] for row in result["budgets"][0]["rows"]] == ["q1", "q2"]
    assert result["settings"]["profile"] == "spec"
    assert result["settings"]["enabled"] == ["simple-keyword"]
    assert Path("r.svg").read_text().lstrip().startswith("<?xml")


def test_two_runs_write_the_same_json_but_for_times(stones: str) -> None:
    found = []
    for name in ("one.json", "two.json"):
        assert run(["eval", stones, "--budget", "30", "--json", name, "--store", "kept"]) == 0
        found.append({**json.loads(Path(name).read_text()), "times": None})
    assert found[0] == found[1]


def test_options_win_over_the_project_s_file(stones: str) -> None:
    Path(".acms").mkdir()
    Path(".acms/config.toml").write_text('[context]\nprofile = "spec"\nmax_tokens = 9000\n')
    assert run(["eval", stones, "--json", "r.json", "--profile", "tuned", "--limit", "1"]) == 0
    result = json.loads(Path("r.json").read_text())
    assert (result["settings"]["profile"], result["settings"]["max_tokens"]) == ("tuned", 9000)
    assert result["questions"] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["nowhere"], "a data set needs corpus.jsonl"),
        (["stones", "--budget", "many"], "'many' is no list of whole numbers"),
        (["stones", "--budget", "0"], "budgets must be"),
        (["stones", "--plot", "r.gif"], "a plot is written as .png or .svg"),
        (["stones", "--strategies", "nonsense"], "nonsense"),
        (["stones", "--split", "half"], "half"),
        (["stones", "--json", "nowhere/figures.json"], "no folder 'nowhere'"),
        (["stones", "--plot", "nowhere/figures.png"], "no folder 'nowhere'"),
    ],
)
def test_wrong_use_is_told_in_words_with_exit_code_2(
    options: list[str], said: str, stones: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", *options]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
