"""How fragments are chosen for a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from acms_adapters.models import Tier
from acms_adapters.models.fragment import MAX_DEPTH
from acms_adapters.pipeline.ranking import check_tiers

DEPTH_FALLBACK_STEPS = (9, 4, 2, 0)
MIN_FRAGMENT_TOKENS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingRules:
    """What binds the packer beside the budget.

    Attributes:
        tier_priority: Tiers in the order in which they are served; None for no such order.
        tier_budget: Most tokens of a tier; a tier that is not named has no bound.
        depth_fallback_steps: Depths tried for a fragment that does not fit, in this order.
        min_fragment_tokens: Tokens below which such a rendering is not worth reading.
        max_fragments: Most fragments; None for no bound.
        fallback_last: Whether lower renderings wait until all that fits whole was admitted.
    """

    tier_priority: tuple[Tier, ...] | None = None
    tier_budget: Mapping[Tier, int] = field(default_factory=dict)
    depth_fallback_steps: tuple[int, ...] = DEPTH_FALLBACK_STEPS
    min_fragment_tokens: int = MIN_FRAGMENT_TOKENS
    max_fragments: int | None = None
    fallback_last: bool = False

    def __post_init__(self) -> None:
        """Refuse values outside their ranges."""
        check_tiers(self.tier_priority or (), "tier_priority")
        check_tiers(tuple(self.tier_budget), "tier_budget")
        bounds = {f"tier_budget[{tier!r}]": bound for tier, bound in self.tier_budget.items()}
        bounds["min_fragment_tokens"] = self.min_fragment_tokens
        bounds["max_fragments"] = self.max_fragments or 0
        for name, bound in bounds.items():
            if bound < 0:
                raise ValueError(f"{name} is at least 0, not {bound!r}")
        if not all(0 <= step <= MAX_DEPTH for step in self.depth_fallback_steps):
            raise ValueError(
                f"depth_fallback_steps are 0 to {MAX_DEPTH}, not {self.depth_fallback_steps!r}"
            )
