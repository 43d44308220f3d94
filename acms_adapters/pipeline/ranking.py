"""The orders that decide between fragments; the order of the input never does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from acms_adapters.models import TIERS, ContextFragment, FragmentProvenance, Tier

Scored = tuple[ContextFragment, float]
Place = tuple[str, str]

_HOTTEST_FIRST = {tier: rank for rank, tier in enumerate(TIERS)}


def place(fragment: ContextFragment) -> Place:
    """Node and location: what renderings of one text have in common (ruling F8)."""
    return (fragment.uko_node, fragment.provenance.location)


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
    scored: Sequence[Scored], *, tier_priority: Sequence[Tier] | None = None
) -> list[Scored]:
    """Sort as ruling F3 says.

    Tier where a priority is given (unnamed tiers last), score, relevance, deeper first, smaller
    first, node, content hash.
    """
    ranks = {tier: rank for rank, tier in enumerate(tier_priority or ())}
    nodes = Counter(fragment.uko_node for fragment, _ in scored)

    def key(item: Scored) -> tuple[Any, ...]:
        fragment, score = item
        node = fragment.uko_node
        # a text is hashed only where nothing before it can have told two fragments apart
        tie = (fragment.content_hash, fragment.provenance.location) if nodes[node] > 1 else ()
        return (
            ranks.get(fragment.tier, len(ranks)),
            -score,
            -fragment.relevance_score,
            -fragment.detail_depth,
            fragment.token_count,
            node,
            *tie,
        )

    return sorted(scored, key=key)
