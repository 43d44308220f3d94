"""Doing two things at the same time."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def beside(one: Callable[[], A], other: Callable[[], B], *, workers: int = 2) -> tuple[A, B]:
    """Do `one` on a thread of its own while the calling thread does `other`.

    The thread sees the caller's context variables (ruling S11) and is a daemon, so that a stuck
    one does not delay the end of the interpreter (ruling S7).

    Args:
        workers: With 1, one after the other on the calling thread.

    Raises:
        BaseException: What either of them raised.
    """
    if workers < 2:
        return one(), other()
    results: list[A] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()

    def work() -> None:
        try:
            results.append(context.run(one))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="acms strategy", daemon=True)
    thread.start()
    second = other()
    thread.join()
    if errors:
        raise errors[0]
    return results[0], second
