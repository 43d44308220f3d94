"""Which files of a folder are indexed, and why the others are not (ruling I3)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from acms_adapters.indexing.ignore import (
    GitIgnore,
    file_reason,
    folder_reason,
    is_unwanted_folder,
    patterns,
)
from acms_adapters.indexing.report import Skip
from acms_adapters.indexing.secrets import is_private_key, is_secret_folder, is_secret_name

MAX_BYTES = 2_000_000
"""How large a file may be; what is larger is data more often than text."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to be indexed: where it is, its path below the root, when it was last changed."""

    file: Path
    path: str
    changed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanner:
    """Walks a folder in a fixed order.

    Attributes:
        root: The folder, absolute and without links in its path.
        include: Patterns as in `.gitignore`; a file must match one. None takes every file.
        exclude: Patterns of files and folders to leave.
        max_bytes: How large a file may be.
        leave: Folders to leave, such as the store's own.
    """

    root: Path
    include: GitIgnoreSpec | None
    exclude: GitIgnoreSpec
    max_bytes: int
    leave: frozenset[Path]

    @classmethod
    def of(
        cls,
        root: Path,
        *,
        include: Iterable[str] | str | None = None,
        exclude: Iterable[str] | str | None = None,
        max_bytes: int = MAX_BYTES,
        leave: Iterable[Path] = (),
    ) -> Scanner:
        """A scanner of a folder.

        Raises:
            ValueError: `max_bytes` is below 1, or a pattern is none.
        """
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, not {max_bytes!r}")
        return cls(
            root=root,
            include=None if include is None else _spec("include", include),
            exclude=_spec("exclude", exclude or ()),
            max_bytes=max_bytes,
            leave=frozenset(leave),
        )

    def scan(self, start: Path | None = None) -> Iterator[FoundFile | Skip]:
        """Files and what was left out, by path.

        Args:
            start: A file or folder below the root to begin at; left out, the root.
        """
        start = start or self.root
        if start.is_file():
            alone = self._look(start, GitIgnore.above(start.parent).within(start.parent))
            if alone is not None and not isinstance(alone, Path):
                yield alone
            return
        waiting = [(start, GitIgnore.above(start))]
        while waiting:
            folder, outer = waiting.pop()
            rules = outer.within(folder)
            try:
                names = sorted(os.listdir(folder))
            except OSError as error:
                yield Skip(self._path(folder), unreadable(error))
                continue
            inner: list[Path] = []
            for name in names:
                found = self._look(folder / name, rules)
                if isinstance(found, Path):
                    inner.append(found)
                elif found is not None:
                    yield found
            waiting.extend((one, rules) for one in reversed(inner))

    def passes_over(self, file: Path) -> bool:
        """Whether a file is there but of none of the included patterns."""
        if self.include is None or self.include.match_file(self._path(file)):
            return False
        return file.is_file()

    def _look(self, place: Path, rules: GitIgnore) -> FoundFile | Skip | Path | None:
        """A file, why it is left out, a folder to go into, or nothing worth a word."""
        path = self._path(place)
        try:
            status = place.lstat()
        except OSError as error:
            return Skip(path, unreadable(error))
        if stat.S_ISLNK(status.st_mode):
            return Skip(path, self._link_reason(place))
        if stat.S_ISDIR(status.st_mode):
            if place in self.leave or is_unwanted_folder(place.name):
                return None
            reason = self._folder_reason(place, path, rules)
            return Skip(f"{path}/", reason) if reason else place
        if self.include is not None and not self.include.match_file(path):
            return None
        reason = self._file_reason(place, path, status, rules)
        return Skip(path, reason) if reason else FoundFile(place, path, status.st_mtime)

    def _folder_reason(self, place: Path, path: str, rules: GitIgnore) -> str | None:
        if reason := folder_reason(place):
            return reason
        if is_secret_folder(place.name):
            return "secret"
        if self.exclude.match_file(f"{path}/"):
            return "excluded"
        return "ignored by .gitignore" if rules.ignores(place, is_folder=True) else None

    def _file_reason(
        self, place: Path, path: str, status: os.stat_result, rules: GitIgnore
    ) -> str | None:
        if not stat.S_ISREG(status.st_mode):
            return "no regular file"
        if self.exclude.match_file(path):
            return "excluded"
        if is_secret_name(place.name):
            return "secret"
        if rules.ignores(place, is_folder=False):
            return "ignored by .gitignore"
        if reason := file_reason(place.name):
            return reason
        if status.st_size > self.max_bytes:
            return f"too large: {status.st_size:,} bytes, at most {self.max_bytes:,}"
        return None

    def _link_reason(self, place: Path) -> str:
        try:
            target = place.resolve(strict=True)
        except (OSError, RuntimeError):
            return "broken link"
        if target.is_relative_to(self.root):
            return f"link to {self._path(target)!r}, indexed there"
        return "link that leads outside"

    def _path(self, place: Path) -> str:
        return place.relative_to(self.root).as_posix()


def read_file(found: FoundFile) -> bytes | Skip:
    """Content of a file, or why it is left out."""
    try:
        data = found.file.read_bytes()
    except OSError as error:
        return Skip(found.path, unreadable(error))
    if is_private_key(data):
        return Skip(found.path, "secret")
    return data if data.strip() else Skip(found.path, "empty")


def unreadable(error: OSError) -> str:
    """Why a file could not be read."""
    return f"unreadable: {error.strerror or error}"


def _spec(name: str, globs: Iterable[str] | str) -> GitIgnoreSpec:
    if isinstance(globs, str):
        globs = [globs]
    lines: Sequence[str] = [*globs]
    for line in lines:
        if not str(line).strip() or not patterns([str(line)]).patterns:
            raise ValueError(f"{name} must be patterns such as '*.py' or 'docs/', not {line!r}")
    return patterns(lines)
