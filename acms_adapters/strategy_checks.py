"""What every registered strategy must declare, whatever form its methods have."""

from __future__ import annotations

from typing import Any

from acms_adapters.models import StrategyCapabilities

_METHODS = ("can_handle", "assemble", "explain")


def check_strategy(strategy: Any) -> None:
    """Check that an object can be registered as a strategy.

    Raises:
        TypeError: A member is missing or of another kind.
        ValueError: No name, no backend, or resource types that are not different names.
    """
    shown = type(strategy).__name__
    if missing := [m for m in ("name", "capabilities", *_METHODS) if not hasattr(strategy, m)]:
        raise TypeError(f"{shown} is no strategy: it has no {', '.join(missing)}")
    if wrong := [name for name in _METHODS if not callable(getattr(strategy, name))]:
        raise TypeError(f"{shown} is no strategy: {', '.join(wrong)} cannot be called")
    if not isinstance(strategy.name, str) or not strategy.name.strip():
        raise ValueError(f"a strategy's name is a non-empty text, not {strategy.name!r}")
    declared = strategy.capabilities
    if not isinstance(declared, StrategyCapabilities):
        raise TypeError(f"{shown}.capabilities must be StrategyCapabilities, not {declared!r}")
    if not declared.needs:
        raise ValueError(
            f"strategy {strategy.name!r} declares no backend: set uses_text, uses_vector, "
            "uses_graph or uses_temporal in its capabilities"
        )
    kinds = declared.resource_types
    if any(not kind.strip() for kind in kinds) or len(set(kinds)) < len(kinds):
        raise ValueError(
            f"strategy {strategy.name!r} declares resource types {kinds!r}: they must be "
            "non-empty and different; none at all means every type"
        )
