"""Which store a command works on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

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
    if not path.is_dir():
        raise StoreError(f"there is no store at {str(path)!r}: run 'acms index PATH' first")
    return ContextStore.open(path, read_only=True)


def settings(*, trust: bool, over: Mapping[str, Any] | None = None) -> Settings:
    """The user's configuration, overridden by that of the current folder and by `over`."""
    return Settings.load(Path.cwd(), trust=trust, over=over)
