"""Showing how far a long call is."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from acms_adapters.indexing.report import Progress


def silent(stage: str, done: int, total: int) -> None:
    """Tell nobody."""


@contextmanager
def showing(progress: Progress | None) -> Iterator[Progress]:
    """What to tell the progress to: the caller's function, a bar on a terminal, or nobody.

    A bar needs the package rich and a terminal at stderr.
    """
    if progress is not None:
        yield progress
    elif sys.stderr.isatty() and importlib.util.find_spec("rich"):
        with _bar() as bar:
            yield bar
    else:
        yield silent


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:>10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield show
