"""What `ACMSPipeline.assemble` takes by name, for type checkers and editors (ruling S2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    ContextRequest,
    Layout,
    Plan,
    PlanContext,
)
from acms_adapters.pipeline.fragment_orderer import OrderStrategy
from acms_adapters.pipeline.run import OnFailure

Asked = ContextRequest | Mapping[str, Any] | str | None
Budget = ContextBudget | int | None


class ForPlan(TypedDict, total=False):
    """Beside a plan's fragments and budget; see `Options`."""

    plan: Plan | PlanContext | Mapping[str, Any] | str | None
    max_fragments: int | None
    layout: Layout
    on_failure: OnFailure
    previous: ContextPayload | None
    order: OrderStrategy | None


class ForQuestion(ForPlan, total=False):
    """Beside a question, or instead of one."""

    request_or_query: Asked
    request: Asked
    budget: Budget
    fragments: Iterable[ContextFragment] | None
    strategy: str | None
    plan_id: str | None
