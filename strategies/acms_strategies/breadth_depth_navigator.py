"""Finding context by walking the graph outwards and downwards."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from acms_adapters.errors import StrategyError
from acms_adapters.models import (
    ContextBudget,
    ContextRequest,
    PlanContext,
    StrategyCapabilities,
    StrategyOptions,
)
from acms_adapters.models.options import Number, Whole
from acms_adapters.protocols import BackendSet, ResolvesNames
from acms_strategies.arms import can_embed
from acms_strategies.base import BuiltInStrategy
from acms_strategies.evidence import gather, patience
from acms_strategies.hits import Ranking, to_ranking
from acms_strategies.neighbourhood import fetch, rate
from acms_strategies.seeds import find_seeds
from acms_strategies.walk import walk
from acms_strategies.words import question

FIRST_HITS = 50
"""Hits of each arm that seed the walk and weigh what it reaches."""

Hops = Annotated[Whole, Field(ge=0, le=1_000_000)]
Decay = Annotated[Number, Field(gt=0.0, le=1.0)]


class NavigatorOptions(StrategyOptions):
    """Options of `BreadthDepthNavigatorStrategy`.

    Attributes:
        default_breadth: Hops outwards for a request that names no breadth.
        default_depth: Hops down containment for a request that names no depth.
        distance_decay: What remains of a node's relevance after a hop, above 0 up to 1.
    """

    max_fragments: Annotated[Whole, Field(ge=1, le=1_000_000)] = 150
    default_breadth: Hops = 2
    default_depth: Hops = 3
    distance_decay: Decay = 0.8


class BreadthDepthNavigatorStrategy(BuiltInStrategy):
    """Starts at focus nodes, names in the question or the best first hits, and walks from there.

    Works on the graph alone; text and vectors, where they are there, tell which of the reached
    nodes the question is about.
    """

    name: ClassVar[str] = "breadth-depth-navigator"
    capabilities: ClassVar[StrategyCapabilities] = StrategyCapabilities(
        uses_graph=True, quality_score=0.85, supports_depth_breadth=True
    )
    options_model: ClassVar[type[StrategyOptions]] = NavigatorOptions
    options: NavigatorOptions

    def is_addressed(self, request: ContextRequest, backends: BackendSet) -> bool:
        """Whether there are focus nodes, or a question that leads to some."""
        plan = request.plan_context
        if request.focus_nodes or (plan and plan.focus_nodes):
            return True
        if backends.text is not None or can_embed(backends):
            return bool(question(request))
        return bool(request.query) and isinstance(backends.graph, ResolvesNames)

    def assemble(
        self,
        request: ContextRequest,
        backends: BackendSet,
        budget: ContextBudget,
        plan_context: PlanContext,
    ) -> Ranking:
        """What the walk reached, by distance and relevance."""
        graph = self.needed(backends.graph, "graph")
        options = self.options
        evidence = gather(
            question(request),
            request,
            backends,
            limit=FIRST_HITS,
            crew=self._crew,
            seconds=patience(backends, options),
            workers=options.max_workers,
        )
        failed = evidence.failed
        focus = request.focus_nodes or plan_context.focus_nodes
        seeds, evidence = find_seeds(graph, request, focus, evidence)
        asked = (backends.text is not None) + can_embed(backends)
        if failed and len(failed) == asked and not seeds.strength:
            # an empty answer would say that there is nothing to find
            raise StrategyError(f"nothing tells where to begin: {'; '.join(failed)}")
        walked = walk(
            graph,
            seeds.strength,
            breadth=options.default_breadth if request.breadth is None else request.breadth,
            depth=options.default_depth if request.depth is None else request.depth,
            decay=options.distance_decay,
            scope=request.scope,
            mute=seeds.mute,
            shared=seeds.shared,
        )
        rated = rate(walked, seeds, evidence, decay=options.distance_decay)
        limit = options.max_fragments
        hits = fetch(graph, rated, evidence.hits, request, limit=limit, budget=budget)
        return to_ranking(
            hits,
            strategy=self.name,
            backends=backends,
            budget=budget,
            limit=limit,
            total=len(rated),
            stats={
                "seeds": len(seeds.strength),
                "reached": len(walked.distance),
                "furthest": max(walked.distance.values(), default=0),
                "ignored": list(seeds.ignored),
                "failed_searches": list(failed),
            },
        )

    def explain(self) -> str:
        """What it does, for people."""
        options = self.options
        return (
            "Walks the graph from the focus nodes, or else from nodes named in the question and "
            f"the best first hits: {options.default_breadth} hops along any relation and "
            f"{options.default_depth} down containment unless the request says otherwise. Ranks "
            f"by distance ({options.distance_decay:g} of the relevance remains for each hop), "
            "weighed against what text and vectors say of the question. Hubs count for little."
        )
