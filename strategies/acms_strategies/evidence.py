"""What the first hits of words and vectors together say about a node."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from acms_adapters.models import ContextRequest, SearchHit, StrategyOptions
from acms_adapters.models.scores import to_evidence
from acms_adapters.protocols import BackendSet
from acms_strategies.arms import can_embed, rate_near, rate_words, search_near, search_words
from acms_strategies.crew import Crew
from acms_strategies.hits import text_of
from acms_strategies.periods import overlap, period_in

BY_WORDS, BY_NEARNESS = "simple-keyword", "semantic-embedding"
"""The strategies that stand for one arm each."""

TEXT_WEIGHT = 0.35
VECTOR_WEIGHT = 0.65
"""How much a deviation above the mean of each index counts.

Measured as the best sum on questions about code and about encyclopaedia pages alike; scores of
words spread two to three times as far as those of vectors."""

COMPANY = 0.35
"""Weight of what was found of the rest of a node's file or page.

Measured on questions about code and about encyclopaedia pages: from 0.2 to 0.6 recall hardly
changes."""

PERIOD = 1.0
"""Evidence for a text that names a year of the period in question.

Measured on questions about periods over long pages: from 0.6 to 2 recall at 512 tokens still rises
a little, and at 1,024 and 2,048 it does not change."""

PATIENCE = 0.5
"""Part of a strategy's time that it waits for text and vectors when it asks both."""

_LARGEST = 500.0  # its exponential is still a number

logger = logging.getLogger("acms_adapters")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the first hits say about the question.

    Attributes:
        hits: Each node that was found, as it was found first.
        weights: Evidence for each of them: weighted deviations above the mean.
        failed: Searches that did not answer, and why, for people.
    """

    hits: dict[str, SearchHit] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    failed: tuple[str, ...] = ()

    def of(self, node: str) -> float:
        """Evidence for a node; 0 when nothing found it."""
        return self.weights.get(node, 0.0)

    def best(self, count: int) -> list[str]:
        """The nodes with the most evidence."""
        return sorted(self.weights, key=lambda node: (-self.weights[node], node))[:count]


def weigh(text: Sequence[SearchHit], vector: Sequence[SearchHit]) -> Evidence:
    """Add up what both arms say."""
    found = Evidence()
    for arm, weight in ((text, TEXT_WEIGHT), (vector, VECTOR_WEIGHT)):
        for hit in arm:
            found.hits.setdefault(hit.uko_node, hit)
            evidence = weight * max(0.0, to_evidence(hit.score))
            found.weights[hit.uko_node] = found.of(hit.uko_node) + evidence
    return found


def weigh_both(
    text: Sequence[SearchHit], vector: Sequence[SearchHit], *, words: str, backends: BackendSet
) -> Evidence:
    """All that is known of what either arm found."""
    evidence = complete(weigh(text, vector), text, vector, words=words, backends=backends)
    return with_period(with_company(evidence), words, backends)


def complete(
    evidence: Evidence,
    text: Sequence[SearchHit],
    vector: Sequence[SearchHit],
    *,
    words: str,
    backends: BackendSet,
) -> Evidence:
    """Add what each arm says of the nodes that only the other one found.

    A node may be none of the first hits of an arm because it is just below them, or because
    nothing speaks for it there. Backends that cannot tell say nothing.
    """
    weights = dict(evidence.weights)
    for name, weight, there, ask in (
        (BY_WORDS, TEXT_WEIGHT, text, rate_words),
        (BY_NEARNESS, VECTOR_WEIGHT, vector, rate_near),
    ):
        known = {hit.uko_node for hit in there}
        missing = [node for node in weights if node not in known]
        rated = _try(ask, words, missing, backends) if known and missing else {}
        for node, relevance in rated.items():
            weights[node] += weight * to_evidence(relevance)
        if backends.memo is not None:
            backends.memo.note_ratings(name, rated)
    return Evidence(evidence.hits, weights)


def with_company(evidence: Evidence) -> Evidence:
    """Let what speaks for the other parts of a file or page speak for each of its parts as well.

    A node's evidence E becomes (E + w · ln Σ exp E') / (1 + w) over all that was found of its
    resource, itself included; what stands alone keeps its own.
    """
    totals: dict[str, float] = {}
    groups = {node: _resource(hit) for node, hit in evidence.hits.items()}
    for node, weight in evidence.weights.items():
        group = groups.get(node, node)
        totals[group] = totals.get(group, 0.0) + math.exp(min(weight, _LARGEST))
    weights = {
        node: (weight + COMPANY * math.log(totals[groups.get(node, node)])) / (1.0 + COMPANY)
        for node, weight in evidence.weights.items()
    }
    return Evidence(evidence.hits, weights)


def with_period(evidence: Evidence, words: str, backends: BackendSet) -> Evidence:
    """Let texts that speak of the period that a question names count for more."""
    period = period_in(words)
    if period is None:
        return evidence
    weights = {
        node: evidence.of(node) + PERIOD * overlap(text_of(hit, backends), period)
        for node, hit in evidence.hits.items()
    }
    return Evidence(evidence.hits, weights)


def _resource(hit: SearchHit) -> str:
    """What a node is a part of: its resource, else what has its title, else only itself."""
    resource = hit.provenance.resource_uri if hit.provenance else ""
    if resource and resource != hit.uko_node:
        return resource
    title = hit.metadata.get("title")
    return f"title {title}" if isinstance(title, str) and title else hit.uko_node


def gather(
    words: str,
    request: ContextRequest,
    backends: BackendSet,
    *,
    limit: int,
    crew: Crew,
    seconds: float,
    workers: int = 2,
) -> Evidence:
    """What text and vectors say, where they can be asked.

    One that fails or does not answer in time says nothing, and is among the `failed`.

    Args:
        limit: Most hits of each.
        crew: Asks them beside each other.
        seconds: How long to wait for them.
        workers: With 1, one after the other.
    """
    asked = [backends.text is not None and search_words, can_embed(backends) and search_near]
    searches = [
        partial(search, words, request, backends, limit=limit) if search and words else _nothing
        for search in asked
    ]
    if not any(search is not _nothing for search in searches):
        return Evidence()
    outcomes = crew.beside(*searches, seconds=seconds, workers=workers)
    text, vector = map(_said, outcomes)
    failed = tuple(
        f"{arm} search: {type(outcome).__name__}: {outcome}"
        for arm, outcome in zip(("text", "vector"), outcomes, strict=True)
        if isinstance(outcome, BaseException)
    )
    found = weigh_both(text, vector, words=words, backends=backends)
    return replace(found, failed=failed)


def patience(backends: BackendSet, options: StrategyOptions) -> float:
    """Seconds to wait for backends beside each other, so that some are left without them."""
    return PATIENCE * (options.timeout_seconds if backends.seconds is None else backends.seconds)


def _nothing() -> list[SearchHit]:
    return []


def _said(outcome: list[SearchHit] | BaseException) -> list[SearchHit]:
    if not isinstance(outcome, BaseException):
        return outcome
    if not isinstance(outcome, Exception):
        raise outcome  # it is to stop
    logger.info("a search says nothing: %s: %s", type(outcome).__name__, outcome)
    return []


def _try(ask: Callable[..., Mapping[str, float]], *arguments: Any) -> Mapping[str, float]:
    try:
        return ask(*arguments)
    except Exception as error:  # the search that just answered is what counts
        logger.info("%s says nothing: %s: %s", ask.__name__, type(error).__name__, error)
        return {}
