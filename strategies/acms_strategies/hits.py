"""From what backends answer to ranked fragments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    FragmentProvenance,
    Rendering,
    SearchHit,
)
from acms_adapters.models.base import changed, now_utc
from acms_adapters.models.estimate import estimate_tokens
from acms_adapters.models.fragment import fragment_of
from acms_adapters.protocols import BackendSet

CHOICE = 8
"""How many times its share of the budget a strategy delivers, so that the packer has a choice.

Measured over three kinds of questions at 512 to 2,048 tokens: from four times on, recall does not
differ from delivering everything, which is three to six times as many fragments."""


class Ranking(list[ContextFragment]):
    """Fragments, best first, with figures of how they were found.

    Attributes:
        total: How many were ranked before any limit.
        stats: Figures of the strategy's own.
    """

    def __init__(
        self,
        fragments: Iterable[ContextFragment] = (),
        *,
        total: int | None = None,
        stats: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(fragments)
        self.total = len(self) if total is None else total
        self.stats = dict(stats or {})


class Choice:
    """Tells when there are enough fragments to choose from for a budget.

    What alone is larger than the budget does not count.
    """

    def __init__(self, budget: ContextBudget) -> None:
        self._largest = budget.available_tokens
        self._left = CHOICE * budget.available_tokens

    def add(self, tokens: int) -> None:
        """Count a fragment."""
        if tokens <= self._largest:
            self._left -= tokens

    @property
    def is_enough(self) -> bool:
        """Whether there are enough."""
        return self._left <= 0


def to_ranking(
    rated: Iterable[tuple[SearchHit, float]],
    *,
    strategy: str,
    backends: BackendSet,
    budget: ContextBudget,
    limit: int,
    total: int | None = None,
    stats: Mapping[str, Any] | None = None,
) -> Ranking:
    """Make fragments of the best hits, by relevance, then node.

    Those without text are delivered too, so that the ledger tells of them; no limit counts them.

    Args:
        rated: Hits with their relevance in [0, 1].
        strategy: Who found them.
        budget: The strategy's share; it ends when there is a choice for that.
        limit: How many fragments are made at most.
        total: How many there were before `rated` was cut, where that is more.
        stats: Figures to tell.
    """
    ordered = sorted(rated, key=lambda pair: (-pair[1], pair[0].uko_node))
    fragments: list[ContextFragment] = []
    choice, made = Choice(budget), 0
    for hit, relevance in ordered:
        if made == limit or choice.is_enough:
            break
        fragment = to_fragment(hit, relevance, strategy=strategy, backends=backends)
        choice.add(fragment.token_count)
        made += bool(fragment.content)
        fragments.append(fragment)
    return Ranking(fragments, total=len(ordered) if total is None else total, stats=stats)


def to_fragment(
    hit: SearchHit, relevance: float, *, strategy: str, backends: BackendSet
) -> ContextFragment:
    """The fragment of a hit; empty when nobody has its text."""
    rendering = _rendering(hit, backends) or _nothing(hit)
    tokens = _tokens(rendering, backends)
    provenance = hit.provenance or FragmentProvenance(resource_uri=hit.uko_node)
    return fragment_of(
        uko_node=hit.uko_node,
        content=rendering.content,
        detail_depth=rendering.detail_depth,
        token_count=tokens,
        relevance_score=relevance,
        tier=hit.tier,
        provenance=changed(provenance, strategy=strategy, score=relevance),
        metadata=hit.metadata,
        created_at=hit.created_at or backends.now or now_utc(),
    )


def text_of(hit: SearchHit, backends: BackendSet) -> str:
    """The text of a hit; empty when nobody has it."""
    if hit.content is not None:
        return hit.content
    rendering = _rendering(hit, backends)
    return rendering.content if rendering else ""


def tokens_of(hit: SearchHit, backends: BackendSet) -> int:
    """Tokens of a hit's text, counted or estimated where nobody knows them; for ranking only."""
    rendering = _rendering(hit, backends)
    return _tokens(rendering, backends) if rendering else 0


def _nothing(hit: SearchHit) -> Rendering:
    return Rendering(
        uko_node=hit.uko_node, detail_depth=hit.detail_depth, content="", token_count=0
    )


def _tokens(rendering: Rendering, backends: BackendSet) -> int:
    if rendering.token_count is not None:
        return rendering.token_count
    count = estimate_tokens if backends.counter is None else backends.counter.count
    return count(rendering.content)


def _rendering(hit: SearchHit, backends: BackendSet) -> Rendering | None:
    if hit.content is None:
        source = backends.renderings
        return None if source is None else source.at(hit.uko_node, hit.detail_depth)
    return Rendering(
        uko_node=hit.uko_node,
        detail_depth=hit.detail_depth,
        content=hit.content,
        token_count=hit.token_count,
    )
