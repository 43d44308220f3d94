"""The `acms` command."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command line; exit with 0, 1 (found nothing), 2 (wrong use) or 3 (no answer)."""
    try:
        from acms_adapters.cli.app import run
    except ImportError as error:
        if error.name not in {"typer", "rich"}:
            raise
        print(
            "acms: error: the command line needs typer and rich: pip install 'acms-adapters[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from error
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a text may hold what the encoding cannot
            stream.reconfigure(errors="backslashreplace")
    raise SystemExit(run(sys.argv[1:]))
