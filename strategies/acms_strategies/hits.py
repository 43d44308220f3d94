"""From what backends answer to ranked fragments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from acms_adapters.models import ContextFragment, FragmentProvenance, Rendering, SearchHit
from acms_adapters.protocols import BackendSet


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


def to_ranking(
    rated: Iterable[tuple[SearchHit, float]],
    *,
    strategy: str,
    backends: BackendSet,
    limit: int,
    total: int | None = None,
    stats: Mapping[str, Any] | None = None,
) -> Ranking:
    """Make fragments of the best hits, by relevance, then node; those without text are left out.

    Args:
        rated: Hits with their relevance in [0, 1].
        strategy: Who found them.
        limit: How many fragments are made; texts beyond it are not loaded.
        total: How many there were before `rated` was cut, where that is more.
        stats: Figures to tell.
    """
    ordered = sorted(rated, key=lambda pair: (-pair[1], pair[0].uko_node))
    fragments: list[ContextFragment] = []
    for hit, relevance in ordered:
        if len(fragments) == limit:
            break
        fragment = to_fragment(hit, relevance, strategy=strategy, backends=backends)
        if fragment is not None:
            fragments.append(fragment)
    return Ranking(fragments, total=len(ordered) if total is None else total, stats=stats)


def to_fragment(
    hit: SearchHit, relevance: float, *, strategy: str, backends: BackendSet
) -> ContextFragment | None:
    """The fragment of a hit, or None when nobody has its text."""
    rendering = _rendering(hit, backends)
    if rendering is None or not rendering.content:
        return None
    tokens = rendering.token_count
    if tokens is None and backends.counter is not None:
        tokens = backends.counter.count(rendering.content)
    provenance = hit.provenance or FragmentProvenance(resource_uri=hit.uko_node)
    known: dict[str, Any] = {"token_count": tokens, "created_at": hit.created_at or backends.now}
    return ContextFragment(
        uko_node=hit.uko_node,
        content=rendering.content,
        detail_depth=rendering.detail_depth,
        relevance_score=relevance,
        tier=hit.tier,
        provenance=provenance.model_copy(update={"strategy": strategy, "score": relevance}),
        metadata=hit.metadata,
        **{name: value for name, value in known.items() if value is not None},
    )


def text_of(hit: SearchHit, backends: BackendSet) -> str:
    """The text of a hit; empty when nobody has it."""
    rendering = _rendering(hit, backends)
    return rendering.content if rendering else ""


def _rendering(hit: SearchHit, backends: BackendSet) -> Rendering | None:
    if hit.content is None:
        source = backends.renderings
        return source.at(hit.uko_node, hit.detail_depth) if source else None
    return Rendering(
        uko_node=hit.uko_node,
        detail_depth=hit.detail_depth,
        content=hit.content,
        token_count=hit.token_count,
    )
