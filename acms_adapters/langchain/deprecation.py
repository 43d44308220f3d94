"""What the shims over interfaces that LangChain has deprecated say."""

from __future__ import annotations

import warnings


def warn_of_its_end(name: str, instead: str) -> None:
    """Say that a shim goes when what it stands on goes, to whoever makes one."""
    warnings.warn(
        f"{name} serves an interface that LangChain has deprecated and goes with it: use {instead}",
        DeprecationWarning,
        stacklevel=3,
    )
