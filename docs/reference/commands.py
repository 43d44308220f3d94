"""Writes command-line.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from components import NOTE
from describing import tidy

from acms_adapters.cli.app import app

INTRO = f"""\
# Command line

{NOTE}
Needs the extra `cli`. Answers go to stdout, everything else to stderr. Exit codes: 0 done, 1 ran
and found nothing, 2 wrong use or configuration, 3 nothing answered, 130 interrupted.
`ACMS_DEBUG=1` tells each step.
"""


def commands_page() -> str:
    """Each command with its arguments and options."""
    return INTRO + "".join(section(path, command) for path, command in walk(app))


def walk(app: typer.Typer) -> Iterator[tuple[str, Any]]:
    """Commands that do something, with the words that call them."""
    waiting = [("acms", typer.main.get_command(app))]
    while waiting:
        path, command = waiting.pop(0)
        below = getattr(command, "commands", None)
        if below is None:
            yield path, command
        else:
            waiting[:0] = [(f"{path} {name}", one) for name, one in below.items()]


def section(path: str, command: Any) -> str:
    """One command."""
    arguments = [one.name.upper() for one in command.params if is_argument(one)]
    rows = [row(one) for one in command.params if not getattr(one, "hidden", False)]
    head = "| argument or option | default | |\n|---|---|---|\n"
    called = " ".join((path, *arguments))
    return (
        f"\n## {path}\n\n`{called}`: {tidy(command.help or '')}\n\n{head}" + "\n".join(rows) + "\n"
    )


def row(parameter: Any) -> str:
    """One argument or option."""
    if is_argument(parameter):
        return f"| `{parameter.name.upper()}` | required | {tidy(parameter.help or '')} |"
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    default = "–" if parameter.default in (None, False, ()) else f"`{parameter.default}`"
    if parameter.default is True:  # of two names the first
        default = f"`{parameter.opts[0]}`"
    if parameter.envvar:
        default += f", or `{parameter.envvar}`"
    return f"| {names} | {default} | {tidy(parameter.help or '')} |"


def is_argument(parameter: Any) -> bool:
    """Whether it has no name on the command line."""
    return bool(parameter.param_type_name == "argument")
