"""Which key of a file sets which field of a facade (rulings S6 and S7)."""

from __future__ import annotations

from collections.abc import Mapping

CONTEXT_KEYS: frozenset[str] = frozenset(
    {"profile", "max_tokens", "reserved_tokens", "skeleton_ratio"}
)
"""Keys of the table ``[context]``; all others stand in ``[context.strategies]``."""

COORDINATOR: Mapping[str, str] = {
    "min_useful_budget": "allocator_min_budget",
    "executor_timeout": "executor_timeout_seconds",
    "executor_max_workers": "executor_max_workers",
    "circuit_breaker_threshold": "executor_circuit_breaker_threshold",
    "preference_boost": "preference_boost",
    "per_strategy_max_cap": "per_strategy_max_cap",
    "selector_threshold": "selector_threshold",
    "max_candidates": "max_candidates",
    "allocator_strategy": "allocator_strategy",
    "circuit_breaker_reset_timeout": "executor_circuit_breaker_reset_timeout",
    "deadline_seconds": "executor_deadline_seconds",
    "fallback_chain": "fallback_chain",
    "default_strategy": "default_strategy",
    "reserve": "executor_reserve",
}
"""Field of `CoordinatorConfig` to key of a file."""

FUSION: Mapping[str, str] = {
    "depth_fallback_steps": "depth_fallback_steps",
    "min_fragment_tokens": "min_fragment_tokens",
    "fallback_last": "packer_fallback_last",
    "overage_guard_enabled": "overage_guard_enabled",
    "tier_priority": "packer_tier_priority",
    "tier_budget": "tier_budget",
    "dedup_strategy": "deduplicator_strategy",
    "merge_provenance": "deduplicator_merge_provenance",
    "default_depth": "resolver_default_depth",
    "hot_tier_boost": "resolver_hot_tier_boost",
    "budget_aware": "resolver_budget_aware",
    "container_share": "resolver_container_share",
    "evidence_weights": "evidence_weights",
    "order": "orderer_strategy",
}
"""Field of `FusionConfig` to key of a file; its `scorer_weights` are made of `SCORER`."""

SCORER: Mapping[str, str] = {
    "relevance": "scorer_relevance_weight",
    "tier": "scorer_tier_weight",
    "recency": "scorer_recency_weight",
    "plan": "scorer_plan_weight",
    "resource": "scorer_resource_weight",
}
"""Field of `ScorerWeights` to key of a file."""

PREAMBLE: Mapping[str, str] = {
    "enabled": "preamble_enabled",
    "include_stats": "preamble_include_stats",
    "max_length": "preamble_max_length",
}
"""Argument of `PreambleGenerator` to key of a file."""

COMPRESSOR: Mapping[str, str] = {
    "enabled": "compressor_enabled",
    "preserve_decisions": "compressor_preserve_decisions",
    "preserve_hot_tier": "compressor_preserve_hot_tier",
}
"""Argument of `SkeletonCompressor` to key of a file."""

FACADES: Mapping[str, Mapping[str, str]] = {
    "CoordinatorConfig": COORDINATOR,
    "FusionConfig": FUSION,
    "ScorerWeights": SCORER,
    "PreambleGenerator": PREAMBLE,
    "SkeletonCompressor": COMPRESSOR,
}


def file_key(facade_name: str) -> str | None:
    """The key of a file for a name that only the facades know."""
    for names in (COORDINATOR, FUSION):
        if facade_name in names:
            return names[facade_name]
    return None


def dotted(key: str) -> str:
    """The key with the table it stands in, such as ``context.max_tokens``."""
    return f"context.{key}" if key in CONTEXT_KEYS else f"context.strategies.{key}"
