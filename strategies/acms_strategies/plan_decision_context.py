"""Finding context in what was decided, from the plan itself up to its ancestors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from acms_adapters.models import (
    ContextBudget,
    ContextRequest,
    PlanContext,
    SearchHit,
    StrategyCapabilities,
    StrategyOptions,
    Tier,
)
from acms_adapters.models.options import Flag, Whole
from acms_adapters.protocols import BackendSet, TemporalBackend
from acms_strategies.answers import hits
from acms_strategies.base import BuiltInStrategy
from acms_strategies.hits import Ranking, to_ranking
from acms_strategies.neighbourhood import fetch
from acms_strategies.records import aboutness, is_record, is_wanted, mean, related

PROXIMITY = 0.8
"""What remains of a decision's nearness for each step up the hierarchy of plans."""

RECORDS = 1_000
"""Most decisions of a tier that are ranked, newest first."""

TIERS: tuple[Tier, ...] = ("warm", "cold")


class DecisionOptions(StrategyOptions):
    """Options of `PlanDecisionContextStrategy`.

    Attributes:
        include_ancestor_decisions: False takes the plan's own decisions alone.
        max_ancestor_depth: Most steps up the hierarchy of plans; 1 is the parent.
    """

    include_ancestor_decisions: Flag = True
    max_ancestor_depth: Annotated[Whole, Field(ge=0, le=1_000)] = 5


class PlanDecisionContextStrategy(BuiltInStrategy):
    """Takes the decisions of a plan and its ancestors, and what is linked to them."""

    name: ClassVar[str] = "plan-decision-context"
    capabilities: ClassVar[StrategyCapabilities] = StrategyCapabilities(
        uses_graph=True, uses_temporal=True, quality_score=0.7, supports_plan_hierarchy=True
    )
    options_model: ClassVar[type[StrategyOptions]] = DecisionOptions
    options: DecisionOptions

    def is_addressed(self, request: ContextRequest, backends: BackendSet) -> bool:
        """Whether the request is made for a plan."""
        plan = request.plan_context
        return bool(
            request.plan_id or (plan and (plan.plan_id or plan.parent_id or plan.ancestors))
        )

    def assemble(
        self,
        request: ContextRequest,
        backends: BackendSet,
        budget: ContextBudget,
        plan_context: PlanContext,
    ) -> Ranking:
        """Decisions and what is linked to them, by nearness of their plan and relevance."""
        graph = self.needed(backends.graph, "graph")
        temporal = self.needed(backends.temporal, "temporal")
        line = self.line(request, plan_context, temporal)
        taken = _decisions(temporal, list(line), request, backends) if line else []
        focus = request.focus_nodes or plan_context.focus_nodes
        about = aboutness(taken, request, backends, focus=focus)
        records = {
            hit.uko_node: (hit, mean(_proximity(hit, line), about.get(hit.uko_node)))
            for hit in taken
        }
        limit = self.options.max_fragments
        linked = related(graph, records, request)
        wanted = [record for record in records.values() if is_wanted(record[0], request)]
        found = fetch(graph, linked, {}, request, budget=budget, limit=limit)
        context = [(hit, relevance) for hit, relevance in found if not is_record(hit)]
        return to_ranking(
            [*wanted, *context],
            strategy=self.name,
            backends=backends,
            budget=budget,
            limit=limit,
            total=len(wanted) + len(linked),
            stats={"plans": list(line), "decisions": len(records), "related": len(context)},
        )

    def line(
        self, request: ContextRequest, plan_context: PlanContext, temporal: TemporalBackend
    ) -> dict[str, int]:
        """The plans whose decisions count, with their steps up from the plan itself.

        The hierarchy is what the plan's context says, and above that what was recorded.
        """
        plan_id = plan_context.plan_id or request.plan_id
        known = plan_context.ancestors
        if not known and plan_context.parent_id:
            known = (plan_context.parent_id,)
        top = known[-1] if known else plan_id
        above = (*known, *(temporal.ancestors(top) if top else ()))
        line = {plan_id: 0} if plan_id else {}
        if self.options.include_ancestor_decisions:
            for steps, ancestor in enumerate(above[: self.options.max_ancestor_depth], start=1):
                line.setdefault(ancestor, steps)
        return line

    def explain(self) -> str:
        """What it does, for people."""
        options = self.options
        plans = "the plan"
        if options.include_ancestor_decisions:
            plans += f" and of up to {options.max_ancestor_depth} of its ancestors"
        return (
            f"Takes the decisions of {plans} from the warm and the cold tier, and what the graph "
            "links to them. Ranks by the nearness of the decision's plan, and by how much a "
            "decision is about the question or the focus."
        )


def _decisions(
    temporal: TemporalBackend,
    plan_ids: Sequence[str],
    request: ContextRequest,
    backends: BackendSet,
) -> list[SearchHit]:
    return [
        hit
        for tier in TIERS
        for hit in hits(
            temporal.query_by_tier(
                tier,
                window=request.temporal_window,
                plan_ids=plan_ids,
                as_of=request.as_of or backends.now,
                limit=RECORDS,
                scope=request.scope,
                resource_types=("decision",),
            ),
            most=RECORDS,
            source="temporal",
        )
    ]


def _proximity(hit: SearchHit, line: dict[str, int]) -> float:
    plan_id = hit.metadata.get("plan_id")
    furthest = max(line.values())
    return PROXIMITY ** (line.get(plan_id, furthest) if isinstance(plan_id, str) else furthest)
