"""What kind of resource a file is, by its path (ruling M4)."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

PYTHON = frozenset({".py", ".pyi", ".pyw"})
MARKDOWN = frozenset({".md", ".markdown", ".mdx", ".mkd"})

_PROSE = MARKDOWN | {".rst", ".txt", ".text", ".adoc", ".asciidoc", ".org", ".tex", ".html", ".htm"}
_PROSE_NAMES = frozenset(
    {"readme", "license", "licence", "copying", "notice", "authors", "changelog", "changes", "news"}
)
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "specs"})
_TEST_NAME = re.compile(
    r"(?:test_.*|.*_tests?|conftest|.*[.](?:test|spec)|.*[a-z0-9]Tests?)[.]\w+", re.DOTALL
)
_DECISION_FOLDERS = frozenset({"adr", "adrs", "decisions", "decision-records"})


def resource_type(path: str) -> str:
    """``test``, ``source_file``, ``decision`` or ``document``.

    Code in a folder for tests or with a test's name is a test; prose in a folder for decisions is a
    decision.
    """
    file = PurePosixPath(path)
    folders = {part.lower() for part in file.parts[:-1]}
    suffix = file.suffix.lower()
    if suffix in _PROSE or (not suffix and file.stem.lower() in _PROSE_NAMES):
        return "decision" if folders & _DECISION_FOLDERS else "document"
    if folders & _TEST_FOLDERS or _TEST_NAME.fullmatch(file.name):
        return "test"
    return "source_file"


class ModuleNames:
    """Dotted names that Python imports files by."""

    def __init__(self) -> None:
        self._packages: dict[Path, tuple[str, ...]] = {}

    def of(self, file: Path) -> tuple[str, bool]:
        """Dotted name of a file, and whether it is a package's ``__init__``.

        Packages are followed upwards as long as a folder has an ``__init__``, also above the folder
        that is indexed.
        """
        package = self._package(file.parent)
        if file.stem == "__init__" and package:
            return ".".join(package), True
        return ".".join((*package, file.stem)), False

    def _package(self, folder: Path) -> tuple[str, ...]:
        known = self._packages.get(folder)
        if known is None:
            is_package = any((folder / f"__init__{end}").is_file() for end in PYTHON)
            known = (*self._package(folder.parent), folder.name) if is_package else ()
            self._packages[folder] = known
        return known
