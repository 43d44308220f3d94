"""Configuration files: documented keys and defaults, ranges, layers, trust, profiles."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platformdirs import user_config_path

from acms_adapters import ConfigError, Settings, TrustError
from acms_adapters.config import facades, global_config_file, set_project
from acms_adapters.models import ContextBudget
from acms_adapters.pipeline.coordinator_config import CoordinatorConfig
from acms_adapters.pipeline.fusion_config import FusionConfig
from acms_adapters.pipeline.preamble_generator import PreambleGenerator
from acms_adapters.pipeline.skeleton_compressor import SkeletonCompressor

EVERY_DOCUMENTED_KEY = """
[context]
max_tokens = 4096
reserved_tokens = 512

[context.strategies]
enabled = ["simple-keyword", "semantic-embedding", "breadth-depth-navigator"]
default_strategy = "arce"
fallback_chain = ["arce", "breadth-depth-navigator", "semantic-embedding", "simple-keyword"]
selector_threshold = 0.0
max_candidates = 10
allocator_strategy = "proportional"
allocator_min_budget = 100
executor_max_workers = 4
executor_timeout_seconds = 30
executor_circuit_breaker_threshold = 3
executor_circuit_breaker_reset_timeout = 60
deduplicator_strategy = "highest_relevance"
deduplicator_merge_provenance = true
resolver_default_depth = 3
resolver_hot_tier_boost = 2
resolver_budget_aware = true
scorer_relevance_weight = 0.4
scorer_tier_weight = 0.3
scorer_recency_weight = 0.2
scorer_plan_weight = 0.1
packer_tier_priority = ["hot", "warm", "cold"]
packer_greedy = true
orderer_strategy = "tier-relevance"
preamble_enabled = true
preamble_include_stats = true
preamble_max_length = 500
compressor_enabled = true
compressor_preserve_decisions = true
compressor_preserve_hot_tier = true
"""

EVERY_DOCUMENTED_TABLE = """
[context.strategies.simple-keyword]
enabled = true
timeout_seconds = 10
max_fragments = 50
keyword_boost_factor = 1.5

[context.strategies.semantic-embedding]
enabled = true
timeout_seconds = 20
max_fragments = 100
similarity_threshold = 0.5
embedding_model = "character-frequency-v1"

[context.strategies.breadth-depth-navigator]
enabled = true
timeout_seconds = 30
max_fragments = 150
default_breadth = 2
default_depth = 3
distance_decay = 0.8

[context.strategies.arce]
enabled = true
timeout_seconds = 45
max_fragments = 200
text_budget_fraction = 0.4
vector_budget_fraction = 0.4
graph_budget_fraction = 0.2
dedup_strategy = "highest_relevance"

[context.strategies.temporal-archaeology]
enabled = false
timeout_seconds = 60
max_fragments = 100
default_temporal_window = "7d"
include_current_context = true

[context.strategies.plan-decision-context]
enabled = true
timeout_seconds = 30
max_fragments = 100
include_ancestor_decisions = true
max_ancestor_depth = 5

[context.strategies.custom]
"my-strategy" = "my_package.strategies:MyStrategy"

[context.strategies."my-custom-strategy"]
enabled = true
timeout_seconds = 30
max_fragments = 100
max_workers = 4
circuit_breaker_threshold = 3
"""


def read(text: str) -> Settings:
    return Settings.from_mapping(tomllib.loads(text), source="given.toml")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def strategies(text: str) -> str:
    return f"[context.strategies]\n{text}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_the_documented_values_are_the_defaults() -> None:
    """D3-19, D5-3, D5-4, D5-6, D5-9, D5-14, D5-15, D5-16, D5-17, D5-20, D5-23, D5-25, D5-26, D5-27,
    D5-29, D5-30, D5-31, D5-32, D5-34, D5-35, D5-39, D5-42, D5-43, D5-44, D5-46, D5-47, D5-48,
    D5-52, D5-53, D6-39.
    """
    assert read(EVERY_DOCUMENTED_KEY) == Settings(allocator_min_budget=100)
    assert Settings(profile="spec").allocator_min_budget == 100


def test_every_documented_key_of_every_table_is_read() -> None:
    """D3-20, D5-54, D6-40."""
    settings = read(EVERY_DOCUMENTED_KEY + EVERY_DOCUMENTED_TABLE)
    assert settings.custom == {"my-strategy": "my_package.strategies:MyStrategy"}
    assert settings.given("arce") == {
        "enabled": True,
        "timeout_seconds": 45,
        "max_fragments": 200,
        "text_budget_fraction": 0.4,
        "vector_budget_fraction": 0.4,
        "graph_budget_fraction": 0.2,
        "dedup_strategy": "highest_relevance",
    }
    assert settings.table("my-custom-strategy").max_workers == 4
    assert set(settings.tables) == {
        "simple-keyword",
        "semantic-embedding",
        "breadth-depth-navigator",
        "arce",
        "temporal-archaeology",
        "plan-decision-context",
        "my-custom-strategy",
    }


def test_a_strategy_without_a_table_has_the_documented_general_settings() -> None:
    """D3-21."""
    table = Settings().table("anything")
    assert (table.timeout_seconds, table.max_fragments, table.max_workers) == (30, 100, 4)
    assert (table.circuit_breaker_threshold, table.enabled) == (3, True)


def test_the_budget_is_what_the_reserve_leaves() -> None:
    """D5-52."""
    assert Settings().budget == ContextBudget(max_tokens=4096, reserved_tokens=512)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (strategies("selector_treshold = 0"), "did you mean 'selector_threshold'"),
        ("[contxt]", "did you mean 'context'"),
        ("[context]\nmax_token = 5", "did you mean 'max_tokens'"),
        ('profile = "spec"', r"it belongs in the table \[context\]"),
        (strategies("max_tokens = 5"), r"it belongs in the table \[context\]"),
        ("[context]\nselector_threshold = 0", r"in the table \[context\.strategies\]"),
        (strategies("arce = true"), r"\[context.strategies.arce\]"),
    ],
)
def test_an_unknown_key_is_told_with_its_file_and_the_near_one(text: str, said: str) -> None:
    """C1.unknown."""
    with pytest.raises(ConfigError, match=rf"given\.toml: unknown key .*{said}"):
        read(text)


@pytest.mark.parametrize(
    ("name", "key"),
    [("min_useful_budget", "allocator_min_budget"), ("executor_timeout", "executor_timeout_sec")],
)
def test_s6_s7_the_name_that_a_facade_uses_leads_to_the_key_of_the_file(
    name: str, key: str
) -> None:
    with pytest.raises(ConfigError, match=f"in a file it is called '{key}"):
        read(strategies(f"{name} = 64"))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[context]\nmax_tokens = 0", "context.max_tokens"),
        ("[context]\nmax_tokens = true", "context.max_tokens"),
        ('[context]\nmax_tokens = "4096"', "context.max_tokens"),
        ("[context]\nmax_tokens = 4096.0", "context.max_tokens"),
        ("[context]\nreserved_tokens = 4096", "context.reserved_tokens"),
        ("[context]\nmax_tokens = 512", "context.reserved_tokens"),
        ("[context]\nskeleton_ratio = 1.1", "context.skeleton_ratio"),
        ("[context]\nskeleton_ratio = nan", "context.skeleton_ratio"),
        ('[context]\nprofile = "fast"', "context.profile"),
        (strategies("selector_threshold = 2"), "context.strategies.selector_threshold"),
        (strategies("max_candidates = 0"), "context.strategies.max_candidates"),
        (strategies("preference_boost = 0.5"), "context.strategies.preference_boost"),
        (strategies("preference_boost = inf"), "context.strategies.preference_boost"),
        (strategies('allocator_strategy = "fair"'), "context.strategies.allocator_strategy"),
        (
            '[context]\nprofile = "spec"\n[context.strategies]\nper_strategy_max_cap = 99',
            "context.strategies.per_strategy_max_cap",
        ),
        (strategies("executor_timeout_seconds = 0"), "strategies.executor_timeout_seconds"),
        (strategies("executor_timeout_seconds = 1e9"), "strategies.executor_timeout_seconds"),
        (strategies("scorer_plan_weight = -1"), "context.strategies.scorer_plan_weight"),
        (strategies("resolver_default_depth = 10"), "strategies.resolver_default_depth"),
        (strategies("resolver_container_share = 1.5"), "strategies.resolver_container_share"),
        (strategies("packer_greedy = false"), "context.strategies.packer_greedy"),
        (strategies('packer_tier_priority = ["hot", "hot"]'), "strategies.packer_tier_priority"),
        (strategies('packer_tier_priority = ["icy"]'), r"packer_tier_priority\[0\]"),
        (strategies("depth_fallback_steps = [9, 12]"), r"depth_fallback_steps\[1\]"),
        (strategies("tier_budget = {warm = -1}"), "context.strategies.tier_budget.warm"),
        (strategies("evidence_weights = {arce = -1}"), "strategies.evidence_weights.arce"),
        (strategies("evidence_weights = 3"), "context.strategies.evidence_weights"),
        (strategies("preamble_max_length = 0"), "context.strategies.preamble_max_length"),
        (strategies("preamble_enabled = 1"), "context.strategies.preamble_enabled"),
        (strategies('enabled = "arce"'), "context.strategies.enabled"),
        (strategies('enabled = ["arce", "arce"]'), "context.strategies.enabled"),
        (strategies('enabled = ["arce", 3]'), r"context.strategies.enabled\[1\]"),
        (strategies("custom = {x = 'no_colon'}"), "context.strategies.custom.x"),
        (strategies("arce = {timeout_seconds = -1}"), "strategies.arce.timeout_seconds"),
        (strategies("arce = {max_fragments = 0}"), "context.strategies.arce.max_fragments"),
        (strategies('arce = {enabled = "no"}'), "context.strategies.arce.enabled"),
        (strategies('"a.b" = {max_workers = 0}'), 'context.strategies."a.b".max_workers'),
        ("context = 3", "context must be a table"),
        ("[context]\nstrategies = []", "context.strategies must be a table"),
    ],
)
def test_a_value_outside_its_range_is_told_with_its_file_and_key(text: str, key: str) -> None:
    with pytest.raises(ConfigError, match=rf"given\.toml: (context\.)?(strategies\.)?{key}"):
        read(text)


def test_a_scorer_that_weighs_nothing_is_refused() -> None:
    weights = "\n".join(
        f"scorer_{name}_weight = 0" for name in ("relevance", "tier", "recency", "plan")
    )
    with pytest.raises(ConfigError, match="one of the scorer_.* must be above 0"):
        read(strategies(weights))
    assert read(strategies(weights + "\nscorer_resource_weight = 1")).scorer_resource_weight == 1


def test_tiers_may_be_named_as_documented() -> None:
    """D4-63."""
    settings = read(strategies("tier_budget = {hot_tier = 1000, warm = 5}"))
    assert settings.tier_budget == {"hot": 1000, "warm": 5}


def test_f5_an_exact_packer_is_refused_and_the_reason_is_written_down() -> None:
    with pytest.raises(ConfigError, match=r"packer_greedy: .*see docs/decisions"):
        read(strategies("packer_greedy = false"))
    decisions = Path(__file__).parent.parent / "docs" / "decisions"
    assert any("exact packer" in page.read_text("utf-8") for page in decisions.glob("*.md"))


def test_all_wrong_values_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as told:
        read(strategies("selector_threshold = 2\nmax_candidates = 0"))
    assert len(str(told.value).splitlines()) == 2


@given(
    key=st.sampled_from(
        ["selector_threshold", "scorer_tier_weight", "preference_boost", "skeleton_ratio"]
    ),
    value=st.one_of(st.floats(), st.integers(), st.booleans(), st.text(), st.none()),
)
def test_whatever_stands_in_a_file_is_read_or_refused_by_name(key: str, value: Any) -> None:
    table = {"context": {key: value} if key == "skeleton_ratio" else {"strategies": {key: value}}}
    refusal, settings = "", Settings()
    try:
        settings = Settings.from_mapping(table)
    except ConfigError as error:
        refusal = str(error)
    assert key in refusal or (getattr(settings, key) == value and not isinstance(value, bool))


def test_c1_a_project_overrides_the_global_file_key_by_key(project: Path, own: Path) -> None:
    """C1.layers, D3-22."""
    write(
        own,
        "[context]\nmax_tokens = 9000\nreserved_tokens = 100\n"
        + strategies('enabled = ["arce", "simple-keyword"]\nmax_candidates = 3')
        + "[context.strategies.arce]\ntimeout_seconds = 5\nmax_fragments = 7\n",
    )
    write(
        project / ".acms" / "config.toml",
        "[context]\nmax_tokens = 5000\n"
        + strategies('enabled = ["simple-keyword"]')
        + "[context.strategies.arce]\nmax_fragments = 8\n",
    )
    settings = Settings.load(project, global_file=own)
    assert (settings.max_tokens, settings.reserved_tokens) == (5000, 100)
    assert settings.enabled == ("simple-keyword",)
    assert settings.max_candidates == 3
    assert settings.given("arce") == {"timeout_seconds": 5, "max_fragments": 8}


def test_c1_an_error_names_the_one_file_that_set_the_key(project: Path, own: Path) -> None:
    write(own, strategies("max_candidates = 5"))
    write(project / ".acms" / "config.toml", strategies("selector_threshold = 7"))
    with pytest.raises(ConfigError) as told:
        Settings.load(project, global_file=own)
    assert str(told.value).startswith(f"{project / '.acms' / 'config.toml'}: context.strat")
    assert str(own) not in str(told.value)


def test_where_each_key_was_set_is_known(project: Path, own: Path) -> None:
    write(own, "[context]\nmax_tokens = 9000\n")
    write(project / ".acms" / "config.toml", strategies("max_candidates = 3"))
    settings = Settings.load(project, global_file=own)
    assert settings.source("context", "max_tokens") == str(own)
    assert settings.source("context", "strategies", "max_candidates").endswith(".acms/config.toml")
    assert Settings().source("context", "max_tokens") == ""


def test_without_files_the_defaults_hold(project: Path) -> None:
    assert Settings.load(project) == Settings.load() == Settings()


def test_the_global_file_lies_in_the_folder_the_system_keeps_such_files_in() -> None:
    file = global_config_file()
    assert file == user_config_path("acms", appauthor=False) / "config.toml"
    write(file, "[context]\nmax_tokens = 7777\n")
    try:
        assert Settings.load().max_tokens == 7777
    finally:
        file.unlink()


def test_a_global_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml: there is no such file"):
        Settings.load(global_file=tmp_path / "absent.toml")


@pytest.mark.parametrize("content", [b"[context", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_told_by_name(own: Path, content: bytes) -> None:
    own.write_bytes(content)
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be read as TOML"):
        Settings.load(global_file=own)


def test_a_folder_in_place_of_the_file_is_told_by_name(own: Path) -> None:
    own.mkdir()
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be read"):
        Settings.load(global_file=own)


def test_a_byte_order_mark_does_no_harm(own: Path) -> None:
    own.write_bytes(b"\xef\xbb\xbf[context]\nmax_tokens = 5000\n")
    assert Settings.load(global_file=own).max_tokens == 5000


CUSTOM = strategies('custom = {"mine" = "somewhere.code:Mine"}')


def test_c2_a_project_may_not_name_code_unless_it_is_trusted(project: Path, own: Path) -> None:
    write(own, "")
    write(project / ".acms" / "config.toml", CUSTOM)
    with pytest.raises(TrustError, match=r"config\.toml: names code to import for 'mine'"):
        Settings.load(project, global_file=own)
    trusted = Settings.load(project, global_file=own, trust=True)
    assert trusted.custom == {"mine": "somewhere.code:Mine"}


def test_c2_the_global_file_and_code_may_name_code(own: Path) -> None:
    write(own, CUSTOM)
    expected = {"mine": "somewhere.code:Mine"}
    assert Settings.load(global_file=own).custom == expected
    assert read(CUSTOM).custom == expected


def test_c2_a_project_may_repeat_what_the_user_trusts_but_not_redirect_it(
    project: Path, own: Path
) -> None:
    write(own, CUSTOM)
    write(project / ".acms" / "config.toml", CUSTOM)
    assert Settings.load(project, global_file=own).custom == {"mine": "somewhere.code:Mine"}
    write(project / ".acms" / "config.toml", CUSTOM.replace("somewhere", "elsewhere"))
    with pytest.raises(TrustError):
        Settings.load(project, global_file=own)


def test_s13_enabled_is_in_the_list_and_not_switched_off_in_its_own_table() -> None:
    """D6-44."""
    settings = read(
        strategies('enabled = ["arce", "temporal-archaeology"]')
        + "[context.strategies.arce]\nenabled = false\n"
        + "[context.strategies.simple-keyword]\nenabled = true\n"
    )
    assert not settings.is_enabled("arce")
    assert settings.is_enabled("temporal-archaeology")
    assert not settings.is_enabled("simple-keyword")
    assert settings.is_switched_off("arce")
    assert not settings.is_switched_off("simple-keyword")


def test_c3_tuned_is_the_default_and_adds_to_spec_only_what_it_names() -> None:
    """S3.spec."""
    spec, tuned = Settings(profile="spec"), Settings()
    assert tuned.profile == "tuned"
    differing = {
        name
        for name in Settings.model_fields
        if getattr(spec, name) != getattr(tuned, name) and name != "profile"
    }
    assert differing == {
        "executor_reserve",
        "allocator_min_budget",
        "evidence_weights",
        "depth_fallback_steps",
    }
    assert (spec.executor_reserve, spec.evidence_weights) == (False, None)
    assert tuned.executor_reserve


def test_c3_one_weight_can_be_set_and_the_profile_keeps_the_others() -> None:
    settings = read(strategies("evidence_weights = {arce = 2.0}"))
    assert settings.evidence_weights == {**(Settings().evidence_weights or {}), "arce": 2.0}


def test_settings_can_be_given_as_themselves_as_tables_or_not_at_all() -> None:
    settings = Settings(max_tokens=5000)
    assert Settings.of(settings) is settings
    assert Settings.of(None) == Settings()
    assert Settings.of({"context": {"max_tokens": 5000}}) == settings


def test_reading_changes_nobodys_mapping() -> None:
    tables = tomllib.loads(EVERY_DOCUMENTED_KEY + EVERY_DOCUMENTED_TABLE)
    Settings.from_mapping(tables)
    assert tables == tomllib.loads(EVERY_DOCUMENTED_KEY + EVERY_DOCUMENTED_TABLE)


def test_b7_the_embedder_is_open_until_a_configuration_names_one() -> None:
    assert Settings().embedding_model is None
    named = read('[context.strategies.semantic-embedding]\nembedding_model = "wordllama"')
    assert named.embedding_model == "wordllama"


def test_s7_every_field_of_a_facade_has_a_key_and_takes_its_value() -> None:
    """S6."""
    settings = Settings(allocator_min_budget=70, per_strategy_max_cap=90, min_fragment_tokens=3)
    coordinator = CoordinatorConfig(**settings.values(facades.COORDINATOR))
    assert (coordinator.min_useful_budget, coordinator.per_strategy_max_cap) == (70, 90)
    fusion = FusionConfig(**settings.values(facades.FUSION))
    assert fusion.min_fragment_tokens == 3
    PreambleGenerator(**settings.values(facades.PREAMBLE))
    SkeletonCompressor(**settings.values(facades.COMPRESSOR))
    made_in_code = {"limits", "max_fragments"}
    assert set(CoordinatorConfig.model_fields) - made_in_code == set(facades.COORDINATOR)
    of_a_request_or_the_code = {"scorer_weights", "order_key", "min_relevance", "exclude_tiers"}
    assert set(FusionConfig.model_fields) - of_a_request_or_the_code == set(facades.FUSION)


def test_setting_a_projects_keys_keeps_everything_else(project: Path) -> None:
    file = write(
        project / ".acms" / "config.toml",
        '# mine\n[context.strategies]\nenabled = ["arce"] # the best\nmax_candidates = 3\n\n'
        "[context.strategies.arce]\ntimeout_seconds = 5 # short\n",
    )
    assert set_project(project, {"enabled": ("simple-keyword",), "skeleton_ratio": 0.5}) == file
    settings = Settings.load(project)
    assert settings.enabled == ("simple-keyword",)
    assert (settings.skeleton_ratio, settings.max_candidates) == (0.5, 3)
    assert settings.given("arce") == {"timeout_seconds": 5}
    text = file.read_text(encoding="utf-8")
    assert all(comment in text for comment in ("# mine", "# the best", "# short"))


def test_setting_a_key_makes_the_file_and_none_takes_the_key_out_again(project: Path) -> None:
    set_project(project, {"max_tokens": 8192, "enabled": ["arce"]})
    assert Settings.load(project).max_tokens == 8192
    set_project(project, {"max_tokens": None})
    assert Settings.load(project).max_tokens == 4096
    assert Settings.load(project).enabled == ("arce",)


def test_a_setting_that_is_refused_leaves_the_file_as_it_was(project: Path) -> None:
    file = write(project / ".acms" / "config.toml", "[context]\nmax_tokens = 5000\n")
    for values in ({"max_tokens": -1}, {"max_token": 1}, {"reserved_tokens": 6000}):
        with pytest.raises(ConfigError, match="config.toml"):
            set_project(project, values)
    assert file.read_text(encoding="utf-8") == "[context]\nmax_tokens = 5000\n"
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


def test_a_projects_setting_is_checked_together_with_the_global_file(
    project: Path, own: Path
) -> None:
    write(own, "[context]\nmax_tokens = 9000\n")
    set_project(project, {"reserved_tokens": 6000}, global_file=own)
    assert Settings.load(project, global_file=own).budget.available_tokens == 3000


def test_a_project_file_that_is_no_toml_is_not_overwritten(project: Path) -> None:
    file = write(project / ".acms" / "config.toml", "[context")
    with pytest.raises(ConfigError, match="cannot be read as TOML"):
        set_project(project, {"max_tokens": 5000})
    assert file.read_text(encoding="utf-8") == "[context"
