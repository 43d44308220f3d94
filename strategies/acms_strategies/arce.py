"""Finding context by words, by nearness and by links, all three."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from acms_adapters.models import (
    ContextBudget,
    ContextRequest,
    PlanContext,
    SearchHit,
    StrategyCapabilities,
    StrategyOptions,
)
from acms_adapters.models.options import Fraction, Seconds, Whole
from acms_adapters.models.scores import to_relevance
from acms_adapters.protocols import BackendSet
from acms_strategies.arms import can_embed, search_near, search_words
from acms_strategies.base import BuiltInStrategy
from acms_strategies.evidence import Evidence, patience, weigh_both
from acms_strategies.hits import CHOICE, Ranking, to_ranking, tokens_of
from acms_strategies.neighbourhood import fetch, rate
from acms_strategies.seeds import find_seeds
from acms_strategies.walk import walk
from acms_strategies.words import question

BREADTH = 2
DEPTH = 3
DECAY = 0.8
"""Those of the navigator, for requests that name no hops."""

Phase = Literal["text", "vector", "graph"]
PHASES: tuple[Phase, ...] = ("text", "vector", "graph")
Dedup = Literal["highest_relevance", "first_seen", "most_recent"]


class ArceOptions(StrategyOptions):
    """Options of `ArceStrategy`.

    The fractions add up to 1 at most. A phase with fraction 0 is left out.

    Attributes:
        text_budget_fraction: Part of what is gathered that text search may bring.
        vector_budget_fraction: Part of it that vector search may bring beyond that.
        graph_budget_fraction: Part of it that only the graph may bring.
        dedup_strategy: Which hit stands for a node that several phases found:
            ``highest_relevance``, ``first_seen`` or ``most_recent``.
    """

    timeout_seconds: Seconds = 45.0
    max_fragments: Annotated[Whole, Field(ge=1, le=1_000_000)] = 200
    text_budget_fraction: Fraction = 0.4
    vector_budget_fraction: Fraction = 0.4
    graph_budget_fraction: Fraction = 0.2
    dedup_strategy: Dedup = "highest_relevance"

    @model_validator(mode="after")
    def _at_most_one(self) -> Self:
        total = sum(self.fractions.values())
        if not 0.0 < total <= 1.0 + 1e-9:
            raise ValueError(
                "text_, vector_ and graph_budget_fraction must add up to more than 0 and at most "
                f"1, not {total:g}"
            )
        return self

    @property
    def fractions(self) -> dict[Phase, float]:
        """The fraction of each phase."""
        return {
            "text": self.text_budget_fraction,
            "vector": self.vector_budget_fraction,
            "graph": self.graph_budget_fraction,
        }


class ArceStrategy(BuiltInStrategy):
    """Searches text beside vectors, walks the graph from what they found, and ranks it all."""

    name: ClassVar[str] = "arce"
    capabilities: ClassVar[StrategyCapabilities] = StrategyCapabilities(
        uses_text=True,
        uses_vector=True,
        uses_graph=True,
        quality_score=0.95,
        supports_depth_breadth=True,
    )
    options_model: ClassVar[type[StrategyOptions]] = ArceOptions
    options: ArceOptions

    def is_equipped(self, backends: BackendSet) -> bool:
        """Whether all three backends are there, and something to embed a question with."""
        return super().is_equipped(backends) and can_embed(backends)

    def is_addressed(self, request: ContextRequest, backends: BackendSet) -> bool:
        """Whether there is a question or a focus."""
        return bool(question(request) or request.focus_nodes)

    def assemble(
        self,
        request: ContextRequest,
        backends: BackendSet,
        budget: ContextBudget,
        plan_context: PlanContext,
    ) -> Ranking:
        """What the three phases found, by their combined evidence."""
        graph = self.needed(backends.graph, "graph")
        text, near = self._search(request, backends)
        evidence = _stand_for(
            weigh_both(text, near, words=question(request), backends=backends),
            (*text, *near),
            self.options.dedup_strategy,
        )
        rated = {node: to_relevance(weight) for node, weight in evidence.weights.items()}
        ignored: tuple[str, ...] = ()
        if self.options.graph_budget_fraction:
            focus = request.focus_nodes or plan_context.focus_nodes
            seeds, evidence = find_seeds(graph, request, focus, evidence)
            walked = walk(
                graph,
                seeds.strength,
                breadth=BREADTH if request.breadth is None else request.breadth,
                depth=DEPTH if request.depth is None else request.depth,
                decay=DECAY,
                scope=request.scope,
                mute=seeds.mute,
                shared=seeds.shared,
            )
            rated |= rate(walked, seeds, evidence, decay=DECAY)
            ignored = seeds.ignored
        limit = self.options.max_fragments
        phases: dict[str, Phase] = {hit.uko_node: "vector" for hit in near}
        phases |= {hit.uko_node: "text" for hit in text}
        sized = [
            (hit, relevance, tokens_of(hit, backends))
            for hit, relevance in fetch(graph, rated, evidence.hits, request, limit=limit)
        ]
        gathered, used = self._gather(sized, phases, tokens=CHOICE * budget.available_tokens)
        return to_ranking(
            gathered,
            strategy=self.name,
            backends=backends,
            budget=budget,
            limit=limit,
            total=len(rated),
            stats={
                "text_hits": len(text),
                "vector_hits": len(near),
                "gathered": used,
                "ignored": list(ignored),
            },
        )

    def _search(
        self, request: ContextRequest, backends: BackendSet
    ) -> tuple[list[SearchHit], list[SearchHit]]:
        """Text beside vectors; a phase without a share is not asked.

        Raises:
            Exception: What either raised; `TimeoutError` for one that leaves no time for the rest.
        """
        self.needed(backends.text, "text")
        self.needed(backends.vector, "vector")
        words, limit = question(request), max(1, self.options.max_fragments // 2)
        searches = (
            partial(search, words if fraction else "", request, backends, limit=limit)
            for search, fraction in (
                (search_words, self.options.text_budget_fraction),
                (search_near, self.options.vector_budget_fraction),
            )
        )
        text, near = self._crew.beside(
            *searches,
            seconds=patience(backends, self.options),
            workers=self.options.max_workers,
        )
        return _unless_failed(text, "text"), _unless_failed(near, "vector")

    def _gather(
        self,
        sized: Sequence[tuple[SearchHit, float, int]],
        phases: Mapping[str, Phase],
        *,
        tokens: int,
    ) -> tuple[list[tuple[SearchHit, float]], dict[Phase, int]]:
        """The best of each phase within its share; what one leaves unused goes to the others.

        Returns:
            What was gathered with its relevance, and the tokens of each phase.
        """
        left = {phase: fraction * tokens for phase, fraction in self.options.fractions.items()}
        used: dict[Phase, int] = dict.fromkeys(PHASES, 0)
        taken: list[tuple[SearchHit, float]] = []
        waiting: list[tuple[SearchHit, float, int, Phase]] = []
        for hit, relevance, size in sized:
            phase = phases.get(hit.uko_node, "graph")
            if size <= left[phase]:
                left[phase] -= size
                used[phase] += size
                taken.append((hit, relevance))
            else:
                waiting.append((hit, relevance, size, phase))
        spare = sum(left.values())
        for hit, relevance, size, phase in waiting:
            if size <= spare:
                spare -= size
                used[phase] += size
                taken.append((hit, relevance))
        return taken, used

    def explain(self) -> str:
        """What it does, for people."""
        shares = ", ".join(f"{part:.0%} {phase}" for phase, part in self.options.fractions.items())
        return (
            "Searches the text index beside the vector index, then walks the graph from what they "
            f"found ({shares}; unused shares roll over). Nodes found more than once are merged "
            f"({self.options.dedup_strategy}) and ranked by what all three say of them together."
        )


def _unless_failed(found: list[SearchHit] | BaseException, source: str) -> list[SearchHit]:
    if isinstance(found, TimeoutError):
        raise TimeoutError(f"the {source} backend: {found}") from found
    if isinstance(found, BaseException):
        raise found
    return found


def _stand_for(evidence: Evidence, hits: Iterable[SearchHit], dedup: Dedup) -> Evidence:
    """Let the hit that `dedup` prefers stand for each node."""
    chosen: dict[str, SearchHit] = {}
    for hit in hits:
        known = chosen.setdefault(hit.uko_node, hit)
        newer = known.created_at is None or (
            hit.created_at is not None and hit.created_at > known.created_at
        )
        if (dedup == "highest_relevance" and hit.score > known.score) or (
            dedup == "most_recent" and newer
        ):
            chosen[hit.uko_node] = hit
    return Evidence(chosen, evidence.weights)
