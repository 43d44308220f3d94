"""Leaving out what lies outside a request's filters."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from acms_adapters.models import ContextFragment, ContextRequest, LedgerEntry, LeftOut
from acms_adapters.models.matching import in_scope, matches_metadata
from acms_adapters.models.surplus import restore_surplus
from acms_adapters.pipeline.eligibility import readable, relevant
from acms_adapters.pipeline.outcome import Outcome

Refusal = Callable[[ContextFragment], LedgerEntry | None]


def wanted(fragments: Iterable[ContextFragment], request: ContextRequest) -> Outcome:
    """Keep the fragments that have a text and meet every filter of a request.

    The filters are scope (of the node or its resource, ruling B5), resource types (none means
    all, ruling A4), metadata, tiers and the least relevance.
    """
    placed = _sorted(fragments, lambda f: _misplaced(f, request))
    served = readable(placed.kept, exclude_tiers=request.exclude_tiers or ())
    above = relevant(served.kept, min_relevance=request.min_relevance)
    return Outcome(above.kept, (*placed.left_out, *served.left_out, *above.left_out))


def inside(fragments: Iterable[ContextFragment], request: ContextRequest) -> Outcome:
    """Keep the fragments that lie in the scope of a request and have its kinds and metadata.

    Strategies are asked for nothing else, but not each of them looks. Where a record of a temporal
    store lies only that store can say, for it depends on what its plan is about.
    """
    if not (request.scope or request.resource_types or request.metadata_filter):
        return Outcome(tuple(fragments))
    anywhere = request.model_copy(update={"scope": None})
    return _sorted(fragments, lambda f: _misplaced(f, anywhere if _is_record(f) else request))


def _sorted(fragments: Iterable[ContextFragment], refusal_of: Refusal) -> Outcome:
    kept: list[ContextFragment] = []
    left_out: list[LedgerEntry] = []
    for fragment in fragments:
        refusal = refusal_of(fragment)
        if refusal is None:
            kept.append(fragment)
        else:
            left_out.append(refusal)
    return Outcome(tuple(kept), tuple(left_out))


def _misplaced(fragment: ContextFragment, request: ContextRequest) -> LedgerEntry | None:
    source = fragment.provenance
    places = (fragment.uko_node, source.resource_uri)
    if not any(in_scope(place, request.scope) for place in places):
        return LedgerEntry.of(fragment, LeftOut.OUT_OF_SCOPE)
    kinds = (source.resource_type or "document", fragment.metadata.get("resource_type"))
    if request.resource_types and not any(kind in request.resource_types for kind in kinds):
        return LedgerEntry.of(fragment, LeftOut.OUT_OF_SCOPE)
    filters = request.metadata_filter
    if filters and not matches_metadata(restore_surplus(fragment.metadata), filters):
        return LedgerEntry.of(fragment, LeftOut.OUT_OF_SCOPE)
    return None


def _is_record(fragment: ContextFragment) -> bool:
    kind = fragment.provenance.resource_type
    return kind in ("plan", "decision") and "plan_id" in fragment.metadata
