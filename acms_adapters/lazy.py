"""Public names that are loaded at their first use (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from acms_adapters.errors import MissingExtraError


def lazy_names(
    package: str,
    homes: Mapping[str, Sequence[str]],
    *,
    extra: str | None = None,
    needs: tuple[str, str] = ("", ""),
) -> Callable[[str], Any]:
    """Make a module's `__getattr__`.

    Args:
        package: The module's name.
        homes: Absolute module name to the public names it defines.
        extra: The extra that brings what those modules need.
        needs: Module and distribution that this is.
    """
    module, distribution = needs

    def load(name: str) -> Any:
        home = next((home for home, names in homes.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(importlib.import_module(home), name)
        except ModuleNotFoundError as error:
            if extra is None or (error.name or "").partition(".")[0] != module:
                raise
            raise MissingExtraError(name, extra=extra, package=distribution) from error
        setattr(sys.modules[package], name, value)
        return value

    return load
