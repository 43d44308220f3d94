"""Finding context in what was archived, and what it led to."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, ClassVar

from pydantic import AfterValidator

from acms_adapters.models import (
    ContextBudget,
    ContextRequest,
    PlanContext,
    SearchHit,
    StrategyCapabilities,
    StrategyOptions,
)
from acms_adapters.models.base import now_utc
from acms_adapters.models.options import Flag, Seconds
from acms_adapters.models.scores import to_relevance
from acms_adapters.models.window import parse_window, window_start
from acms_adapters.protocols import BackendSet
from acms_strategies.answers import hits
from acms_strategies.base import BuiltInStrategy
from acms_strategies.evidence import gather, patience
from acms_strategies.hits import Ranking, text_of, to_ranking
from acms_strategies.neighbourhood import fetch
from acms_strategies.periods import overlap, period_in
from acms_strategies.records import aboutness, is_record, is_wanted, mean, related
from acms_strategies.words import question

RECORDS = 1_000
"""Most records of the window that are ranked, newest first."""


def _window(value: str) -> str:
    parse_window(value)
    return value


class ArchaeologyOptions(StrategyOptions):
    """Options of `TemporalArchaeologyStrategy`.

    Attributes:
        enabled: False by default: listed or named, it runs all the same (ruling S13).
        default_temporal_window: For a request that names none, such as ``7d``.
        include_current_context: Whether nodes linked to historical ones are taken as well.
    """

    enabled: Flag = False
    timeout_seconds: Seconds = 60.0
    default_temporal_window: Annotated[str, AfterValidator(_window)] = "7d"
    include_current_context: Flag = True


class TemporalArchaeologyStrategy(BuiltInStrategy):
    """Digs in the cold tier inside a window of time, and walks from there to the present."""

    name: ClassVar[str] = "temporal-archaeology"
    capabilities: ClassVar[StrategyCapabilities] = StrategyCapabilities(
        uses_graph=True, uses_temporal=True, quality_score=0.5, supports_temporal=True
    )
    options_model: ClassVar[type[StrategyOptions]] = ArchaeologyOptions
    options: ArchaeologyOptions

    def is_addressed(self, request: ContextRequest, backends: BackendSet) -> bool:
        """Whether the request asks about the past, or its question names a period."""
        asks = request.temporal_window is not None or request.as_of is not None
        return asks or period_in(request.query or "") is not None

    def assemble(
        self,
        request: ContextRequest,
        backends: BackendSet,
        budget: ContextBudget,
        plan_context: PlanContext,
    ) -> Ranking:
        """Historical records and what is linked to them, and what speaks of a period."""
        graph = self.needed(backends.graph, "graph")
        temporal = self.needed(backends.temporal, "temporal")
        window = request.temporal_window or self.options.default_temporal_window
        answer = temporal.query_by_tier(
            "cold",
            window=window,
            as_of=request.as_of or backends.now,
            limit=RECORDS,
            scope=request.scope,
        )
        found = hits(answer, most=RECORDS, source="temporal")
        now = request.as_of or backends.now or now_utc()
        fresh = _recency(found, now, start=window_start(window, now))
        focus = request.focus_nodes or plan_context.focus_nodes
        about = aboutness(found, request, backends, focus=focus)
        records = {
            hit.uko_node: (hit, mean(fresh[hit.uko_node], about.get(hit.uko_node))) for hit in found
        }
        linked: dict[str, float] = {}
        if self.options.include_current_context:
            linked = related(graph, records, request)
        limit = self.options.max_fragments
        wanted = [record for record in records.values() if is_wanted(record[0], request)]
        near = fetch(graph, linked, {}, request, budget=budget, limit=limit)
        current = [(hit, relevance) for hit, relevance in near if not is_record(hit)]
        of_period, failed = self._of_period(request, backends)
        return to_ranking(
            [*wanted, *current, *of_period],
            strategy=self.name,
            backends=backends,
            budget=budget,
            limit=limit,
            total=len(wanted) + len(linked) + len(of_period),
            stats={
                "window": window,
                "historical": len(records),
                "current": len(current),
                "of_period": len(of_period),
                "failed_searches": list(failed),
            },
        )

    def _of_period(
        self, request: ContextRequest, backends: BackendSet
    ) -> tuple[list[tuple[SearchHit, float]], tuple[str, ...]]:
        """Hits that speak of the period that a question names, and the searches that failed."""
        period = period_in(request.query or "")
        if period is None:
            return [], ()
        evidence = gather(
            question(request),
            request,
            backends,
            limit=self.options.max_fragments,
            crew=self._crew,
            seconds=patience(backends, self.options),
            workers=self.options.max_workers,
        )
        spoken = [
            (hit, to_relevance(evidence.of(node)))
            for node, hit in evidence.hits.items()
            if overlap(text_of(hit, backends), period) > 0.0
        ]
        return spoken, evidence.failed

    def explain(self) -> str:
        """What it does, for people."""
        current = (
            " and takes what is linked to it now" if self.options.include_current_context else ""
        )
        return (
            "Looks into the cold tier for what was archived within the request's temporal window "
            f"({self.options.default_temporal_window} where it names none){current}. Ranks by "
            "recency, and by how much a record is about the question or the focus. Where the "
            "question names years, texts that speak of them come before others alike."
        )


def _recency(
    records: Iterable[SearchHit], now: datetime, *, start: datetime | None
) -> dict[str, float]:
    """1 for now, halved for each half of the window; without a start, of the oldest record's age.

    A record without a time counts as the oldest.
    """
    times = {hit.uko_node: hit.created_at for hit in records}
    oldest = start or min((time for time in times.values() if time), default=now)
    half_life = max((now - oldest) / 2, timedelta(seconds=1))
    return {
        node: min(1.0, 0.5 ** ((now - (time or oldest)) / half_life))
        for node, time in times.items()
    }
