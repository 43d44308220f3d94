"""Leaving out what a request does not want to read."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from acms_adapters.models import ContextFragment, LedgerEntry, LeftOut, Tier
from acms_adapters.pipeline.outcome import Outcome


def readable(
    fragments: Iterable[ContextFragment], *, exclude_tiers: Collection[Tier] = ()
) -> Outcome:
    """Leave out fragments without text and those of excluded tiers."""
    kept: list[ContextFragment] = []
    left_out: list[LedgerEntry] = []
    for fragment in fragments:
        content = fragment.content
        if not content or content.isspace():
            left_out.append(LedgerEntry.of(fragment, LeftOut.EMPTY))
        elif exclude_tiers and fragment.tier in exclude_tiers:
            left_out.append(LedgerEntry.of(fragment, LeftOut.EXCLUDED_TIER))
        else:
            kept.append(fragment)
    return Outcome(tuple(kept), tuple(left_out))


def relevant(fragments: tuple[ContextFragment, ...], *, min_relevance: float | None) -> Outcome:
    """Leave out fragments whose relevance lies below a bound."""
    if min_relevance is None:
        return Outcome(fragments)
    left_out = tuple(
        LedgerEntry.of(
            fragment,
            LeftOut.BELOW_THRESHOLD,
            value=fragment.relevance_score,
            threshold=min_relevance,
        )
        for fragment in fragments
        if fragment.relevance_score < min_relevance
    )
    return Outcome(tuple(f for f in fragments if f.relevance_score >= min_relevance), left_out)
