"""Reads the requirements beside it, and which tests name them."""

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
DOCUMENTS = ("rulings", *(f"document_{number}" for number in range(1, 7)))
_ID = r"[MSFKBTIAC]\d{1,2}(?:\.[a-z][a-z0-9]*)?|[DE]\d-[a-z0-9-]*[a-z0-9]"
_IN_TEXT = re.compile(rf"(?<![\w.-])(?:{_ID})(?![\w-])")
_IN_NAME = re.compile(r"[msfkbtiac]\d{1,2}")


class Requirement(NamedTuple):
    """Something that the library must do."""

    id: str
    document: str
    section: str
    behaviour: str


def requirements() -> list[Requirement]:
    """Every requirement, in the order of the documents."""
    return [one for name in DOCUMENTS for one in _read(HERE / f"{name}.py")]


def _read(file: Path) -> Iterator[Requirement]:
    """An entry begins with its id at the margin; its further lines are indented."""
    module = runpy.run_path(str(file))
    for part in module["TEXT"].split("\n## ")[1:]:
        section, _, entries = part.partition("\n")
        for entry in re.split(r"\n(?=\S)", entries.strip()):
            number, _, behaviour = " ".join(entry.split()).partition(" ")
            yield Requirement(number, module["DOCUMENT"], section.strip(), behaviour)


def named(folder: Path) -> Iterator[tuple[str, str]]:
    """Ids with the test that names each in its own name, its docstring or that of its class."""
    for file in sorted(folder.rglob("test_*.py")):
        yield from _named(ast.parse(file.read_text(encoding="utf-8")), file.name)


def _named(tree: ast.AST, where: str) -> Iterator[tuple[str, str]]:
    for node in ast.iter_child_nodes(tree):
        test = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not (test or isinstance(node, ast.ClassDef)):
            continue
        if node.name.lower().startswith("test"):
            place = f"{where}::{node.name}"
            ids = set(_IN_TEXT.findall(ast.get_docstring(node) or ""))
            if test:
                ids |= {word.upper() for word in node.name.split("_") if _IN_NAME.fullmatch(word)}
            yield from ((one, place) for one in sorted(ids))
        yield from _named(node, where)
