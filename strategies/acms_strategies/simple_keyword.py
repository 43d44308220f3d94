"""Finding context by its words."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from acms_adapters.models import (
    ContextBudget,
    ContextRequest,
    PlanContext,
    StrategyCapabilities,
    StrategyOptions,
)
from acms_adapters.models.options import Number, Seconds, Whole
from acms_adapters.protocols import BackendSet
from acms_strategies.arms import search_words
from acms_strategies.base import BuiltInStrategy
from acms_strategies.hits import Ranking, text_of, to_ranking
from acms_strategies.words import keywords, matches, question


class KeywordOptions(StrategyOptions):
    """Options of `SimpleKeywordStrategy`.

    Attributes:
        keyword_boost_factor: What exact matches of all keywords do to the odds of a hit being
            relevant; 1 to 100, and 1 does nothing.
    """

    timeout_seconds: Seconds = 10.0
    max_fragments: Annotated[Whole, Field(ge=1, le=1_000_000)] = 50
    keyword_boost_factor: Annotated[Number, Field(ge=1.0, le=100.0)] = 1.5


class SimpleKeywordStrategy(BuiltInStrategy):
    """Searches for the question's words and prefers hits in which keywords stand exactly."""

    name: ClassVar[str] = "simple-keyword"
    capabilities: ClassVar[StrategyCapabilities] = StrategyCapabilities(
        uses_text=True, quality_score=0.3
    )
    options_model: ClassVar[type[StrategyOptions]] = KeywordOptions
    options: KeywordOptions

    def is_addressed(self, request: ContextRequest, backends: BackendSet) -> bool:
        """Whether there are words to look for."""
        return bool(question(request))

    def assemble(
        self,
        request: ContextRequest,
        backends: BackendSet,
        budget: ContextBudget,
        plan_context: PlanContext,
    ) -> Ranking:
        """Hits of the words, by relevance and exact matches."""
        self.needed(backends.text, "text")
        options = self.options
        words = keywords(request)
        hits = search_words(question(request), request, backends, limit=options.max_fragments)
        found = {hit.uko_node: matches(text_of(hit, backends), words) for hit in hits}
        rated = [
            (hit, _boosted(hit.score, options.keyword_boost_factor, found[hit.uko_node]))
            for hit in hits
        ]
        return to_ranking(
            rated,
            strategy=self.name,
            backends=backends,
            budget=budget,
            limit=options.max_fragments,
            stats={
                "keywords": list(words),
                "backend_queries": 1 if question(request) else 0,
                "exact_matches": sum(share > 0.0 for share in found.values()),
            },
        )

    def explain(self) -> str:
        """What it does, for people."""
        return (
            "Searches the text index for the keywords, or for the words of the question where "
            "there are none, and ranks by relevance. Keywords that stand in a text exactly as "
            f"they were given raise its odds by up to {self.options.keyword_boost_factor:g}."
        )


def _boosted(relevance: float, factor: float, share: float) -> float:
    """Relevance with its odds raised by `factor` to the power of the share that matched."""
    raised: float = relevance * factor**share
    return raised / (raised + 1.0 - relevance)
