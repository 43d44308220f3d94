"""The configuration, validated, and where each key of it was set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from platformdirs import user_config_path
from pydantic import PrivateAttr, ValidationError

from acms_adapters.config import facades
from acms_adapters.config.documents import (
    Document,
    KeyPath,
    Origins,
    check_keys,
    check_trust,
    merge,
    read_file,
)
from acms_adapters.config.problems import describe
from acms_adapters.config.schema import Keys, StrategyTable
from acms_adapters.errors import ConfigError
from acms_adapters.models import ContextBudget

PROJECT_FILE = Path(".acms") / "config.toml"


class Settings(Keys):
    """The configuration, from files, a mapping or code.

    Each field is a key of the same name: `profile`, `max_tokens`, `reserved_tokens` and
    `skeleton_ratio` stand in ``[context]``, the rest in ``[context.strategies]``, where `tables`
    is one table for each strategy. Meanings and ranges: docs/reference/configuration.md.
    """

    _origins: Origins = PrivateAttr(default_factory=Origins)

    @classmethod
    def of(cls, value: Settings | Mapping[str, Any] | None) -> Settings:
        """Read settings: themselves, a mapping in the form of a file, or None for the defaults.

        Raises:
            ConfigError: As `from_mapping` tells.
        """
        return (
            value
            if isinstance(value, Settings)
            else cls.from_mapping({} if value is None else value)
        )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], *, source: str = "settings") -> Self:
        """Read tables as a TOML file holds them, given by code that is trusted.

        Args:
            values: Such as ``{"context": {"max_tokens": 8192}}``.
            source: What errors call it.

        Raises:
            ConfigError: No mapping, an unknown key, or a value outside its range.
        """
        return cls.from_documents([Document(values, source)])

    @classmethod
    def load(
        cls,
        project_dir: str | Path | None = None,
        *,
        global_file: str | Path | None = None,
        trust: bool = False,
        over: Mapping[str, Any] | None = None,
    ) -> Self:
        """Read the user's global file and, over it, a project's (ruling C1).

        Args:
            project_dir: The folder that holds ``.acms/config.toml``; None reads no project's.
            global_file: Left out, `global_config_file()`, which need not be there.
            trust: Honour import paths that the project's file names (ruling C2).
            over: Tables from code, over both files.

        Raises:
            ConfigError: A file cannot be read, a key is unknown, or a value is out of range.
            TrustError: The project names code to import and is not trusted.
        """
        own = read_file(Path(global_file or global_config_file()))
        if own is None and global_file is not None:
            raise ConfigError(f"{global_file}: there is no such file")
        documents = [own] if own else []
        project = read_file(Path(project_dir) / PROJECT_FILE) if project_dir is not None else None
        if project is not None:
            documents.append(project)
        last = [] if over is None else [Document(over, "options")]
        settings = cls.from_documents([*documents, *last])
        if project is not None and not trust:
            check_trust(project, [own] if own else [])
        return settings

    @classmethod
    def from_documents(cls, documents: Iterable[Document]) -> Self:
        documents = tuple(documents)
        fields = set(cls.model_fields) - facades.CONTEXT_KEYS - {"tables"}
        for document in documents:
            check_keys(document, fields)
        merged, origins = merge(documents)
        context = merged.get("context", {})
        strategies = context.pop("strategies", {})
        tables = {name: strategies.pop(name) for name in set(strategies) - fields}
        try:
            settings = cls(**context, **strategies, tables=tables)
        except ValidationError as error:
            raise ConfigError(describe(error, origins)) from error
        settings._origins = origins
        return settings

    @property
    def budget(self) -> ContextBudget:
        """The tokens that context may use."""
        return ContextBudget(max_tokens=self.max_tokens, reserved_tokens=self.reserved_tokens)

    @property
    def embedding_model(self) -> str | None:
        """The embedder that the configuration names; None leaves the choice open (ruling B7)."""
        named = self.given("semantic-embedding").get("embedding_model")
        return named if isinstance(named, str) else None

    def table(self, name: str) -> StrategyTable:
        """What is set for a strategy, with the defaults of what every strategy has."""
        return self.tables.get(name) or StrategyTable()

    def given(self, name: str) -> dict[str, Any]:
        """What was set for a strategy in its own table, defaults left out."""
        return self.table(name).model_dump(exclude_unset=True)

    def is_switched_off(self, name: str) -> bool:
        """Whether the strategy's own table says ``enabled = false``."""
        return self.given(name).get("enabled") is False

    def is_enabled(self, name: str) -> bool:
        """Whether it is in the list and not switched off in its own table (ruling S13)."""
        return name in self.enabled and not self.is_switched_off(name)

    def source(self, *path: str) -> str:
        """Where a key was set, such as a file's path; empty for nowhere."""
        return self._origins.of(path)

    def problem(self, error: ValidationError, *, under: KeyPath) -> ConfigError:
        """What is wrong with the values of a table, by file, key and value."""
        return ConfigError(describe(error, self._origins, under=under))

    def values(self, names: Mapping[str, str]) -> dict[str, Any]:
        """The values for a facade: its fields by their own names (`facades`)."""
        return {field: getattr(self, key) for field, key in names.items()}


def global_config_file() -> Path:
    """The user's own configuration file, in the folder this system keeps such files in."""
    return user_config_path("acms", appauthor=False) / "config.toml"
