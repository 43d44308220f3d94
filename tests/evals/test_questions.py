"""The project's own questions, and the data set that is made of them."""

from __future__ import annotations

import ast
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from acms_adapters.cli.app import run
from acms_adapters.evaluation import read_dataset

FOLDER = Path(__file__).parent


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_dataset", FOLDER / "make_dataset.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


maker = load()
ANSWERS = [
    (package, answer)
    for package in maker.PACKAGES
    for entry in maker.questions(package)
    for answer in entry["answers"]
]


def definitions(body: list[ast.stmt], before: str = "") -> Iterator[str]:
    """Qualified names of functions and classes, those under a condition too."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield before + node.name
            if isinstance(node, ast.ClassDef):
                yield from definitions(node.body, f"{before}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from definitions([*node.body, *getattr(node, "orelse", [])], before)


def test_there_are_a_hundred_different_questions() -> None:
    asked = [entry["question"] for name in maker.PACKAGES for entry in maker.questions(name)]
    assert len(asked) == len(set(asked)) == 100


@pytest.mark.parametrize("package", maker.PACKAGES)
def test_every_answer_is_defined_in_the_installed_package(package: str) -> None:
    missing = []
    for name, answer in ANSWERS:
        if name != package:
            continue
        path, _, qualname = answer.partition("#")
        file = maker.package_folder(package) / path
        body = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
        if qualname not in definitions(body):
            missing.append(answer)
    assert missing == []


def test_no_question_gives_its_answer_s_name_away() -> None:
    for package in maker.PACKAGES:
        for entry in maker.questions(package):
            for answer in entry["answers"]:
                name = answer.rpartition("#")[2].rpartition(".")[2].strip("_")
                assert name not in entry["question"].split() or name.islower(), entry


@pytest.fixture(scope="module")
def pydantic_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evals") / "pydantic"
    maker.write_dataset(folder, ["pydantic"])
    return folder


def test_the_data_set_holds_every_answer_and_the_links_between_passages(pydantic_set: Path) -> None:
    data = read_dataset(pydantic_set)
    assert len(data.questions) == 34
    assert len(data.passages) > 1_000
    assert {link.relation for link in data.links} >= {"contains", "calls", "imports"}
    by_id = {passage.id: passage for passage in data.passages}
    (evidence,) = data.questions[0].evidence
    assert by_id[evidence].text.startswith("def to_camel(snake: str)")
    assert not any("/v1/" in name for name in by_id)


def test_acms_eval_measures_it_end_to_end(
    pydantic_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--budget", "512,2048", "--limit", "12", "--strategies", "simple-keyword"]
    assert run(["eval", str(pydantic_set), *options, "--json", "found.json"]) == 0
    small, large = json.loads(Path("found.json").read_text())["budgets"]
    assert small["read"]["mean"] <= large["read"]["mean"]
    assert large["located"]["mean"] > 0.4
    assert all(row["tokens"] <= 512 for row in small["rows"])


def test_a_package_that_is_not_there_is_named() -> None:
    with pytest.raises(SystemExit, match="'no_such_package' is not installed"):
        maker.package_folder("no_such_package")
