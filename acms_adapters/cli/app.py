"""The commands, put together, and the one place where errors become exit codes."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import ValidationError

from acms_adapters import __version__
from acms_adapters.cli.assemble import assemble, command, explain
from acms_adapters.cli.configuration import plan, project, strategies
from acms_adapters.cli.console import (
    INTERRUPTED,
    NOTHING_ANSWERED,
    WRONG_USE,
    fail,
    stdout,
)
from acms_adapters.cli.evaluation import evaluate
from acms_adapters.cli.index import index
from acms_adapters.cli.store import store
from acms_adapters.errors import ACMSError, NothingAnsweredError

app = typer.Typer(
    name="acms",
    help="Decide what a language model reads, within a token budget.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        stdout.print(f"acms {__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Decide what a language model reads, within a token budget."""


app.command()(index)
for way in (assemble, explain):
    app.command(way.__name__)(command(way))
app.command()(strategies)
app.command("eval")(evaluate)
app.add_typer(project, name="project")
app.add_typer(store, name="store")
app.add_typer(plan, name="plan")


def run(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code."""
    if os.environ.get("ACMS_DEBUG"):
        logging.basicConfig(level=logging.DEBUG)
    try:
        outcome = app(args=list(arguments), standalone_mode=False, prog_name="acms")
    except (typer.Abort, KeyboardInterrupt):
        return fail("interrupted", code=INTERRUPTED)
    except NothingAnsweredError as error:
        return fail(str(error), code=NOTHING_ANSWERED)
    except ValidationError as error:
        return fail(_first_problem(error), code=WRONG_USE)
    except (ACMSError, ValueError, OSError) as error:
        return fail(str(error), code=WRONG_USE)
    except Exception as error:
        show = getattr(error, "show", None)
        if show is not None:  # wrong arguments: typer says it best itself
            show()
            return WRONG_USE
        logging.getLogger("acms_adapters").debug("unexpected", exc_info=True)
        return fail(
            f"unexpected {type(error).__name__}: {error} (set ACMS_DEBUG=1 for details)",
            code=NOTHING_ANSWERED,
        )
    return outcome if isinstance(outcome, int) else 0


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    place = ".".join(map(str, problem["loc"]))
    message, value = problem["msg"].removeprefix("Value error, "), repr(problem["input"])
    if not place:
        return message
    return f"{place}: {message}" + ("" if value in message else f" (got {value})")
