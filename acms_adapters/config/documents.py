"""From files to one mapping of settings, with the file that set each key."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acms_adapters.config.facades import CONTEXT_KEYS, file_key
from acms_adapters.errors import ConfigError, TrustError

KeyPath = tuple[str, ...]
STRATEGIES: KeyPath = ("context", "strategies")


class Origins(dict[KeyPath, str]):
    """Which source set which key. It is no part of what settings are, so any two are equal."""

    def __eq__(self, other: object) -> bool:
        """Whether the other one is of this kind."""
        return isinstance(other, Origins)

    def __ne__(self, other: object) -> bool:
        """The opposite."""
        return not self == other

    __hash__ = None

    def of(self, path: KeyPath) -> str:
        """The source of a key, or else all sources there are; empty when there are none."""
        for length in range(len(path), 0, -1):
            if path[:length] in self:
                return self[path[:length]]
        return ", ".join(dict.fromkeys(self.values()))


@dataclass(frozen=True, slots=True)
class Document:
    """What one source says.

    Attributes:
        values: Its tables, as TOML reads them.
        source: Its name in errors, such as the file's path.
    """

    values: Mapping[str, Any]
    source: str

    @property
    def custom(self) -> Mapping[str, Any]:
        """Strategies it names by import path."""
        named: Any = self.values
        for name in (*STRATEGIES, "custom"):
            named = named.get(name, {})
        return named if isinstance(named, Mapping) else {}


def read_file(path: Path) -> Document | None:
    """Read a TOML file; None when there is none.

    Raises:
        ConfigError: It cannot be read, or is no TOML.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        return Document(tomllib.loads(text), str(path))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML: {error}") from error


def check_keys(document: Document, strategy_keys: Iterable[str]) -> None:
    """Refuse what is no table, and keys nobody knows.

    Raises:
        ConfigError: Names the source, the key and the near one.
    """
    known = frozenset(strategy_keys)
    values, source = document.values, document.source
    if not isinstance(values, Mapping):
        raise ConfigError(f"{source}: must map 'context' to a table, not be {values!r}")
    _check(values, {"context"}, path=(), source=source, known=known)
    context = _table(values, "context", path=(), source=source)
    _check(context, {*CONTEXT_KEYS, "strategies"}, path=("context",), source=source, known=known)
    strategies = _table(context, "strategies", path=("context",), source=source)
    tables = {name for name, value in strategies.items() if isinstance(value, Mapping)}
    _check(strategies, {*known, *tables}, path=STRATEGIES, source=source, known=known)


def merge(documents: Iterable[Document]) -> tuple[dict[str, Any], Origins]:
    """Lay documents over each other, the later over the earlier, key by key (ruling C1)."""
    merged: dict[str, Any] = {}
    origins = Origins()
    for document in documents:
        _lay(merged, document.values, path=(), source=document.source, origins=origins)
    return merged, origins


def check_trust(project: Document, others: Iterable[Document]) -> None:
    """Refuse import paths that only a project's file names (ruling C2).

    Raises:
        TrustError: Names the file and the strategies.
    """
    trusted = {item for other in others for item in other.custom.items()}
    names = [repr(name) for name, target in project.custom.items() if (name, target) not in trusted]
    if names:
        raise TrustError(
            f"{project.source}: names code to import for {', '.join(names)}, and this project is "
            "not trusted; run with --trust (trust=True) if you trust it, or move the entry to "
            "your own global configuration file"
        )


def _lay(
    under: dict[str, Any], over: Mapping[str, Any], *, path: KeyPath, source: str, origins: Origins
) -> None:
    for name, value in over.items():
        here = (*path, name)
        below = under.get(name)
        if isinstance(value, Mapping):
            table = dict(below) if isinstance(below, Mapping) else {}
            _lay(table, value, path=here, source=source, origins=origins)
            under[name] = table
        else:
            under[name] = value
        origins[here] = source


def _table(
    values: Mapping[str, Any], name: str, *, path: KeyPath, source: str
) -> Mapping[str, Any]:
    table = values.get(name, {})
    if not isinstance(table, Mapping):
        key = ".".join((*path, name))
        raise ConfigError(f"{source}: {key} must be a table, not {table!r}")
    return table


def _check(
    values: Mapping[str, Any],
    allowed: set[str],
    *,
    path: KeyPath,
    source: str,
    known: frozenset[str],
) -> None:
    for name in values:
        if name not in allowed:
            key = ".".join((*path, name))
            raise ConfigError(f"{source}: unknown key {key!r}{_hint(name, allowed, known)}")


def _hint(name: str, allowed: set[str], known: frozenset[str]) -> str:
    facade = file_key(name)
    if facade in allowed:
        return f"; in a file it is called {facade!r}"
    elsewhere = {
        table: names
        for table, names in (("context", CONTEXT_KEYS), ("context.strategies", known))
        if not names <= allowed
    }
    for table, names in elsewhere.items():
        if name in names:
            return f"; it belongs in the table [{table}]"
    if near := difflib.get_close_matches(name, allowed, n=1):
        return f"; did you mean {near[0]!r}?"
    for table, names in elsewhere.items():
        if near := difflib.get_close_matches(name, names, n=1):
            return f"; did you mean {near[0]!r} in the table [{table}]?"
    if allowed >= known:
        return f"; settings of a strategy are a table of its own: [context.strategies.{name}]"
    return f" (known: {', '.join(sorted(allowed))})"
