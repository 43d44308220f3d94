"""Which store a command works on, and `acms store`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from acms_adapters.cli.console import print_json, stdout
from acms_adapters.config import Settings
from acms_adapters.errors import StoreError
from acms_adapters.indexing import ContextStore

DEFAULT_STORE = Path(".acms") / "store"

StoreOption = Annotated[
    Path,
    typer.Option("--store", envvar="ACMS_STORE", help="Folder of the store.", show_default=True),
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Let the project's own file name code to import.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]

store = typer.Typer(help="Look after the store.", no_args_is_help=True)


def open_to_write(path: Path) -> ContextStore:
    """Open a store, made when missing and kept out of version control."""
    path.mkdir(parents=True, exist_ok=True)
    ignore = path / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    return ContextStore.open(path)


def open_to_read(path: Path) -> ContextStore:
    """Open a store that must be there.

    Raises:
        StoreError: It is not.
    """
    _must_be_there(path)
    return ContextStore.open(path, read_only=True)


def _must_be_there(path: Path) -> None:
    if path.is_dir():
        return
    above = (folder for folder in Path.cwd().parents if (folder / path).is_dir())
    found = None if path.is_absolute() else next(above, None)
    hint = f", or go to {str(found)!r}, which has one" if found else ""
    raise StoreError(f"there is no store at {str(path)!r}: run 'acms index PATH' first{hint}")


def settings(*, trust: bool, over: Mapping[str, Any] | None = None) -> Settings:
    """The user's configuration, overridden by that of the current folder and by `over`."""
    return Settings.load(Path.cwd(), trust=trust, over=over)


@store.command()
def check(
    *,
    repair: Annotated[
        bool, typer.Option(help="Put in order what can be made anew from texts and files.")
    ] = True,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> int:
    """Look whether everything kept is what was written; exits with 1 if something is not."""
    _must_be_there(store)
    repair = repair and os.access(store, os.W_OK)
    with ContextStore.open(store, read_only=not repair) as opened:
        found = opened.check(repair=repair)
    if json:
        print_json(found.as_dict())
    else:
        for line in found.lines():
            stdout.print(line)
    return 0 if found.is_whole else 1


@store.command()
def stats(
    *,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> int:
    """Say what the store holds."""
    with open_to_read(store) as opened:
        held = opened.stats().as_dict()
    if json:
        print_json(held)
        return 0
    for name, value in held.items():
        shown = (
            ", ".join(f"{k} {v:,}" for k, v in value.items()) if isinstance(value, dict) else value
        )
        stdout.print(f"{name}: {'none' if shown in (None, '') else shown}")
    return 0
