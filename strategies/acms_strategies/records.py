"""Records of the temporal store: what they are about, and what is linked to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from acms_adapters.models import ContextRequest, SearchHit
from acms_adapters.models.matching import matches_metadata
from acms_adapters.protocols import BackendSet, GraphBackend
from acms_strategies.hits import text_of
from acms_strategies.walk import walk
from acms_strategies.words import keywords, overlaps

DECAY = 0.8
"""What remains of a record's relevance after a hop to what is linked to it."""

HOPS = 1
"""Hops from a record for a request that names no breadth."""


def is_wanted(hit: SearchHit, request: ContextRequest) -> bool:
    """Whether a record is of a kind and has the metadata that the request wants."""
    kinds = request.resource_types
    kind = hit.provenance.resource_type if hit.provenance else ""
    return (not kinds or kind in kinds) and matches_metadata(hit.metadata, request.metadata_filter)


def mean(one: float, other: float | None) -> float:
    """The mean of two parts of a relevance; the first alone where the other is not known."""
    return one if other is None else (one + other) / 2.0


def aboutness(
    hits: Sequence[SearchHit],
    request: ContextRequest,
    backends: BackendSet,
    *,
    focus: Iterable[str] = (),
) -> dict[str, float]:
    """How much each record is about the question or the focus, 0 to 1.

    The better of two: what of the keywords stands in the record, and its nearness to the focus
    nodes in the graph. Empty when there is neither a question nor a focus.
    """
    words = keywords(request)
    near = _nearness(request, backends.graph, focus)
    if not words and not near:
        return {}
    said = overlaps({hit.uko_node: _words_of(hit, backends) for hit in hits}, words)
    return {
        hit.uko_node: max(
            said[hit.uko_node],
            *(near.get(node, 0.0) for node in (hit.uko_node, *nodes_of(hit))),
        )
        for hit in hits
    }


def is_record(hit: SearchHit) -> bool:
    """Whether it is a plan or a decision of a temporal store, and not something of the present.

    The graph has them too, whatever their time and plan; which of them count only the temporal
    store can say (ruling T2).
    """
    is_plan = hit.provenance is not None and hit.provenance.resource_type == "plan"
    return is_plan or "decision_id" in hit.metadata


def nodes_of(hit: SearchHit) -> tuple[str, ...]:
    """The nodes that a record says it is about."""
    nodes = hit.metadata.get("nodes")
    if not isinstance(nodes, list | tuple):
        return ()
    return tuple(node for node in nodes if isinstance(node, str) and node)


def related(
    graph: GraphBackend, records: Mapping[str, tuple[SearchHit, float]], request: ContextRequest
) -> dict[str, float]:
    """Nodes linked to records, with the best record's relevance less `DECAY` for each hop.

    Args:
        records: Each record's node with the record and its relevance.
    """
    start: dict[str, float] = {}
    for node, (hit, relevance) in records.items():
        start[node] = max(relevance, start.get(node, 0.0))
        for about in nodes_of(hit):
            start[about] = max(DECAY * relevance, start.get(about, 0.0))
    walked = walk(
        graph,
        start,
        breadth=HOPS if request.breadth is None else request.breadth,
        depth=request.depth or 0,
        decay=DECAY,
        scope=request.scope,
    )
    return {node: reach for node, reach in walked.reach.items() if node not in records}


def _words_of(hit: SearchHit, backends: BackendSet) -> str:
    return f"{hit.metadata.get('title') or ''}\n{text_of(hit, backends)}"


def _nearness(
    request: ContextRequest, graph: GraphBackend | None, focus: Iterable[str]
) -> dict[str, float]:
    start = dict.fromkeys(focus, 1.0)
    if graph is None or not start:
        return start
    breadth = HOPS if request.breadth is None else request.breadth
    return walk(graph, start, breadth=breadth, depth=0, decay=DECAY, scope=request.scope).reach
