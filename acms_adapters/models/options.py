"""Options of a strategy, and the exact types in which settings are read."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from acms_adapters.models.base import FrozenModel, Tier

LONGEST_TIMEOUT = 86_400.0
MOST_FRAGMENTS = 1_000_000

Flag = Annotated[bool, Field(strict=True)]
Whole = Annotated[int, Field(strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Fraction = Annotated[Number, Field(ge=0.0, le=1.0)]
Seconds = Annotated[Number, Field(gt=0.0, le=LONGEST_TIMEOUT)]


def _without_suffix(value: Any) -> Any:
    """Tiers may be named `hot_tier` as well as `hot`."""
    if not isinstance(value, dict):
        return value
    return {
        name.removesuffix("_tier") if isinstance(name, str) else name: tokens
        for name, tokens in value.items()
    }


TierTokens = Annotated[dict[Tier, Annotated[Whole, Field(ge=0)]], BeforeValidator(_without_suffix)]


class StrategyOptions(FrozenModel):
    """What can be set for every strategy.

    A strategy with options of its own derives from this class and names the derived one as its
    `options_model`; a configuration file's table of that strategy is then read into it.

    Attributes:
        enabled: False switches the strategy off, wherever it is listed (ruling S13).
        timeout_seconds: Seconds for one call, up to a day.
        max_fragments: Most fragments of one call.
        max_workers: Threads that a strategy may use beside each other for its own steps.
        circuit_breaker_threshold: Failures in a row after which it is not asked for a while.
    """

    enabled: Flag = True
    timeout_seconds: Seconds = 30.0
    max_fragments: Annotated[Whole, Field(ge=1, le=MOST_FRAGMENTS)] = 100
    max_workers: Annotated[Whole, Field(ge=1, le=64)] = 4
    circuit_breaker_threshold: Annotated[Whole, Field(ge=1)] = 3
