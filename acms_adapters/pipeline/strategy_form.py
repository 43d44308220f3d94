"""Telling the two forms of a strategy apart (ruling S1)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Literal

from acms_adapters.models import StrategyCapabilities

Form = Literal["native", "short"]

EXPECTED = (
    "expected name, capabilities and either can_handle(request, backends) with "
    "assemble(request, backends, budget, plan_context), or can_handle(request) with "
    "assemble(fragments, budget)"
)

_MANY = 64  # more positional arguments than either form gives


def form_of(strategy: Any) -> Form:
    """Which of the two forms a strategy has, by the names of its parameters, then their number.

    Raises:
        TypeError: It is neither form, or could be both.
    """
    if inspect.isclass(strategy):
        raise TypeError(f"{strategy!r} is a class; give an instance of it")
    members = ("name", "capabilities", "can_handle", "assemble")
    missing = [member for member in members if not hasattr(strategy, member)]
    if missing:
        raise TypeError(f"{strategy!r} has no {', '.join(missing)}; {EXPECTED}")
    if not isinstance(strategy.name, str) or not strategy.name.strip():
        raise TypeError(f"the name of {strategy!r} must be a non-empty string; {EXPECTED}")
    if not isinstance(strategy.capabilities, StrategyCapabilities):
        raise TypeError(
            f"the capabilities of {strategy.name!r} must be StrategyCapabilities, "
            f"not {strategy.capabilities!r}"
        )
    asked, assembles = _can_handle_forms(strategy), _assemble_forms(strategy)
    forms = asked & assembles
    if len(forms) != 1:
        seen = ", ".join(
            f"{name}{_signature(getattr(strategy, name))}" for name in ("can_handle", "assemble")
        )
        raise TypeError(f"cannot tell the form of {strategy.name!r} from {seen}; {EXPECTED}")
    (form,) = forms
    return form


def _assemble_forms(strategy: Any) -> set[Form]:
    names, counts = _parameters(strategy.assemble)
    native, short = names & {"request", "backends", "plan_context"}, names & {"fragments"}
    if native and short:
        return set()
    by_name: set[Form] = {"native"} if native else {"short"} if short else {"native", "short"}
    return by_name & _by_count(counts, native=4, short=2)


def _can_handle_forms(strategy: Any) -> set[Form]:
    names, counts = _parameters(strategy.can_handle)
    by_name: set[Form] = {"native"} if "backends" in names else {"native", "short"}
    return by_name & _by_count(counts, native=2, short=1)


def _by_count(counts: range, *, native: int, short: int) -> set[Form]:
    forms: set[Form] = {"native"} if native in counts else set()
    return forms | {"short"} if short in counts else forms


def _parameters(method: Callable[..., Any]) -> tuple[frozenset[str], range]:
    function = getattr(method, "__func__", None)
    return _read_parameters(method) if function is None else _read_function(function)


@functools.lru_cache(maxsize=256)
def _read_function(function: Callable[..., Any]) -> tuple[frozenset[str], range]:
    return _read_parameters(function, given=1)  # the object it is bound to


def _read_parameters(
    function: Callable[..., Any], *, given: int = 0
) -> tuple[frozenset[str], range]:
    """Names of the parameters, and the numbers of positional arguments that are accepted."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return frozenset(), range(_MANY)
    needs = [p for p in parameters if p.default is p.empty]
    if any(p.kind is p.KEYWORD_ONLY for p in needs):
        return frozenset(p.name for p in parameters), range(0)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    least = sum(p.kind in positional for p in needs) - given
    most = sum(p.kind in positional for p in parameters) - given
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        most = _MANY
    return frozenset(p.name for p in parameters[given:]), range(max(0, least), most + 1)


def _signature(method: Any) -> str:
    try:
        return str(inspect.signature(method))
    except (TypeError, ValueError):
        return "(unknown)"
