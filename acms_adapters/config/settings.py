"""Validated settings: every key of a configuration file, its range and its default."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from platformdirs import user_config_path
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

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
from acms_adapters.config.profiles import PROFILES, Profile
from acms_adapters.errors import ConfigError
from acms_adapters.models import ContextBudget, StrategyOptions, Tier
from acms_adapters.models.base import FrozenModel
from acms_adapters.models.fragment import MAX_DEPTH
from acms_adapters.models.options import Flag, Fraction, Number, Seconds, Whole
from acms_adapters.models.request import UniqueNames

PROJECT_FILE = Path(".acms") / "config.toml"

_IMPORT_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def _import_path(value: str) -> str:
    if not _IMPORT_PATH.fullmatch(value):
        raise ValueError("an import path looks like 'package.module:Class'")
    return value


def _over(default: Any, given: Any) -> Any:
    if given is None:
        return default
    return {**default, **given} if isinstance(default, dict) and isinstance(given, dict) else given


def _unique(value: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(value)) != len(value):
        raise ValueError("values must not repeat")
    return value


Count = Annotated[Whole, Field(ge=0)]
Positive = Annotated[Whole, Field(ge=1)]
Weight = Annotated[Number, Field(ge=0.0)]
Level = Annotated[Whole, Field(ge=0, le=MAX_DEPTH)]
ImportPath = Annotated[str, AfterValidator(_import_path)]
Name = Annotated[str, Field(min_length=1)]


class StrategyTable(StrategyOptions):
    """A strategy's own table; what is no option of every strategy is kept for its class."""

    model_config = ConfigDict(extra="allow")


class Settings(FrozenModel):
    """The configuration, from files, a mapping or code.

    Each field is a key of the same name: `profile`, `max_tokens`, `reserved_tokens` and
    `skeleton_ratio` stand in ``[context]``, the rest in ``[context.strategies]``, where `tables`
    is one table for each strategy. Meanings and ranges: docs/reference/configuration.md.
    """

    profile: Profile = "tuned"
    max_tokens: Positive = 4096
    reserved_tokens: Annotated[Count, Field(validate_default=True)] = 512
    skeleton_ratio: Fraction = 0.3

    enabled: UniqueNames = ("simple-keyword", "semantic-embedding", "breadth-depth-navigator")
    default_strategy: Name = "arce"
    fallback_chain: UniqueNames = (
        "arce",
        "breadth-depth-navigator",
        "semantic-embedding",
        "simple-keyword",
    )
    custom: dict[Name, ImportPath] = Field(default_factory=dict)
    tables: dict[Name, StrategyTable] = Field(default_factory=dict)

    selector_threshold: Fraction = 0.0
    max_candidates: Positive = 10
    preference_boost: Annotated[Number, Field(ge=1.0)] = 1.5
    allocator_strategy: Literal["proportional", "equal", "priority"] = "proportional"
    allocator_min_budget: Count = 100
    per_strategy_max_cap: Positive | None = None
    executor_max_workers: Annotated[Whole, Field(ge=1, le=256)] = 4
    executor_timeout_seconds: Seconds = 30.0
    executor_deadline_seconds: Seconds | None = None
    executor_circuit_breaker_threshold: Positive = 3
    executor_circuit_breaker_reset_timeout: Seconds = 60.0
    executor_reserve: Flag = False

    deduplicator_strategy: Literal["highest_relevance", "first_seen", "most_recent"] = (
        "highest_relevance"
    )
    deduplicator_merge_provenance: Flag = True
    evidence_weights: dict[Name, Weight] | None = None
    resolver_default_depth: Level = 3
    resolver_hot_tier_boost: Level = 2
    resolver_budget_aware: Flag = True
    scorer_relevance_weight: Weight = 0.4
    scorer_tier_weight: Weight = 0.3
    scorer_recency_weight: Weight = 0.2
    scorer_plan_weight: Weight = 0.1
    scorer_resource_weight: Annotated[Weight, Field(validate_default=True)] = 0.0
    packer_tier_priority: Annotated[tuple[Tier, ...], AfterValidator(_unique)] = (
        "hot",
        "warm",
        "cold",
    )
    packer_greedy: Literal[True] = True
    tier_budget: dict[Tier, Count] | None = None
    depth_fallback_steps: Annotated[tuple[Level, ...], AfterValidator(_unique)] = (9, 4, 2, 0)
    min_fragment_tokens: Count = 10
    overage_guard_enabled: Flag = True
    orderer_strategy: Literal[
        "relevance", "recency", "tier-relevance", "custom", "edges", "cache-stable", "as-given"
    ] = "tier-relevance"

    preamble_enabled: Flag = True
    preamble_include_stats: Flag = True
    preamble_max_length: Positive = 500
    compressor_enabled: Flag = True
    compressor_preserve_decisions: Flag = True
    compressor_preserve_hot_tier: Flag = True

    _origins: Origins = PrivateAttr(default_factory=Origins)

    @model_validator(mode="before")
    @classmethod
    def _start_from_profile(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        profile = data.get("profile", "tuned")
        chosen = PROFILES[profile] if profile in get_args(Profile) else {}
        return {**data, **{key: _over(value, data.get(key)) for key, value in chosen.items()}}

    @field_validator("reserved_tokens")
    @classmethod
    def _leave_something(cls, value: int, info: ValidationInfo) -> int:
        most = info.data.get("max_tokens")
        if most is not None and value >= most:
            raise ValueError(f"must be below context.max_tokens ({most})")
        return value

    @field_validator("per_strategy_max_cap")
    @classmethod
    def _cap_is_useful(cls, value: int | None, info: ValidationInfo) -> int | None:
        least = info.data.get("allocator_min_budget")
        if value is not None and least is not None and value < least:
            raise ValueError(f"must be at least allocator_min_budget ({least})")
        return value

    @field_validator("scorer_resource_weight")
    @classmethod
    def _weigh_something(cls, value: float, info: ValidationInfo) -> float:
        names = [key for key in facades.SCORER.values() if key in info.data]
        if value == 0.0 and not any(info.data[name] for name in names) and len(names) == 4:
            raise ValueError("one of the scorer_*_weight keys must be above 0")
        return value

    @classmethod
    def of(cls, value: Settings | Mapping[str, Any] | None) -> Settings:
        """Read settings: themselves, a mapping in the form of a file, or None for the defaults."""
        if isinstance(value, Settings):
            return value
        return cls.from_mapping(value or {})

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], *, source: str = "settings") -> Self:
        """Read tables as a TOML file holds them, given by code that is trusted.

        Args:
            values: Such as ``{"context": {"max_tokens": 8192}}``.
            source: What errors call it.

        Raises:
            ConfigError: An unknown key, or a value outside its range.
        """
        return cls.from_documents([Document(values, source)])

    @classmethod
    def load(
        cls,
        project_dir: str | Path | None = None,
        *,
        global_file: str | Path | None = None,
        trust: bool = False,
    ) -> Self:
        """Read the user's global file and, over it, a project's (ruling C1).

        Args:
            project_dir: The folder that holds ``.acms/config.toml``; None reads no project's.
            global_file: Left out, `global_config_file()`, which need not be there.
            trust: Honour import paths that the project's file names (ruling C2).

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
        settings = cls.from_documents(documents)
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
