"""Putting another rendering of a node into a fragment's place (ruling F4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from acms_adapters.models import ContextFragment, Rendering
from acms_adapters.models.base import changed
from acms_adapters.models.estimate import estimate_tokens
from acms_adapters.pipeline.ranking import Place, place
from acms_adapters.protocols import ListsRenderings, RenderingSource

Count = Callable[[str], int]
Alternatives = Mapping[Place, Sequence[ContextFragment]]


def tokens_of(rendering: Rendering, count: Count = estimate_tokens) -> int:
    """Tokens of a rendering, counted where the index does not know them."""
    known = rendering.token_count
    return count(rendering.content) if known is None else known


def rerendered(
    fragment: ContextFragment, rendering: Rendering, *, count: Count = estimate_tokens
) -> ContextFragment:
    """The fragment at another depth; id, provenance, relevance, tier and times stay."""
    return changed(
        fragment,
        content=rendering.content,
        detail_depth=rendering.detail_depth,
        token_count=tokens_of(rendering, count),
    )


class Lower(NamedTuple):
    """What could be read in place of a fragment, and whether it is a candidate of its own."""

    fragment: ContextFragment
    stands_alone: bool


class LowerRenderings:
    """Finds what could be read in place of a fragment that does not fit.

    Args:
        steps: Depths to try, in this order; each stands for the deepest rendering at or below it
            that is lower than the fragment itself.
        min_tokens: Smaller renderings are not worth reading.
        alternatives: Fragments by place that gave way to another depth.
        source: Renderings of an index.
        count: Counts a rendering whose tokens the index does not know.
    """

    def __init__(
        self,
        *,
        steps: Sequence[int],
        min_tokens: int,
        alternatives: Alternatives | None = None,
        source: RenderingSource | None = None,
        count: Count = estimate_tokens,
    ) -> None:
        self._steps = steps
        self._min_tokens = min_tokens
        self._alternatives = alternatives or {}
        self._source = source
        self._count = count
        self._depths: dict[str, Sequence[int]] = {}
        given: object = source
        self._listing = given if isinstance(given, ListsRenderings) else None

    def of(self, fragment: ContextFragment) -> Iterator[Lower]:
        """Lower renderings, each depth once."""
        pool = self._alternatives.get(place(fragment), ())
        known = self._known(fragment)
        tried: set[int] = set()
        for step in self._steps:
            lower = self._at(fragment, pool, known, min(step, fragment.detail_depth - 1))
            if lower is None or lower.detail_depth in tried:
                continue
            tried.add(lower.detail_depth)
            if lower.token_count >= self._min_tokens:
                yield Lower(lower, any(lower is other for other in pool))

    def __bool__(self) -> bool:
        """Whether there can be any at all."""
        return bool(self._alternatives) or self._source is not None

    def _at(
        self,
        fragment: ContextFragment,
        pool: Sequence[ContextFragment],
        known: Mapping[int, Rendering | None],
        bound: int,
    ) -> ContextFragment | None:
        found = max(
            (other for other in pool if other.detail_depth <= bound),
            key=lambda other: other.detail_depth,
            default=None,
        )
        deepest = max((depth for depth in known if depth <= bound), default=-1)
        if self._source is None or deepest <= (found.detail_depth if found else -1):
            return found
        rendering = known[deepest] or self._source.at(fragment.uko_node, deepest)
        return rerendered(fragment, rendering, count=self._count) if rendering else found

    def _known(self, fragment: ContextFragment) -> Mapping[int, Rendering | None]:
        """Depths that an index has of a node, with the renderings where it gives all at once."""
        node = fragment.uko_node
        if self._listing is not None:
            shallower = self._listing.below(node, fragment.detail_depth)
            return {rendering.detail_depth: rendering for rendering in shallower}
        if self._source is None:
            return {}
        if node not in self._depths:
            self._depths[node] = self._source.depths(node)
        return dict.fromkeys(self._depths[node])
