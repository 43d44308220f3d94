"""A plan from its first context to its archive."""

from __future__ import annotations

import asyncio
from typing import Any

from acms_adapters.errors import RequestError
from acms_adapters.models import ContextPayload, ContextRequest, Plan
from acms_adapters.pipeline.assembly import ACMSPipeline


class PlanLifecycle:
    """Assembles, refreshes, hands down and archives context as a plan goes on.

    Every method gives a new plan and records it, where the pipeline has a temporal backend; the
    plan that was passed stays as it is. Each has a coroutine of the same name with an `a` in front.

    Args:
        pipeline: Assembles the context.
    """

    def __init__(self, pipeline: ACMSPipeline) -> None:
        self._pipeline = pipeline

    def create(self, plan: Plan, query: str | None = None, **options: Any) -> Plan:
        """Assemble a new plan's first context.

        Args:
            plan: The plan; its title is the question where `query` is left out.
            query: What the plan needs to know.
            **options: Fields of `ContextRequest` and options of `ACMSPipeline.assemble`.
        """
        request, rest = self._request(plan, query, options)
        return self._with(plan, self._pipeline.assemble(request, **rest))

    async def acreate(self, plan: Plan, query: str | None = None, **options: Any) -> Plan:
        """The same as `create`, without blocking the event loop."""
        request, rest = await asyncio.to_thread(self._request, plan, query, options)
        payload = await self._pipeline.aassemble(request, **rest)
        return await asyncio.to_thread(self._with, plan, payload)

    def step(self, plan: Plan, query: str | None = None, **options: Any) -> Plan:
        """Refresh a running plan's context: only what changed is fetched again.

        Args:
            plan: A plan with a context.
            query: What the step asks beyond what is there; None for nothing new.
            **options: As for `create`; without a query, options of `ACMSPipeline.assemble` alone.

        Raises:
            RequestError: The plan has no context yet.
        """
        payload = _context(plan)
        if query is None:
            return self._with(plan, self._pipeline.refresh(payload, **options))
        request, rest = self._request(plan, query, options)
        return self._with(plan, self._pipeline.refresh(payload, request, **rest))

    async def astep(self, plan: Plan, query: str | None = None, **options: Any) -> Plan:
        """The same as `step`, without blocking the event loop."""
        payload = _context(plan)
        request, rest = None, options
        if query is not None:
            request, rest = await asyncio.to_thread(self._request, plan, query, options)
        fresh = await self._pipeline.arefresh(payload, request, **rest)
        return await asyncio.to_thread(self._with, plan, fresh)

    def decide(self, plan: Plan, text: str, **details: Any) -> Plan:
        """Take a decision in a plan; plans below it find it from now on.

        Args:
            plan: The plan.
            text: What was decided and why.
            **details: As for `Plan.record_decision`.
        """
        return self._recorded(plan.record_decision(text, **details))

    async def adecide(self, plan: Plan, text: str, **details: Any) -> Plan:
        """The same as `decide`, without blocking the event loop."""
        return await asyncio.to_thread(lambda: self.decide(plan, text, **details))

    def spawn(self, parent: Plan, child: Plan, query: str | None = None, **options: Any) -> Plan:
        """Assemble a child's first context, with what it inherits of its parent's (ruling K4).

        Raises:
            RequestError: The parent has no context yet.
        """
        return self.create(_child(parent, child), query, **_inheriting(parent, child, options))

    async def aspawn(
        self, parent: Plan, child: Plan, query: str | None = None, **options: Any
    ) -> Plan:
        """The same as `spawn`, without blocking the event loop."""
        return await self.acreate(
            _child(parent, child), query, **_inheriting(parent, child, options)
        )

    def complete(self, plan: Plan) -> Plan:
        """Complete a plan and move its records to the cold tier."""
        done = plan.model_copy(update={"status": "completed"})
        temporal = self._pipeline.backends.temporal
        if temporal is not None:
            temporal.record(done)
            temporal.archive(plan.plan_id)
        return done

    async def acomplete(self, plan: Plan) -> Plan:
        """The same as `complete`, without blocking the event loop."""
        return await asyncio.to_thread(self.complete, plan)

    def _request(
        self, plan: Plan, query: str | None, options: dict[str, Any]
    ) -> tuple[ContextRequest, dict[str, Any]]:
        fields = {n: v for n, v in options.items() if n in ContextRequest.model_fields}
        rest = {n: v for n, v in options.items() if n not in fields}
        temporal = self._pipeline.backends.temporal
        above: tuple[str, ...] = ()
        if temporal is not None and plan.parent:
            above = (plan.parent, *temporal.ancestors(plan.parent))
        context = plan.context(above)
        return plan.request(query, **{"plan_context": context, **fields}), rest

    def _with(self, plan: Plan, payload: ContextPayload) -> Plan:
        changes = {
            "context_payload": payload,
            "context_hash": payload.context_hash,
            "skeleton_metadata": payload.skeleton_metadata or plan.skeleton_metadata,
        }
        return self._recorded(plan.model_copy(update=changes))

    def _recorded(self, plan: Plan) -> Plan:
        temporal = self._pipeline.backends.temporal
        if temporal is not None:
            temporal.record(plan)
        return plan


def _context(plan: Plan) -> ContextPayload:
    if plan.context_payload is None:
        raise RequestError(f"plan {plan.plan_id!r} has no context yet: create() it first")
    return plan.context_payload


def _child(parent: Plan, child: Plan) -> Plan:
    return child.model_copy(update={"parent": parent.plan_id})


def _inheriting(parent: Plan, child: Plan, options: dict[str, Any]) -> dict[str, Any]:
    inherited: dict[str, Any] = {"parent_context": _context(parent)}
    if child.skeleton_ratio is None and parent.skeleton_ratio is not None:
        inherited["skeleton_ratio"] = parent.skeleton_ratio
    return {**inherited, **options}
