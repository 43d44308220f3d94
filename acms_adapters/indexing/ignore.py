"""Which files of a folder nobody wants in an index (ruling I3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

GITIGNORE = ".gitignore"

_VERSION_CONTROL = {".git", ".hg", ".svn", ".bzr", ".jj", "CVS", "_darcs"}
_CACHES = {"__pycache__", ".cache", ".eggs", ".gradle", ".hypothesis", ".import_linter_cache"} | {
    f".{tool}_cache" for tool in ("mypy", "pytest", "ruff")
}
_WORKPLACES = {".acms", ".ipynb_checkpoints", ".nox", ".pytype", ".terraform", ".tox", ".turbo"}
_UNWANTED = _VERSION_CONTROL | _CACHES | _WORKPLACES
_FOREIGN = {".venv", "__pypackages__", "node_modules", "bower_components", ".yarn"}
_LOCKS = {"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum"}
_GENERATED = (".lock", ".min.js", ".min.css")


def patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Patterns as git reads them; a line that is none matches nothing, as with git."""
    return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def is_unwanted_folder(name: str) -> bool:
    """Whether a folder is a tool's own: version control, a cache, a store of this library."""
    return name in _UNWANTED or name.endswith(".egg-info")


def folder_reason(path: Path) -> str | None:
    """Why a folder of other people's files is left out wherever it stands, or None."""
    if path.name in _FOREIGN:
        return "installed packages"
    return "virtual environment" if (path / "pyvenv.cfg").is_file() else None


def file_reason(name: str) -> str | None:
    """Why a file of this name is left out wherever it stands, or None."""
    if name == ".git":
        return "version control"
    return "generated" if name in _LOCKS or name.endswith(_GENERATED) else None


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one file, with the folder they count from."""

    folder: PurePosixPath
    spec: GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class GitIgnore:
    """The ignore files that count for a folder, outermost first; paths are absolute."""

    rules: tuple[_Rules, ...] = ()

    @classmethod
    def above(cls, root: Path) -> GitIgnore:
        """Rules of the folders around `root` that are in the same repository.

        None if they ignore the folder itself: whoever names it wants it.
        """
        outer: list[Path] = []
        folder = root
        while not (folder / ".git").exists():
            if folder.parent == folder:
                return cls()  # no repository
            folder = folder.parent
            outer.append(folder)
        rules = cls()
        for folder in reversed(outer):
            rules = rules.within(folder)
        return cls() if rules.ignores(root, is_folder=True) else rules

    def within(self, folder: Path) -> GitIgnore:
        """The rules that count inside a folder: these and its own."""
        rules = self.rules
        for file in (folder / ".git" / "info" / "exclude", folder / GITIGNORE):
            if lines := _read_lines(file):
                rules = (*rules, _Rules(PurePosixPath(folder.as_posix()), patterns(lines)))
        return GitIgnore(rules)

    def ignores(self, path: Path, *, is_folder: bool) -> bool:
        """Whether the innermost rules that say anything of a path say that it is ignored."""
        whole = PurePosixPath(path.as_posix())
        for rules in reversed(self.rules):
            name = str(whole.relative_to(rules.folder)) + ("/" if is_folder else "")
            verdict = rules.spec.check_file(name).include
            if verdict is not None:
                return verdict
        return False


def _read_lines(file: Path) -> list[str]:
    try:
        data = file.read_bytes() if file.is_file() else b""
    except OSError:
        return []
    return [line.rstrip("\r") for line in data.decode("utf-8", "surrogateescape").split("\n")]
