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
}
"""Field of `CoordinatorConfig` to key of a file."""

FUSION: Mapping[str, str] = {
    "depth_fallback_steps": "depth_fallback_steps",
    "min_fragment_tokens": "min_fragment_tokens",
    "overage_guard_enabled": "overage_guard_enabled",
}
"""Field of `FusionConfig` to key of a file; `scorer_weights` is made of `SCORER`."""

SCORER: Mapping[str, str] = {
    "relevance": "scorer_relevance_weight",
    "tier": "scorer_tier_weight",
    "recency": "scorer_recency_weight",
    "plan": "scorer_plan_weight",
    "resource": "scorer_resource_weight",
}
"""Field of `ScorerWeights` to key of a file."""


def file_key(facade_name: str) -> str | None:
    """The key of a file for a name that only a facade has."""
    for table in (COORDINATOR, FUSION, SCORER):
        if facade_name in table:
            return table[facade_name]
    return None


def dotted(key: str) -> str:
    """The key with the table it stands in, such as ``context.max_tokens``."""
    return f"context.{key}" if key in CONTEXT_KEYS else f"context.strategies.{key}"
