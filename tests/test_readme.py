"""What the README and the guides print runs, and what they say it prints is what it prints.

A page is read from top to bottom, in one folder (a copy of docs/guides/example) and one namespace:

- ```` ```python ```` runs; a ```` ```text ```` block right behind it is what it printed.
- ```` ```console ```` holds lines `$ acms …` (or `pytest`, `cat`), with what they print below them.
  A command has to succeed, unless `$ echo $?` asks for its exit code next.
- A file name behind the language, as in ```` ```toml .acms/config.toml ````, writes the file.
- ```` ```toml ```` without one is a part of a configuration that has to be valid.

In what is printed `…` stands for anything in its line, and alone in a line for any lines.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from acms_adapters import Settings
from acms_adapters.cli.app import run
from acms_adapters.config.settings import global_config_file

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
TEXTS = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
USER_FILE = "~/.config/acms/config.toml"

BLOCK = re.compile(r"^```(\w*)[ ]?([^\n]*)\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    language: str
    file: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield Block(found[1], found[2].strip(), found[3], text.count("\n", 0, found.start()) + 2)


@dataclass
class Reader:
    """Does what a page says."""

    page: Path
    module: ModuleType
    printed: str = ""
    code: int = 0
    problems: list[str] = field(default_factory=list)

    def read(self) -> None:
        last = ""
        for block in blocks(self.page):
            if block.file:
                self.write(block)
            elif block.language == "python":
                self.execute(block)
            elif block.language == "text" and last == "python":
                self.compare(block.text, block.line)
            elif block.language == "console":
                self.type_in(block)
            elif block.language == "toml":
                Settings.from_mapping(tomllib.loads(block.text), source=str(block.line))
            last = block.language if not block.file else ""

    def write(self, block: Block) -> None:
        target = global_config_file() if block.file == USER_FILE else Path(block.file)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, encoding="utf-8")

    def execute(self, block: Block) -> None:
        # blank lines in front, so that a traceback names the line of the page
        code = compile("\n" * (block.line - 1) + block.text, str(self.page), "exec")
        with redirect_stdout(StringIO()) as out:
            exec(code, vars(self.module))
        self.printed = out.getvalue()

    def type_in(self, block: Block) -> None:
        chunks = re.split(r"^\$ ", block.text, flags=re.M)
        assert not chunks[0].strip(), f"{self.page.name}:{block.line}: begin lines with '$ '"
        commands = [chunk.partition("\n") for chunk in chunks[1:]]
        for (command, _, shown), (then, _, _) in zip(
            commands, [*commands[1:], ("", "", "")], strict=True
        ):
            if command == "echo $?":
                self.printed = f"{self.code}\n"
            else:
                self.command(command, may_fail=then == "echo $?")
            self.compare(shown, block.line)

    def command(self, command: str, *, may_fail: bool) -> None:
        program, *arguments = shlex.split(command, comments=True)
        if program == "pip":
            self.printed = ""
            return
        if program == "cat":
            self.printed = "".join(Path(a).read_text(encoding="utf-8") for a in arguments)
            return
        if program == "pytest":
            self.pytest(arguments)
            return
        assert program == "acms", f"{self.page.name}: who runs {command!r}?"
        with StringIO() as out, redirect_stdout(out), redirect_stderr(out):
            self.code = run(arguments)
            self.printed = out.getvalue()
        assert may_fail or self.code == 0, f"{command!r} exits with {self.code}:\n{self.printed}"

    def pytest(self, arguments: list[str]) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--import-mode=importlib", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
        )
        self.printed = done.stdout
        assert done.returncode == 0, done.stdout + done.stderr

    def compare(self, shown: str, line: int) -> None:
        if shown.strip() and not matches(shown, self.printed):
            self.problems.append(
                f"{self.page.name}:{line} shows\n\n{shown}\nbut this is printed:\n\n{self.printed}"
            )


def matches(shown: str, printed: str) -> bool:
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    pattern = "".join(
        r"(?:[^\n]*\n)*?"
        if line.strip() == "…"
        else re.escape(line).replace("…", r"[^\n]*") + r"\n"
        for line in lines
    )
    text = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines()) + "\n"
    return re.fullmatch(pattern, text) is not None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "example"
    shutil.copytree(ROOT / "docs" / "guides" / "example", folder)
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("ACMS_STORE", "ACMS_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    before = set(sys.modules)
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    yield module
    for name in set(sys.modules) - before:  # a file that a page wrote must not meet the next page
        if not hasattr(sys.modules[name], "__path__") and "." not in name:
            origin: Any = getattr(sys.modules[name], "__file__", None) or ""
            if "example" in Path(origin).parts:
                del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_prints(page: Path, folder: Path, module: ModuleType) -> None:
    reader = Reader(page, module)
    reader.read()
    assert not reader.problems, "\n".join(reader.problems)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_command_is_never_printed_where_nobody_runs_it(page: Path) -> None:
    for block in blocks(page):
        if block.language != "console":
            assert not re.search(r"^(\$ )?acms ", block.text, re.M), f"{page.name}:{block.line}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{page.name} links to {target}"


def anchors(page: Path) -> set[str]:
    """Names that GitHub gives to headings."""
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", prose, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a … c\n", "a b c\n", True),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a … c\n", "a\nc\n", False),
        ("a\n", "a\nb\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_an_ellipsis_stands_for_anything_and_nothing_else_does(
    shown: str, printed: str, same: bool
) -> None:
    assert matches(shown, printed) is same


def test_the_readme_opens_with_the_two_commands() -> None:
    opening = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1]
    assert [line.split("#")[0].strip() for line in opening.strip().splitlines()] == [
        "make demo",
        "make test",
    ]
