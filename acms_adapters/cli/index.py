"""`acms index`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from acms_adapters.cli.console import FOUND_NOTHING, print_json, stderr
from acms_adapters.cli.store import DEFAULT_STORE, JsonOption, StoreOption, open_to_write


def index(
    path: Annotated[Path, typer.Argument(help="File or folder to index.")],
    *,
    store: StoreOption = DEFAULT_STORE,
    name: Annotated[
        str | None, typer.Option(help="Name of the project in URIs; the folder's by default.")
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Glob of files to take; may be repeated.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Glob of files to leave; may be repeated.")
    ] = None,
    json: JsonOption = False,
) -> int:
    """Index a folder; what has not changed since is left alone."""
    if not path.exists():
        # before a store is made for nothing
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}; check the path")
    with open_to_write(store) as target:
        report = target.add_path(path, name=name, include=include, exclude=exclude)
    if json:
        print_json(report.as_dict())
    else:
        for skip in report.skipped:
            stderr.print(f"skipped {skip}")
        stderr.print(report.summary())
    return 0 if report.total else FOUND_NOTHING
