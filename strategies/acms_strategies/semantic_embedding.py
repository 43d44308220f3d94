"""Finding context by nearness of meaning."""

from __future__ import annotations

import logging
from typing import Annotated, ClassVar

from pydantic import Field

from acms_adapters.models import (
    ContextBudget,
    ContextRequest,
    PlanContext,
    StrategyCapabilities,
    StrategyOptions,
)
from acms_adapters.models.options import Fraction, Seconds
from acms_adapters.protocols import BackendSet
from acms_strategies.arms import can_embed, search_near
from acms_strategies.base import BuiltInStrategy
from acms_strategies.hits import Ranking, to_ranking
from acms_strategies.words import question

CHARACTER_FREQUENCY = "character-frequency-v1"

logger = logging.getLogger("acms_adapters")


class EmbeddingOptions(StrategyOptions):
    """Options of `SemanticEmbeddingStrategy`.

    Attributes:
        similarity_threshold: Raw cosine below which a hit is none, 0 to 1. The default is that of
            `character-frequency-v1`; unless it is set, another embedder's own holds (ruling B7).
        embedding_model: The embedder that the configuration means. The one in the backend set is
            used; when it was set and is another one, a warning names both.
    """

    timeout_seconds: Seconds = 20.0
    similarity_threshold: Fraction = 0.5
    embedding_model: Annotated[str, Field(min_length=1)] = CHARACTER_FREQUENCY


class SemanticEmbeddingStrategy(BuiltInStrategy):
    """Embeds the question and takes what lies near it."""

    name: ClassVar[str] = "semantic-embedding"
    capabilities: ClassVar[StrategyCapabilities] = StrategyCapabilities(
        uses_vector=True, quality_score=0.6
    )
    options_model: ClassVar[type[StrategyOptions]] = EmbeddingOptions
    options: EmbeddingOptions

    def is_equipped(self, backends: BackendSet) -> bool:
        """Whether there are vectors, and something to embed a question with."""
        return can_embed(backends)

    def is_addressed(self, request: ContextRequest, backends: BackendSet) -> bool:
        """Whether there is something to embed."""
        return bool(question(request))

    def assemble(
        self,
        request: ContextRequest,
        backends: BackendSet,
        budget: ContextBudget,
        plan_context: PlanContext,
    ) -> Ranking:
        """What lies near the question, by cosine."""
        self.needed(backends.vector, "vector")
        options = self.options
        used = backends.embedder.name if backends.embedder else None
        is_set = "similarity_threshold" in options.model_fields_set
        hits = search_near(
            question(request),
            request,
            backends,
            limit=options.max_fragments,
            threshold=options.similarity_threshold if is_set else None,
        )
        return to_ranking(
            [(hit, hit.score) for hit in hits],
            strategy=self.name,
            backends=backends,
            budget=budget,
            limit=options.max_fragments,
            stats={
                "similarity_scores": [hit.score for hit in hits],
                "backend_queries": 1 if question(request) else 0,
                "embedding_model": used,
                "ignored": self._ignored(used),
            },
        )

    def _ignored(self, used: str | None) -> list[str]:
        wanted = self.options.embedding_model
        if "embedding_model" not in self.options.model_fields_set or used in (wanted, None):
            return []
        logger.warning(
            "%s is configured for the embedder %r, and the store is searched with %r",
            self.name,
            wanted,
            used,
        )
        return [f"embedding_model={wanted!r}"]

    def explain(self) -> str:
        """What it does, for people."""
        return (
            "Embeds the question and searches the vector index for what lies near it, ranked by "
            "cosine. Hits below the similarity threshold "
            f"({self.options.similarity_threshold:g} for {CHARACTER_FREQUENCY}, otherwise the "
            "embedder's own unless one was set) are none."
        )
