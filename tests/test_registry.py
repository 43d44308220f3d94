"""Strategies by name: where they come from, what is checked, what problems are called."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, Field

from acms_adapters import (
    ConfigError,
    Settings,
    StrategyCapabilities,
    StrategyError,
    StrategyRegistry,
    UnknownNameError,
)
from acms_adapters.models import StrategyOptions
from acms_adapters.registry import GROUP, load

BUILT_IN = [
    "arce",
    "breadth-depth-navigator",
    "plan-decision-context",
    "semantic-embedding",
    "simple-keyword",
    "temporal-archaeology",
]


class Plain:
    """A strategy without options."""

    name: Any = "plain"
    capabilities: Any = StrategyCapabilities(uses_text=True)

    def can_handle(self, request: Any, backends: Any) -> float:
        return 0.5

    def assemble(self, request: Any, backends: Any, budget: Any, plan_context: Any) -> list[Any]:
        return []

    def explain(self) -> str:
        return "plain"


class TunableOptions(StrategyOptions):
    timeout_seconds: float = 7.0
    sharpness: int = Field(default=3, ge=1, le=9)


class Tunable(Plain):
    name = "tunable"
    options_model: ClassVar[type[BaseModel]] = TunableOptions

    def __init__(self, options: Any = None) -> None:
        self.options = options or self.options_model()


class LooseOptions(BaseModel):
    colour: str = "red"


class Loose(Tunable):
    name = "loose"
    options_model = LooseOptions


def configured(**tables: Any) -> Settings:
    return Settings.from_mapping({"context": {"strategies": tables}}, source="given.toml")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Installs a distribution: a module, and entry points that name what is in it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(source: str, *, distribution: str = "stranger", **points: str) -> None:
        (tmp_path / f"{distribution}.py").write_text(source, encoding="utf-8")
        info = tmp_path / f"{distribution}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {distribution}\nVersion: 1.0\n", encoding="utf-8")
        lines = [f"{name.replace('_', '-')} = {path}" for name, path in points.items()]
        (info / "entry_points.txt").write_text(
            "\n".join([f"[{GROUP}]", *lines, ""]), encoding="utf-8"
        )

    yield install
    for name in ("stranger", "other"):
        sys.modules.pop(name, None)


STRATEGY = """
from acms_adapters import StrategyCapabilities

class Found:
    name = "found"
    capabilities = StrategyCapabilities(uses_text=True)
    def can_handle(self, request, backends): return 0.5
    def assemble(self, request, backends, budget, plan_context): return []
    def explain(self): return "found"
"""


def test_the_six_built_in_strategies_are_found_by_their_entry_points() -> None:
    """D3-10."""
    registry = StrategyRegistry()
    assert list(registry) == BUILT_IN
    assert len(registry) == 6
    assert "arce" in registry
    assert registry.problems == ()
    assert [strategy.name for strategy in registry.all()] == BUILT_IN


def test_the_documented_three_are_enabled_by_default() -> None:
    """D3-17, D3-19."""
    enabled = [strategy.name for strategy in StrategyRegistry().enabled()]
    assert enabled == ["simple-keyword", "semantic-embedding", "breadth-depth-navigator"]


def test_s13_a_strategy_switched_off_in_its_own_table_is_not_enabled_but_is_there() -> None:
    settings = configured(**{"simple-keyword": {"enabled": False}})
    registry = StrategyRegistry(settings)
    assert [s.name for s in registry.enabled()] == ["semantic-embedding", "breadth-depth-navigator"]
    assert registry.get("simple-keyword").name == "simple-keyword"
    assert not registry.policy("simple-keyword").enabled


def test_s13_what_is_only_left_out_of_the_list_by_default_can_be_listed_or_named() -> None:
    registry = StrategyRegistry(configured(enabled=["temporal-archaeology"]))
    assert [strategy.name for strategy in registry.enabled()] == ["temporal-archaeology"]
    assert StrategyRegistry().policy("temporal-archaeology").enabled


def test_options_of_the_configuration_reach_the_strategy() -> None:
    settings = configured(
        **{
            "simple-keyword": {"keyword_boost_factor": 2.0},
            "arce": {"dedup_strategy": "first_seen"},
        }
    )
    registry = StrategyRegistry(settings)
    assert registry.get("simple-keyword").options.keyword_boost_factor == 2.0
    assert registry.get("arce").options.dedup_strategy == "first_seen"


@pytest.mark.parametrize(
    ("name", "table", "said"),
    [
        ("simple-keyword", {"keyword_boost": 2.0}, "unknown key 'keyword_boost'; did you mean"),
        ("simple-keyword", {"max_fragment": 2}, "did you mean 'max_fragments'"),
        ("simple-keyword", {"keyword_boost_factor": 0.5}, "keyword_boost_factor: must be greater"),
        ("semantic-embedding", {"similarity_threshold": 1.5}, "similarity_threshold: must be less"),
        ("breadth-depth-navigator", {"distance_decay": 0}, "distance_decay: must be greater"),
        ("breadth-depth-navigator", {"default_breadth": -1}, "default_breadth: must be greater"),
        ("arce", {"text_budget_fraction": 0.9}, "text_.* must add up to .* not 1.5$"),
        ("arce", {"dedup_strategy": "best"}, "dedup_strategy: must be 'highest_relevance'"),
        ("temporal-archaeology", {"default_temporal_window": "soon"}, "default_temporal_window: a"),
        ("plan-decision-context", {"max_ancestor_depth": -1}, "max_ancestor_depth: must be"),
    ],
)
def test_an_option_that_does_not_fit_is_told_with_its_file_and_key(
    name: str, table: dict[str, Any], said: str
) -> None:
    """C1.unknown, D6-46."""
    with pytest.raises(ConfigError, match=rf"given\.toml: context\.strategies\.{name}.*{said}"):
        StrategyRegistry(configured(**{name: table}))


def test_rule_1_every_strategy_that_is_enabled_must_be_there() -> None:
    """D3-26."""
    registry = StrategyRegistry(configured(enabled=["simple-keyward"]))
    with pytest.raises(
        ConfigError, match=r"given\.toml: context\.strategies\.enabled: .*mean 'simple-keyword'"
    ):
        registry.enabled()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fallback_chain", ["arse"]),
        ("default_strategy", "arse"),
        ("evidence_weights", {"arse": 1.0}),
        ("arse", {"timeout_seconds": 3}),
    ],
)
def test_every_key_that_names_a_strategy_must_name_one(key: str, value: Any) -> None:
    registry = StrategyRegistry(configured(**{key: value}))
    with pytest.raises(ConfigError, match=rf"given\.toml: .*\.{key}: .*did you mean 'arce'"):
        registry.validate()


def test_rule_2_a_strategy_declares_at_least_one_backend() -> None:
    """D3-27."""
    strategy = Plain()
    strategy.capabilities = StrategyCapabilities()
    with pytest.raises(ValueError, match="'plain' declares no backend: set uses_text"):
        StrategyRegistry(strategies=[strategy])


@pytest.mark.parametrize("kinds", [("",), (" ",), ("test", "test")])
def test_rule_3_a4_resource_types_are_different_names_and_none_means_all(
    kinds: tuple[str, ...],
) -> None:
    """D3-7, D3-28."""
    strategy = Plain()
    strategy.capabilities = StrategyCapabilities(uses_text=True, resource_types=kinds)
    with pytest.raises(ValueError, match="declares resource types"):
        StrategyRegistry(strategies=[strategy])
    assert Plain().capabilities.resource_types == ()
    assert len(StrategyRegistry(strategies=[Plain()])) == 1


def test_what_has_not_the_members_of_a_strategy_is_refused() -> None:
    """D3-1."""
    registry = StrategyRegistry(strategies=[])
    with pytest.raises(TypeError, match="object is no strategy: it has no name, capabilities"):
        registry.register("x", object())
    with pytest.raises(TypeError, match="object is no strategy"):
        registry.register(None, object)
    broken: Any = Plain()
    broken.explain = "text"
    with pytest.raises(TypeError, match="explain cannot be called"):
        registry.register("plain", broken)
    broken = Plain()
    broken.capabilities = {"uses_text": True}
    with pytest.raises(TypeError, match="must be StrategyCapabilities"):
        registry.register("plain", broken)
    broken = Plain()
    broken.name = " "
    with pytest.raises(ValueError, match="a strategy's name is a non-empty text"):
        registry.register(None, broken)
    assert len(registry) == 0


def test_a_name_is_given_once_and_is_the_strategys_own() -> None:
    registry = StrategyRegistry(strategies=[Plain()])
    with pytest.raises(ValueError, match="there is a strategy 'plain' already, from code"):
        registry.register("plain", Plain())
    with pytest.raises(ValueError, match="calls itself 'plain', not 'simple'"):
        registry.register("simple", Plain())


def test_what_code_registers_is_enabled_beside_the_list() -> None:
    """D3-31."""
    registry = StrategyRegistry()
    registry.register("plain", Plain())
    assert [strategy.name for strategy in registry.enabled()][-1] == "plain"
    assert registry.source("plain") == "code"
    only = StrategyRegistry(strategies=[Plain()])
    assert [strategy.name for strategy in only.enabled()] == ["plain"]


def test_a_class_or_an_import_path_is_made_with_its_options() -> None:
    """C1.options."""
    settings = configured(tunable={"sharpness": 5, "max_fragments": 9}, loose={"colour": "blue"})
    registry = StrategyRegistry(settings, strategies=[Tunable, Loose, Plain])
    assert registry.get("tunable").options == TunableOptions(sharpness=5, max_fragments=9)
    assert registry.get("loose").options == LooseOptions(colour="blue")
    registry.register("simple-keyword", "acms_strategies.simple_keyword:SimpleKeywordStrategy")
    assert registry.get("simple-keyword").options.max_fragments == 50


def test_options_for_a_strategy_that_declares_none_are_unknown_keys() -> None:
    """C1.options."""
    with pytest.raises(ConfigError, match=r"given\.toml: context\.strategies\.plain: unknown key"):
        StrategyRegistry(configured(plain={"sharpness": 5}), strategies=[Plain])
    with pytest.raises(ConfigError, match="unknown key 'color'; did you mean 'colour'"):
        StrategyRegistry(configured(loose={"color": "blue"}), strategies=[Loose])


def test_options_that_every_strategy_has_are_known_for_one_that_declares_none() -> None:
    registry = StrategyRegistry(configured(plain={"timeout_seconds": 2}), strategies=[Plain])
    assert registry.policy("plain").timeout_seconds == 2


def test_s7_a_table_goes_before_own_options_and_those_before_the_general_ones() -> None:
    """S7.own, D6-3, D6-7, D6-12, D6-19, D6-26, D6-33, D3-32."""
    settings = configured(
        executor_timeout_seconds=11,
        executor_circuit_breaker_threshold=4,
        arce={"timeout_seconds": 12},
    )
    registry = StrategyRegistry(settings)
    registry.register("plain", Plain())
    registry.register("tunable", Tunable(TunableOptions(circuit_breaker_threshold=9)))
    seconds = {name: registry.policy(name).timeout_seconds for name in registry}
    assert seconds == {
        "arce": 12,
        "breadth-depth-navigator": 30,
        "plain": 11,
        "plan-decision-context": 30,
        "semantic-embedding": 20,
        "simple-keyword": 10,
        "temporal-archaeology": 60,
        "tunable": 7,
    }
    thresholds = {n: registry.policy(n).circuit_breaker_threshold for n in ("arce", "tunable")}
    assert thresholds == {"arce": 4, "tunable": 9}


def test_the_documented_limits_of_each_strategy_hold() -> None:
    """D6-3, D6-7, D6-12, D6-19, D6-26, D6-33."""
    registry = StrategyRegistry()
    assert {name: registry.policy(name).max_fragments for name in registry} == {
        "arce": 200,
        "breadth-depth-navigator": 150,
        "plan-decision-context": 100,
        "semantic-embedding": 100,
        "simple-keyword": 50,
        "temporal-archaeology": 100,
    }


def test_s1_what_is_registered_goes_through_the_adapter_first() -> None:
    class Short:
        name = "short"
        options = TunableOptions()

    def adapt(found: Any) -> Any:
        if isinstance(found, Short):
            adapted = Plain()
            adapted.name = found.name
            return adapted
        if not hasattr(found, "assemble"):
            raise TypeError("neither form")
        return found

    registry = StrategyRegistry(strategies=[Short()], adapt=adapt)
    assert isinstance(registry.get("short"), Plain)
    assert registry.policy("short").timeout_seconds == 7.0
    with pytest.raises(TypeError, match="neither form"):
        registry.register("x", object())


def test_an_unknown_name_is_told_with_the_near_one() -> None:
    with pytest.raises(UnknownNameError, match="unknown strategy 'arse'; did you mean 'arce'"):
        StrategyRegistry().get("arse")


def test_an_installed_strategy_of_a_stranger_is_found(plugin: Callable[..., None]) -> None:
    plugin(STRATEGY, found="stranger:Found")
    registry = StrategyRegistry(configured(enabled=["found"]))
    assert [strategy.name for strategy in registry.enabled()] == ["found"]
    assert registry.source("found") == "the entry point 'stranger:Found'"


@pytest.mark.parametrize(
    ("source", "path", "said"),
    [
        ("raise OSError('no licence')", "stranger:Found", "OSError: no licence"),
        ("import not_installed_anywhere", "stranger:Found", "ModuleNotFoundError"),
        ("", "stranger:Found", "AttributeError"),
        ("class Found: pass", "stranger:Found", "Found is no strategy: it has no name"),
        (STRATEGY.replace('"found"', '"lost"'), "stranger:Found", "calls itself 'lost'"),
        (STRATEGY.replace("uses_text=True", ""), "stranger:Found", "declares no backend"),
    ],
)
def test_an_installed_strategy_that_cannot_be_used_is_a_named_problem_and_no_crash(
    plugin: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
    source: str,
    path: str,
    said: str,
) -> None:
    plugin(source, found=path)
    with caplog.at_level(logging.WARNING, logger="acms_adapters"):
        registry = StrategyRegistry(configured(enabled=["simple-keyword", "found"]))
    assert [strategy.name for strategy in registry.enabled()] == ["simple-keyword"]
    (problem,) = registry.problems
    assert (problem.name, problem.source) == ("found", "the entry point 'stranger:Found'")
    assert said in problem.message
    assert str(problem) in caplog.text
    with pytest.raises(StrategyError, match="cannot be used"):
        registry.get("found")
    (failure,) = registry.failures()
    assert (failure.strategy, failure.kind) == ("found", "unavailable")


def test_a_problem_of_a_strategy_that_is_not_enabled_is_no_failure(
    plugin: Callable[..., None],
) -> None:
    plugin("", found="stranger:Found")
    registry = StrategyRegistry()
    assert len(registry.problems) == 1
    assert registry.failures() == ()


def test_two_installed_strategies_of_one_name_are_a_problem_and_the_first_stays(
    plugin: Callable[..., None],
) -> None:
    plugin(STRATEGY, found="stranger:Found")
    plugin(STRATEGY, distribution="other", found="other:Found")
    registry = StrategyRegistry(configured(enabled=["found"]))
    assert registry.source("found") == "the entry point 'other:Found'"
    assert [problem.name for problem in registry.problems] == ["found"]
    assert "already" in registry.problems[0].message
    assert registry.failures() == ()


def test_a_strategy_that_the_configuration_names_is_imported(plugin: Callable[..., None]) -> None:
    """D3-20, D3-31."""
    plugin(STRATEGY)
    settings = configured(enabled=["found"], custom={"found": "stranger:Found"})
    registry = StrategyRegistry(settings)
    assert registry.get("found").name == "found"
    assert registry.source("found") == "'stranger:Found' in given.toml"


def test_an_import_path_that_leads_nowhere_is_a_problem_with_its_file() -> None:
    registry = StrategyRegistry(configured(custom={"mine": "nowhere.at.all:Mine"}))
    (problem,) = registry.problems
    assert problem.source == "'nowhere.at.all:Mine' in given.toml"
    assert "nowhere" in problem.message


def test_discovering_again_changes_nothing() -> None:
    registry = StrategyRegistry()
    before = registry.all()
    registry.discover()
    assert registry.all() == before
    assert registry.problems == ()


def test_strategies_given_by_code_need_not_fit_the_configurations_list() -> None:
    registry = StrategyRegistry(configured(enabled=["arce"]), strategies=[Plain()])
    assert [strategy.name for strategy in registry.enabled()] == ["plain"]


@pytest.mark.parametrize("path", ["package.module.Class", "package.module:", ":Class", "Class", ""])
def test_what_is_no_import_path_is_refused_with_the_form_of_one(path: str) -> None:
    registry = StrategyRegistry(strategies=[])
    with pytest.raises(ValueError, match=r"package\.module:Class', not "):
        registry.register(None, path)


def test_an_import_path_reaches_into_a_class() -> None:
    assert load("collections:OrderedDict.fromkeys")("a") == {"a": None}
