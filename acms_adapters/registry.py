"""Strategies by name: installed ones, those a configuration names, and those code adds."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from operator import attrgetter
from typing import Any

from pydantic import ValidationError

from acms_adapters.config import Settings
from acms_adapters.config.schema import import_path
from acms_adapters.errors import ConfigError, StrategyError, UnknownNameError
from acms_adapters.models import StrategyFailure, StrategyOptions
from acms_adapters.strategy_checks import check_strategy

GROUP = "acms_adapters.strategies"
BY_CODE = "code"

_COMMON = frozenset(StrategyOptions.model_fields)

logger = logging.getLogger("acms_adapters")


@dataclass(frozen=True, slots=True)
class StrategyProblem:
    """A strategy that is named somewhere and cannot be used.

    Attributes:
        name: What it is called there.
        source: Where, such as an entry point or a file.
        message: Why it cannot be used.
    """

    name: str
    source: str
    message: str

    def __str__(self) -> str:
        """Name, source and reason in one line."""
        return f"strategy {self.name!r} of {self.source} cannot be used: {self.message}"


class StrategyRegistry:
    """All strategies there are, by name, made with the options of a configuration.

    What is installed or named by the configuration and cannot be used becomes one of `problems`;
    what code registers and cannot be used raises.

    Args:
        settings: The configuration; None is the default one.
        strategies: Strategies to register, as `register` takes them; None takes the installed
            ones and those that the configuration names.
        adapt: Makes a strategy of each object that is registered, so that other forms than
            `ContextStrategy` may come in (ruling S1); it raises TypeError for what is none.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        strategies: Iterable[Any] | None = None,
        adapt: Callable[[Any], Any] | None = None,
    ) -> None:
        self.settings = Settings.of(settings)
        self._adapt = adapt
        self._strategies: dict[str, Any] = {}
        self._problems: dict[str, StrategyProblem] = {}
        self._sources: dict[str, str] = {}
        self._options: dict[str, Any] = {}
        self._discovered = False
        if strategies is None:
            self.discover()
        if isinstance(strategies, str | Mapping) or not isinstance(strategies, Iterable | None):
            raise TypeError(f"strategies must be a list of strategies, not {strategies!r}")
        for strategy in strategies or ():
            self.register(None, strategy)

    def register(self, name: str | None, strategy: Any) -> None:
        """Add a strategy and enable it.

        Args:
            name: Its own name; None takes that name.
            strategy: An object, or a class or ``package.module:Class``, which is then made with
                the options that the configuration has for it.

        Raises:
            TypeError: It is no strategy.
            ValueError: The name is taken or another than its own, or it declares no backend or
                no resource types.
            ConfigError: The configuration's options do not fit it.
        """
        self._add(name, load(strategy) if isinstance(strategy, str) else strategy, BY_CODE)

    def discover(self) -> None:
        """Add the strategies that are installed or that the configuration names, each once.

        Raises:
            ConfigError: The configuration's options do not fit a strategy.
        """
        self._discovered = True
        for entry in sorted(set(entry_points(group=GROUP)), key=lambda e: (e.name, e.value)):
            self._try(entry.name, entry.load, source=f"the entry point {entry.value!r}")
        for name, path in self.settings.custom.items():
            file = self.settings.source("context", "strategies", "custom", name)
            self._try(name, partial(load, path), source=f"{path!r} in {file}")

    def get(self, name: str) -> Any:
        """The strategy of that name, enabled or not.

        Raises:
            UnknownNameError: Nobody registered it.
            StrategyError: It is installed or configured, and cannot be used.
        """
        if not isinstance(name, str):
            raise UnknownNameError("strategy", repr(name), self)
        if name in self._strategies:
            return self._strategies[name]
        if name in self._problems:
            raise StrategyError(str(self._problems[name]))
        raise UnknownNameError("strategy", name, self)

    def all(self) -> tuple[Any, ...]:
        """All strategies that can be used, by name."""
        return tuple(self._strategies[name] for name in self)

    def enabled(self) -> tuple[Any, ...]:
        """The enabled strategies that can be used, in the configuration's order (ruling S13).

        Raises:
            ConfigError: The configuration names a strategy that nobody registered.
        """
        self.validate()
        by_code = [name for name in self if self._sources[name] == BY_CODE]
        return tuple(
            self._strategies[name]
            for name in dict.fromkeys((*self.settings.enabled, *by_code))
            if name in self._strategies and self.policy(name).enabled
        )

    def policy(self, name: str) -> StrategyOptions:
        """Timeout and limits of a strategy: from its table, else its own options, else general.

        Raises:
            UnknownNameError: Nobody registered it.
        """
        values: dict[str, Any] = {"timeout_seconds": self.settings.executor_timeout_seconds}
        self.get(name)
        options = self._options[name]
        if isinstance(options, StrategyOptions):
            values = options.model_dump(include=set(_COMMON))
        general = {
            "enabled": True,  # a class may prefer to be left out of the list, no more than that
            "circuit_breaker_threshold": self.settings.executor_circuit_breaker_threshold,
        }
        for key in general.keys() - getattr(options, "model_fields_set", set()):
            values[key] = general[key]
        given = {key: v for key, v in self.settings.given(name).items() if key in _COMMON}
        return StrategyOptions(**{**values, **given})

    def source(self, name: str) -> str:
        """Where a strategy came from: an entry point, a file, or code."""
        return self._sources.get(name, "")

    @property
    def problems(self) -> tuple[StrategyProblem, ...]:
        """What is installed or configured and cannot be used."""
        return tuple(self._problems.values())

    def failures(self) -> tuple[StrategyFailure, ...]:
        """The enabled strategies among the problems, as the result of a call names them."""
        return tuple(
            StrategyFailure(strategy=problem.name, kind="unavailable", message=str(problem))
            for problem in self.problems
            if self.settings.is_enabled(problem.name) and problem.name not in self
        )

    def validate(self) -> None:
        """Check that every strategy that the configuration names is there.

        Raises:
            ConfigError: Names the key, the file, the unknown strategy and the near one.
        """
        if not self._discovered:
            return  # the strategies were given by code, and the configuration need not fit them
        for key, name in _named(self.settings):
            if name not in self._strategies and name not in self._problems:
                source = self.settings.source("context", "strategies", key) or "default settings"
                unknown = UnknownNameError("strategy", name, self)
                raise ConfigError(f"{source}: context.strategies.{key}: {unknown}")

    def __contains__(self, name: object) -> bool:
        """Whether a strategy of that name can be used."""
        return name in self._strategies

    def __iter__(self) -> Iterator[str]:
        """Names of the strategies that can be used, sorted."""
        return iter(sorted(self._strategies))

    def __len__(self) -> int:
        """How many strategies can be used."""
        return len(self._strategies)

    def _try(self, name: str, find: Callable[[], Any], *, source: str) -> None:
        if self._sources.get(name) == source:
            return
        try:
            self._add(name, find(), source)
        except ConfigError:
            raise
        except Exception as error:  # a stranger's module may raise anything when it is imported
            problem = StrategyProblem(name, source, f"{type(error).__name__}: {error}")
            logger.warning("%s", problem)
            self._problems.setdefault(name, problem)

    def _add(self, name: str | None, found: Any, source: str) -> None:
        strategy = self._make(name, found) if inspect.isclass(found) else found
        options = getattr(strategy, "options", None)
        if self._adapt is not None:
            strategy = self._adapt(strategy)
        check_strategy(strategy)
        if name is not None and strategy.name != name:
            raise ValueError(f"the strategy calls itself {strategy.name!r}, not {name!r}")
        if strategy.name in self._strategies:
            raise ValueError(
                f"there is a strategy {strategy.name!r} already, from "
                f"{self._sources[strategy.name]}; give this one another name"
            )
        self._strategies[strategy.name] = strategy
        self._sources[strategy.name] = source
        self._options[strategy.name] = options

    def _make(self, name: str | None, kind: type[Any]) -> Any:
        model = getattr(kind, "options_model", None)
        name = name or str(getattr(kind(), "name", ""))
        given = self.settings.given(name)
        if model is None or not issubclass(model, StrategyOptions):
            given = {key: value for key, value in given.items() if key not in _COMMON}
        if model is None or model.model_config.get("extra") != "allow":
            self._refuse_unknown(name, given, model.model_fields if model else ())
        if model is None:
            return kind()
        try:
            options = model(**given)
        except ValidationError as error:
            raise self.settings.problem(error, under=("context", "strategies", name)) from error
        return kind(options)

    def _refuse_unknown(self, name: str, given: Iterable[str], known: Iterable[str]) -> None:
        for key in given:
            if key not in known:
                source = self.settings.source("context", "strategies", name, key)
                unknown = UnknownNameError("key", key, {*known, *_COMMON})
                raise ConfigError(f"{source}: context.strategies.{name}: {unknown}")


def load(path: str) -> Any:
    """Import what a path such as ``package.module:Class`` names.

    Raises:
        ValueError: It has another form.
        ImportError: There is no such module.
        AttributeError: The module has no such name.
    """
    module, _, name = import_path(path).partition(":")
    return attrgetter(name)(importlib.import_module(module))


def _named(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each strategy that a configuration names, behind the key that does so."""
    for key in ("enabled", "fallback_chain", "evidence_weights"):
        for name in getattr(settings, key) or ():
            yield key, name
    yield "default_strategy", settings.default_strategy
    for name in settings.tables:
        yield name, name
