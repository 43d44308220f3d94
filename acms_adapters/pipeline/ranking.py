"""The orders that decide between fragments; the order of the input never does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from typing import Any

from acms_adapters.models import TIERS, ContextFragment, FragmentProvenance, Tier, content_hash

Scored = tuple[ContextFragment, float]
Place = tuple[str, str]

_HOTTEST_FIRST = {tier: rank for rank, tier in enumerate(TIERS)}


def place(fragment: ContextFragment) -> Place:
    """Node and location: what renderings of one text have in common (ruling F8)."""
    return (fragment.uko_node, fragment.provenance.location)


def without(group: Sequence[ContextFragment], one: ContextFragment) -> list[ContextFragment]:
    """A group without one occurrence of an object, which may have been passed twice."""
    spared = next(index for index, fragment in enumerate(group) if fragment is one)
    return [*group[:spared], *group[spared + 1 :]]


def check_tiers(tiers: Collection[str], setting: str) -> None:
    """Refuse unknown or repeated tiers.

    Raises:
        ValueError: There are some.
    """
    if len(set(tiers)) != len(tiers) or not set(tiers) <= set(TIERS):
        raise ValueError(f"{setting} takes each of {', '.join(TIERS)} at most once, not {tiers!r}")


def preference(fragment: ContextFragment) -> tuple[Any, ...]:
    """Sort key among renderings of one text, the one to keep first (ruling F1)."""
    return (
        -fragment.relevance_score,
        _HOTTEST_FIRST[fragment.tier],
        -fragment.created_at.timestamp(),
        fragment.content,
        -fragment.detail_depth,
        fragment.token_count,
        provenance_key(fragment.provenance),
        fragment.fragment_id,
    )


def provenance_key(provenance: FragmentProvenance) -> tuple[Any, ...]:
    """What tells one provenance from another, merged ones aside; sortable."""
    score = provenance.score
    return (
        provenance.resource_uri,
        provenance.location,
        provenance.resource_type,
        provenance.strategy or "",
        -1.0 if score is None else score,
    )


def packing_order(
    fragments: Sequence[ContextFragment],
    scores: Sequence[float],
    *,
    tier_priority: Sequence[Tier] | None = None,
) -> list[int]:
    """Places of fragments in the order that ruling F3 says.

    Tier where a priority is given (unnamed tiers last), score, relevance, deeper first, smaller
    first, node, content hash.
    """
    ordered: list[int] = []
    falling = [-score for score in scores]
    for served in _by_tier(fragments, tier_priority):
        differing = len({scores[place] for place in served})
        served.sort(key=falling.__getitem__)
        # most scores differ, so that a long key for each fragment would be wasted
        if differing == len(served):
            ordered.extend(served)
        else:
            for _, equals in groupby(served, key=scores.__getitem__):
                ordered.extend(_tied(list(equals), fragments))
    return ordered


def _tied(equals: list[int], fragments: Sequence[ContextFragment]) -> Sequence[int]:
    if len(equals) == 1:
        return equals
    nodes = Counter([fragments[place].uko_node for place in equals])

    def key(place: int) -> tuple[Any, ...]:
        fragment = fragments[place]
        node = fragment.uko_node
        known = (-fragment.relevance_score, -fragment.detail_depth, fragment.token_count, node)
        if nodes[node] == 1:
            return known
        # a text is hashed only where nothing before it can have told two fragments apart
        return (*known, content_hash(fragment.content), fragment.provenance.location)

    return sorted(equals, key=key)


def _by_tier(
    fragments: Sequence[ContextFragment], tier_priority: Sequence[Tier] | None
) -> Iterable[list[int]]:
    if not tier_priority:
        return [list(range(len(fragments)))]
    served: dict[str, list[int]] = {tier: [] for tier in tier_priority}
    rest: list[int] = []
    for place, fragment in enumerate(fragments):
        served.get(fragment.tier, rest).append(place)
    return [*served.values(), rest]
