"""Every error this library raises on purpose.

```
ACMSError
├── BudgetError            (ValueError)    a budget that cannot be, or a text that cannot fit it
│   └── WindowError                        messages alone are larger than the model's window
├── RequestError           (ValueError)    a request, window, URI or option out of its range
├── ConfigError            (ValueError)    a configuration file or value
│   └── TrustError                         code named by a file that is not trusted
├── UnknownNameError       (ValueError)    a strategy, encoding or option nobody registered
├── StrategyError          (RuntimeError)  a strategy failed or delivered what is no fragment
├── NothingAnsweredError   (RuntimeError)  every strategy failed and nothing is left to return
├── MissingExtraError      (ImportError)   an optional dependency is not installed
└── BackendError           (RuntimeError)  a store failed
    ├── StoreError                         the store's folder or file
    │   ├── StoreLockedError               another writer holds it
    │   └── SchemaVersionError             written by a newer version
    └── EmbedderMismatchError (ValueError) made by another embedder, or another number of dimensions
```
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class ACMSError(Exception):
    """Base of all errors of this library.

    They come out of a process pool and out of a copy as they went in.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would call the class with the message alone, and most take more than that
        kind, args, *state = tuple(super().__reduce__())
        return (_revived, (kind, args), *state)


def _revived(kind: type[ACMSError], args: tuple[Any, ...]) -> ACMSError:
    error = kind.__new__(kind)
    error.args = args
    return error


class BudgetError(ACMSError, ValueError):
    """A budget is out of range, or something is larger than its budget.

    Attributes:
        needed: Tokens that would be needed, where known.
        available: Tokens that are there, where known.
    """

    def __init__(
        self, message: str, *, needed: int | None = None, available: int | None = None
    ) -> None:
        super().__init__(message)
        self.needed = needed
        self.available = available


class WindowError(BudgetError):
    """A conversation alone, without any context, is larger than the model's window.

    Nothing was cut: `needed` and `available` say by how much it has to be shortened.
    """


class RequestError(ACMSError, ValueError):
    """A request or an option has a value outside its range."""


class ConfigError(ACMSError, ValueError):
    """A configuration cannot be used as it is."""


class TrustError(ConfigError):
    """A project's file names code to import and the project is not trusted."""


class UnknownNameError(ACMSError, ValueError):
    """A name nobody registered.

    Attributes:
        name: What was asked for.
        known: The names there are, sorted.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known: tuple[str, ...] = tuple(sorted(known))
        near = difflib.get_close_matches(name, self.known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        names = ", ".join(map(repr, self.known)) or "none"
        super().__init__(f"unknown {kind} {name!r}{hint} (known: {names})")


class StrategyError(ACMSError, RuntimeError):
    """A strategy failed."""


class NothingAnsweredError(ACMSError, RuntimeError):
    """Every strategy failed, so an empty result would be a lie.

    Attributes:
        failures: One `StrategyFailure` for each strategy that was tried.
    """

    def __init__(self, failures: Sequence[Any]) -> None:
        self.failures: tuple[Any, ...] = tuple(failures)
        named = "; ".join(str(failure) for failure in self.failures) or "no strategy could run"
        super().__init__(
            f"nothing answered: {named}. Mend the named part, or ask for a degraded result "
            "with on_failure='degrade'"
        )


class MissingExtraError(ACMSError, ImportError):
    """An optional dependency is missing.

    Attributes:
        extra: Name of the extra that brings it.
    """

    def __init__(self, feature: str, *, extra: str, package: str) -> None:
        self.extra = extra
        super().__init__(
            f"{feature} needs the package {package!r}: pip install 'acms-adapters[{extra}]'",
            name=package,
        )


class BackendError(ACMSError, RuntimeError):
    """A store could not do what it was asked."""


class StoreError(BackendError):
    """The store's folder or file cannot be used."""


class StoreLockedError(StoreError):
    """Another process writes to the store."""


class SchemaVersionError(StoreError):
    """The store was written by a newer version of the library."""


class EmbedderMismatchError(BackendError, ValueError):
    """Vectors of one embedder met those of another."""
