"""Reading the two call forms of `ACMSPipeline.assemble` (ruling S2)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acms_adapters.errors import RequestError
from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    Plan,
    PlanContext,
)
from acms_adapters.models.fragment import as_fragments

_POSITIONAL = ("plan_id", "fragments", "budget", "strategy", "request")
_NAMED = (*_POSITIONAL, "plan", "request_or_query")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call, whichever form it had.

    Attributes:
        request: What is asked for; empty when only candidates were given.
        budget: Tokens; None leaves it to the request and the configuration.
        candidates: Fragments the caller brought along; None if the call named none.
        strategy: Name of the one strategy to run.
        plan_context: The plan it is for.
    """

    request: ContextRequest
    budget: ContextBudget | None
    candidates: tuple[ContextFragment, ...] | None
    strategy: str | None
    plan_context: PlanContext

    @property
    def asks(self) -> bool:
        """Whether there is anything to search for."""
        request = self.request
        return bool(request.query or request.keywords or request.focus_nodes)


def read_call(positional: tuple[Any, ...], named: Mapping[str, Any]) -> Call:
    """Read the arguments of `assemble`.

    A positional string alone is a question; followed by positional fragments it is a plan id.

    Raises:
        TypeError: Arguments that fit neither form.
        RequestError: An empty question.
    """
    arguments = _bind(positional, named)
    request = ContextRequest.of(arguments.get("request"))
    if request.query is not None and not request.query.strip():
        raise RequestError(f"the question is empty: {request.query!r}; ask something")
    plan_context = _plan_context(arguments.get("plan"), arguments.get("plan_id"), request)
    if plan_context != PlanContext():
        request = request.model_copy(update={"plan_context": plan_context})
    budget = arguments.get("budget")
    fragments = arguments.get("fragments")
    return Call(
        request=request,
        budget=request.budget if budget is None else ContextBudget.of(budget),
        candidates=None if fragments is None else as_fragments(fragments),
        strategy=arguments.get("strategy"),
        plan_context=plan_context,
    )


def _bind(positional: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    first = positional[0] if positional else None
    asks = isinstance(first, ContextRequest | Mapping) or len(positional) == 1
    names = ("request",) if asks else _POSITIONAL
    if len(positional) > len(names):
        raise TypeError(
            f"assemble() takes a request, or {', '.join(_POSITIONAL)}; "
            f"got {len(positional)} positional arguments"
        )
    bound = dict(zip(names, positional, strict=False))
    for name in named:
        if name in bound:
            raise TypeError(f"assemble() got {name!r} twice")
        if name not in _NAMED:
            raise TypeError(f"assemble() has no argument {name!r}{_hint(name)}")
    bound.update(named)
    if "request_or_query" in bound:
        if "request" in bound:
            raise TypeError("assemble() got a request and 'request_or_query': give one of them")
        bound["request"] = bound.pop("request_or_query")
    return bound


def _hint(name: str) -> str:
    if name in ContextRequest.model_fields:
        return f"; it is a field of the request: ContextRequest({name}=...)"
    near = difflib.get_close_matches(name, (*_NAMED, *ContextRequest.model_fields), n=1)
    return f"; did you mean {near[0]!r}?" if near else f" (known: {', '.join(_NAMED)})"


def _plan_context(plan: Any, plan_id: str | None, request: ContextRequest) -> PlanContext:
    if isinstance(plan, Plan):
        return plan.context()
    if isinstance(plan, PlanContext | Mapping):
        return PlanContext.of(plan)
    if plan is not None and not isinstance(plan, str):
        raise RequestError(f"plan must be a Plan, a PlanContext, a mapping or an id, not {plan!r}")
    if not isinstance(plan_id, str | None):
        raise RequestError(f"plan_id must be a string, not {plan_id!r}")
    known = request.plan_context or PlanContext()
    return known.model_copy(update={"plan_id": plan or plan_id or request.plan_id or known.plan_id})
