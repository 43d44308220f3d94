"""Deciding at which depth each node is read (rulings M3, F8, F10).

What "the fullest that fits" means for a file or class that was found by its outline is said in
docs/decisions/0003-detail-depth.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    LedgerEntry,
    LeftOut,
    Rendering,
    Tier,
)
from acms_adapters.models.estimate import estimate_tokens
from acms_adapters.models.fragment import MAX_DEPTH, as_fragments
from acms_adapters.pipeline.ranking import Place, place, preference, without
from acms_adapters.pipeline.renderings import Count, rerendered, tokens_of
from acms_adapters.protocols import RenderingSource

DEFAULT_DEPTH = 3
HOT_TIER_BOOST = 2
CONTAINER_SHARE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthRules:
    """How depths are chosen.

    Attributes:
        default_depth: Depth wanted where the request names none and the budget is not looked at.
        hot_tier_boost: Added to a wanted depth for the hot tier.
        budget_aware: Whether the budget decides between renderings.
        container_share: Largest part of the budget that the full text of a node may take when it
            was found by its outline and no depth was asked for.
    """

    default_depth: int = DEFAULT_DEPTH
    hot_tier_boost: int = HOT_TIER_BOOST
    budget_aware: bool = True
    container_share: float = CONTAINER_SHARE

    def __post_init__(self) -> None:
        """Refuse values outside their ranges."""
        for name in ("default_depth", "hot_tier_boost"):
            if not 0 <= getattr(self, name) <= MAX_DEPTH:
                raise ValueError(f"{name} is 0 to {MAX_DEPTH}, not {getattr(self, name)!r}")
        if not 0.0 <= self.container_share <= 1.0:
            raise ValueError(f"container_share is 0 to 1, not {self.container_share!r}")


@dataclass(frozen=True, slots=True)
class Resolution:
    """One fragment for each node at a location.

    Attributes:
        kept: The chosen ones.
        superseded: The others, each with the id of the one chosen in its place.
        alternatives: The same by place, where the packer looks for less deep ones.
    """

    kept: tuple[ContextFragment, ...]
    superseded: tuple[tuple[ContextFragment, str], ...] = ()
    alternatives: Mapping[Place, Sequence[ContextFragment]] = field(default_factory=dict)

    @property
    def left_out(self) -> tuple[LedgerEntry, ...]:
        """Entries for all that were superseded."""
        return self.left_out_but(frozenset())

    def left_out_but(self, used: frozenset[int]) -> tuple[LedgerEntry, ...]:
        """Entries for the superseded, except those objects (by `id`) that were read after all."""
        return tuple(
            LedgerEntry.of(fragment, LeftOut.SUPERSEDED_DEPTH, other=winner)
            for fragment, winner in self.superseded
            if id(fragment) not in used
        )


class DetailDepthResolver:
    """Chooses one rendering of each node at a location.

    Args:
        default_depth: See `DepthRules`, as for the others.
        hot_tier_boost: Added for the hot tier.
        budget_aware: Whether the budget decides between renderings.
        container_share: Part of the budget for the full text of what was found by its outline.
        renderings: Where other depths of a node come from; None for the fragments alone.
    """

    def __init__(
        self,
        default_depth: int = DEFAULT_DEPTH,
        hot_tier_boost: int = HOT_TIER_BOOST,
        budget_aware: bool = True,
        *,
        container_share: float = CONTAINER_SHARE,
        renderings: RenderingSource | None = None,
    ) -> None:
        self._rules = DepthRules(
            default_depth=default_depth,
            hot_tier_boost=hot_tier_boost,
            budget_aware=budget_aware,
            container_share=container_share,
        )
        self._renderings = renderings

    def resolve(
        self,
        fragments: Iterable[ContextFragment],
        budget: ContextBudget | int,
        request: ContextRequest | Mapping[str, Any] | None = None,
    ) -> list[ContextFragment]:
        """One fragment for each node at a location, in order of first appearance.

        Without a request the deepest one stays. Contents change with depths; ids never do.
        """
        resolution = resolve_depths(
            as_fragments(fragments),
            self._rules,
            available=ContextBudget.of(budget).available_tokens,
            request=None if request is None else ContextRequest.of(request),
            renderings=self._renderings,
        )
        return list(resolution.kept)


def resolve_depths(
    fragments: Sequence[ContextFragment],
    rules: DepthRules,
    *,
    available: int,
    request: ContextRequest | None = None,
    renderings: RenderingSource | None = None,
    count: Count = estimate_tokens,
) -> Resolution:
    """Choose one rendering of each node at a location; see `DetailDepthResolver`."""
    choice = _Choice(rules, available, request, renderings if request else None, count)
    resolution = Resolution(tuple(fragments))
    if len({fragment.uko_node for fragment in fragments}) < len(fragments):
        resolution = _settled(fragments, choice)
    if choice.rerenders:
        kept = tuple(map(choice.rendered, resolution.kept))
        resolution = replace(resolution, kept=kept)
    return resolution


def _settled(candidates: Iterable[ContextFragment], choice: _Choice) -> Resolution:
    first: dict[Place, ContextFragment] = {}
    conflicts: dict[Place, list[ContextFragment]] = {}
    for fragment in candidates:
        where = place(fragment)
        if where not in first:
            first[where] = fragment
        elif where in conflicts:
            conflicts[where].append(fragment)
        else:
            conflicts[where] = [first[where], fragment]
    superseded: list[tuple[ContextFragment, str]] = []
    alternatives: dict[Place, list[ContextFragment]] = {}
    for where, group in conflicts.items():
        base = choice.among(group)
        first[where] = base
        others = without(group, base)
        superseded.extend((fragment, base.fragment_id) for fragment in others)
        alternatives[where] = sorted(others, key=preference)
    return Resolution(tuple(first.values()), tuple(superseded), alternatives)


class _Choice:
    def __init__(
        self,
        rules: DepthRules,
        available: int,
        request: ContextRequest | None,
        renderings: RenderingSource | None,
        count: Count,
    ) -> None:
        self._boost = rules.hot_tier_boost
        self._renderings = renderings
        self._count = count
        self._level = request.detail_level if request else None
        self._room: int | None = None
        if request and rules.budget_aware:
            self._room = available
        elif request and self._level is None:
            self._level = rules.default_depth
        self._container_room = int(available * rules.container_share)

    @property
    def rerenders(self) -> bool:
        """Whether other depths can be had than those of the fragments."""
        return self._renderings is not None

    def among(self, group: Sequence[ContextFragment]) -> ContextFragment:
        """The fragment of a node that stays."""
        at_most = [f for f in group if f.detail_depth <= self._target(f.tier)]
        if not at_most:
            return min(group, key=lambda f: (f.detail_depth, preference(f)))
        room = self._room
        fitting = [f for f in at_most if room is None or f.token_count <= room]
        return min(fitting or at_most, key=lambda f: (-f.detail_depth, preference(f)))

    def rendered(self, base: ContextFragment) -> ContextFragment:
        """A fragment as it will be read."""
        if self._renderings is None:
            return base
        if self._level is None:
            return self._whole(base, self._renderings)
        target = self._target(base.tier)
        if base.detail_depth == target:
            return base
        rendering = _nearest(self._renderings, base.uko_node, target)
        if rendering is None or not _nearer(rendering.detail_depth, base.detail_depth, target):
            return base
        return rerendered(base, rendering, count=self._count)

    def _target(self, tier: Tier) -> int:
        if self._level is None:
            return MAX_DEPTH
        return min(MAX_DEPTH, self._level + self._boost) if tier == "hot" else self._level

    def _whole(self, base: ContextFragment, renderings: RenderingSource) -> ContextFragment:
        if base.detail_depth == MAX_DEPTH:
            return base
        whole = renderings.at(base.uko_node, MAX_DEPTH)
        if whole is None or whole.detail_depth <= base.detail_depth:
            return base
        if tokens_of(whole, self._count) > self._container_room:
            return base
        return rerendered(base, whole, count=self._count)


def _nearest(renderings: RenderingSource, node: str, target: int) -> Rendering | None:
    found = renderings.at(node, target)
    if found is None and (depths := renderings.depths(node)):
        return renderings.at(node, depths[0])
    return found


def _nearer(depth: int, known: int, target: int) -> bool:
    """Whether one depth is better than another: deepest at or below the target, else shallowest."""
    if depth <= target:
        return known > target or depth > known
    return target < depth < known
