"""Where the commands print: answers on stdout, everything else on stderr."""

from __future__ import annotations

from typing import Any

from rich.console import Console

stdout = Console(soft_wrap=True, markup=False, highlight=False, emoji=False)
stderr = Console(stderr=True, soft_wrap=True, markup=False, highlight=False, emoji=False)


def fail(message: str, *, code: int) -> int:
    """Say what is wrong on stderr and give the exit code."""
    stderr.print(f"acms: error: {message}", style="bold red" if stderr.is_terminal else None)
    return code


def print_json(data: Any) -> None:
    """Print JSON on stdout, as text that any encoding can carry."""
    import json

    stdout.print(json.dumps(data, indent=2, ensure_ascii=True, default=str))
