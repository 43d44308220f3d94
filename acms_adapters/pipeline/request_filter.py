"""Leaving out what lies outside a request's filters."""

from __future__ import annotations

from collections.abc import Iterable

from acms_adapters.models import ContextFragment, ContextRequest, LedgerEntry, LeftOut
from acms_adapters.models.matching import in_scope, matches_metadata
from acms_adapters.pipeline.outcome import Outcome


def wanted(fragments: Iterable[ContextFragment], request: ContextRequest) -> Outcome:
    """Keep the fragments that meet every filter of a request.

    The filters are scope (of the node or its resource, ruling B5), resource types (none means
    all, ruling A4), metadata, tiers and the least relevance.
    """
    kept: list[ContextFragment] = []
    left_out: list[LedgerEntry] = []
    for fragment in fragments:
        refusal = _refusal(fragment, request)
        if refusal is None:
            kept.append(fragment)
        else:
            left_out.append(refusal)
    return Outcome(tuple(kept), tuple(left_out))


def _refusal(fragment: ContextFragment, request: ContextRequest) -> LedgerEntry | None:
    least, source = request.min_relevance, fragment.provenance
    places = (fragment.uko_node, source.resource_uri)
    if not any(in_scope(place, request.scope) for place in places):
        return LedgerEntry.of(fragment, LeftOut.OUT_OF_SCOPE)
    kinds = (source.resource_type, fragment.metadata.get("resource_type"))
    if request.resource_types and not any(kind in request.resource_types for kind in kinds):
        return LedgerEntry.of(fragment, LeftOut.OUT_OF_SCOPE)
    if not matches_metadata(fragment.metadata, request.metadata_filter):
        return LedgerEntry.of(fragment, LeftOut.OUT_OF_SCOPE)
    if fragment.tier in (request.exclude_tiers or ()):
        return LedgerEntry.of(fragment, LeftOut.EXCLUDED_TIER)
    if least is not None and fragment.relevance_score < least:
        return LedgerEntry.of(
            fragment, LeftOut.BELOW_THRESHOLD, value=fragment.relevance_score, threshold=least
        )
    return None
