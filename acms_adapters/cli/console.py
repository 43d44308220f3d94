"""How the commands answer: results on stdout, everything else on stderr, and an exit code."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console

FOUND_NOTHING = 1
WRONG_USE = 2
NOTHING_ANSWERED = 3
INTERRUPTED = 130

stdout = Console(soft_wrap=True, markup=False, highlight=False, emoji=False)
stderr = Console(stderr=True, soft_wrap=True, markup=False, highlight=False, emoji=False)


def fail(message: str, *, code: int) -> int:
    """Say what is wrong on stderr and give the exit code."""
    stderr.print(f"acms: error: {message}", style="bold red" if stderr.is_terminal else None)
    return code


def print_json(data: Any) -> None:
    """Print JSON on stdout, as text that any encoding can carry."""
    stdout.print(json.dumps(data, indent=2, ensure_ascii=True, default=str))
