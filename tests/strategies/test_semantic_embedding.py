"""Nearness: what embeds, which threshold holds, what a mismatch is called (ruling B7)."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from acms_adapters.backends.vectors.memory import MemoryVectorBackend
from acms_adapters.errors import StrategyError
from acms_adapters.models import ContextBudget, ContextRequest, PlanContext, SearchHit
from acms_adapters.models.scores import to_evidence
from acms_adapters.protocols import BackendSet
from acms_strategies import SemanticEmbeddingStrategy

BUDGET = ContextBudget(max_tokens=1000)


class Compass:
    """Embeds a text by the directions named in it."""

    name, dimensions, reliability = "compass", 2, 1.0

    def __init__(self, threshold: float = 0.0) -> None:
        self.similarity_threshold = threshold
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return self._embed(text)

    @staticmethod
    def _embed(text: str) -> list[float]:
        return [float(text.count("north")), float(text.count("east"))]


@pytest.fixture
def compass() -> BackendSet:
    """Texts due north, north-east and east; cosines to north 1, .71 and 0."""
    return compass_set(Compass(), "north", "north east", "east")


def compass_set(embedder: Compass, *texts: str) -> BackendSet:
    vectors = MemoryVectorBackend()
    vectors.upsert(
        [f"n://{text}" for text in texts], embedder.embed_documents(texts), contents=texts
    )
    return BackendSet(vector=vectors, embedder=embedder)


def run(backends: BackendSet, options: Any = None, **request: Any) -> Any:
    strategy = SemanticEmbeddingStrategy(options)
    return strategy.assemble(ContextRequest(**request), backends, BUDGET, PlanContext())


def test_it_embeds_the_request_and_ranks_by_cosine(compass: BackendSet) -> None:
    """D4-45, D6-6."""
    found = run(compass, query="Where is north?", keywords=["pole", "north"])
    assert compass.embedder.asked == ["Where is north? pole"]
    assert [f.content for f in found] == ["north", "north east", "east"]
    assert found.stats["similarity_scores"] == sorted(
        (f.relevance_score for f in found), reverse=True
    )
    assert found.stats["backend_queries"] == 1


def test_the_threshold_is_raw_cosine_and_that_of_the_embedder() -> None:
    """B7.threshold."""
    assert len(run(compass_set(Compass(0.7), "north", "north east"), query="north")) == 2
    assert len(run(compass_set(Compass(0.8), "north", "north east"), query="north")) == 1


def test_a_threshold_that_was_set_holds_for_every_embedder(compass: BackendSet) -> None:
    """D6-8."""
    assert len(run(compass, {"similarity_threshold": 0.8}, query="north")) == 1
    assert len(run(compass, {"similarity_threshold": 0.5}, query="north")) == 2
    assert len(run(compass, query="north")) == 3


def test_for_character_frequencies_the_documented_threshold_is_the_default(world: Any) -> None:
    """B7.threshold, D6-8, D6-9."""
    world.add("a", "aaaa")
    world.add("ab", "ab")
    world.add("z", "zzzz")
    found = run(world.backends("vector"), query="aaa")
    assert [f.content for f in found] == ["aaaa", "ab"]
    assert SemanticEmbeddingStrategy().options.similarity_threshold == 0.5
    assert SemanticEmbeddingStrategy().options.embedding_model == "character-frequency-v1"
    assert [
        f.content for f in run(world.backends("vector"), {"similarity_threshold": 0.9}, query="aaa")
    ] == ["aaaa"]


def test_a_configured_embedder_that_is_not_the_one_in_use_is_named(
    compass: BackendSet, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="acms_adapters"):
        found = run(compass, {"embedding_model": "wordllama"}, query="north")
    assert len(found) == 3
    assert found.stats["embedding_model"] == "compass"
    assert found.stats["ignored"] == ["embedding_model='wordllama'"]
    assert "'wordllama'" in caplog.text
    assert "'compass'" in caplog.text


def test_an_embedder_nobody_configured_is_no_mismatch(compass: BackendSet) -> None:
    assert run(compass, query="north").stats["ignored"] == []
    assert run(compass, {"embedding_model": "compass"}, query="north").stats["ignored"] == []


def test_the_evidence_of_a_weak_embedder_counts_for_less_and_keeps_its_order() -> None:
    weak = Compass()
    weak.reliability = 0.5
    texts = ("north", "north east", "east")
    strong = run(compass_set(Compass(), *texts), query="north")
    toned = run(compass_set(weak, *texts), query="north")
    assert [f.content for f in toned] == [f.content for f in strong]
    for one, other in zip(strong, toned, strict=True):
        expected = 0.5 * to_evidence(one.relevance_score)
        assert to_evidence(other.relevance_score) == pytest.approx(expected, rel=1e-3)


class SearchesItself:
    """A store that embeds by itself."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, float]] = []

    def search_text(self, query: str, *, min_similarity: float = 0.0, **options: Any) -> Any:
        self.asked.append((query, min_similarity))
        return [SearchHit(uko_node="n://1", content="found", score=0.75)]


def test_a_store_that_embeds_itself_is_asked_with_words() -> None:
    store = SearchesItself()
    backends = BackendSet(vector=store)
    assert SemanticEmbeddingStrategy().can_handle(ContextRequest(query="x"), backends) == 0.6
    (found,) = run(backends, query="north")
    assert found.relevance_score == 0.75
    run(backends, {"similarity_threshold": 0.4}, query="north")
    assert store.asked == [("north", 0.0), ("north", 0.4)]


def test_vectors_that_nobody_can_ask_are_no_backend(compass: BackendSet) -> None:
    lacking = compass.with_(embedder=None)
    hinted = ContextRequest(query="north", strategy_hints=["semantic-embedding"])
    assert SemanticEmbeddingStrategy().can_handle(hinted, lacking) == 0.0
    with pytest.raises(StrategyError, match="needs an embedder"):
        run(lacking, query="north")
