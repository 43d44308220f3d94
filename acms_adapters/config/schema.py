"""The keys of a configuration: types, ranges and defaults."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from acms_adapters.config import facades
from acms_adapters.config.profiles import PROFILES, Profile
from acms_adapters.models import StrategyOptions, Tier
from acms_adapters.models.base import FrozenModel
from acms_adapters.models.fragment import MAX_DEPTH
from acms_adapters.models.options import Flag, Fraction, Number, Seconds, TierTokens, Whole
from acms_adapters.models.request import UniqueNames

FALLBACK_CHAIN = ("arce", "breadth-depth-navigator", "semantic-embedding", "simple-keyword")

_IMPORT_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def import_path(value: str) -> str:
    """The value, if it can be one.

    Raises:
        ValueError: It has another form.
    """
    if not _IMPORT_PATH.fullmatch(value):
        raise ValueError(f"an import path looks like 'package.module:Class', not {value!r}")
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
ImportPath = Annotated[str, AfterValidator(import_path)]
Name = Annotated[str, Field(min_length=1)]


class StrategyTable(StrategyOptions):
    """A strategy's own table; what is no option of every strategy is kept for its class."""

    model_config = ConfigDict(extra="allow")


class Keys(FrozenModel):
    """One field for each key; see `Settings`.

    Attributes:
        profile: `spec` is the documented defaults to the letter; `tuned` adds what was measured to
            help (ruling C3).
        max_tokens: All tokens there are.
        reserved_tokens: Tokens kept for other text; below `max_tokens`.
        skeleton_ratio: Fraction to remove from a parent's context, where a plan says nothing else.
        enabled: Strategies to ask.
        default_strategy: Strategy that runs when no other qualifies.
        fallback_chain: Strategies that stand in for one that cannot serve, best first.
        custom: Strategies by name, as import paths such as `package.module:Class` (ruling C2).
        tables: A table for each strategy, under its name.
        selector_threshold: Lowest confidence to be selected.
        max_candidates: Most strategies to select.
        preference_boost: Factor for the confidence of strategies that a request hints at.
        allocator_strategy: How the budget is shared out among strategies; with `tier` each tier is
            bounded as well, hot by 28 %, warm by 56 % and cold by 16 % of what there is.
        allocator_min_budget: Smallest useful share in tokens.
        per_strategy_max_cap: Largest share in tokens, at least the smallest useful one.
        executor_max_workers: Strategies that run at the same time.
        executor_timeout_seconds: Seconds for a strategy that has no timeout of its own.
        executor_deadline_seconds: Seconds for all; left out, the largest timeout among them.
        executor_circuit_breaker_threshold: Failures in a row after which a strategy is left alone.
        executor_circuit_breaker_reset_timeout: Seconds until it is tried again.
        executor_reserve: Keep what was ranked beyond a share for the packer (ruling S3).
        deduplicator_strategy: Which of several duplicates stays.
        deduplicator_merge_provenance: Whether it remembers where the others came from.
        evidence_weights: Weight of each strategy's evidence where several found a node (ruling
            F11); what a strategy without one says stands by itself where it is higher; left out,
            the highest relevance stands.
        resolver_default_depth: Depth wanted where neither the request nor the budget decides.
        resolver_hot_tier_boost: Added to a wanted depth for the hot tier.
        resolver_budget_aware: Whether the budget decides between renderings of a node.
        resolver_container_share: Largest part of the budget for the full text of a node that was
            found by its outline.
        scorer_relevance_weight: Weight of what the strategy said.
        scorer_tier_weight: Weight of the tier.
        scorer_recency_weight: Weight of age.
        scorer_plan_weight: Weight of nearness to the plan.
        scorer_resource_weight: Weight of the kind of resource.
        packer_tier_priority: Tiers in the order in which they are served; empty for the score
            alone.
        packer_greedy: Only true: there is no exact packer.
        packer_fallback_last: Whether lower renderings wait until all that fits whole was admitted.
        tier_budget: Most tokens of each tier; it goes before what `tier` allocation sets.
        depth_fallback_steps: Depths tried for a fragment that does not fit, in this order.
        min_fragment_tokens: Tokens below which such a rendering is not worth reading.
        overage_guard_enabled: Whether the result is checked against the budget once more.
        orderer_strategy: The order in which fragments are read.
        preamble_enabled: Whether a summary stands in front.
        preamble_include_stats: Whether it tells tokens and utilisation.
        preamble_max_length: Most characters of it.
        compressor_enabled: Whether inherited context is compressed.
        compressor_preserve_decisions: Keep decisions before anything else.
        compressor_preserve_hot_tier: Keep the hot tier before what is only near the child's focus.
    """

    profile: Profile = "tuned"
    max_tokens: Positive = 4096
    reserved_tokens: Annotated[Count, Field(validate_default=True)] = 512
    skeleton_ratio: Fraction = 0.3

    enabled: UniqueNames = ("simple-keyword", "semantic-embedding", "breadth-depth-navigator")
    default_strategy: Name = "arce"
    fallback_chain: UniqueNames = FALLBACK_CHAIN
    custom: dict[Name, ImportPath] = Field(default_factory=dict)
    tables: dict[Name, StrategyTable] = Field(default_factory=dict)

    selector_threshold: Fraction = 0.0
    max_candidates: Positive = 10
    preference_boost: Annotated[Number, Field(ge=1.0)] = 1.5
    allocator_strategy: Literal["proportional", "equal", "priority", "tier"] = "proportional"
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
    resolver_container_share: Fraction = 0.25
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
    packer_greedy: Flag = True
    packer_fallback_last: Flag = False
    tier_budget: TierTokens | None = None
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

    @field_validator("packer_greedy")
    @classmethod
    def _only_greedy(cls, value: bool) -> bool:
        if not value:
            raise ValueError("must be true: there is no exact packer, see docs/decisions")
        return value
