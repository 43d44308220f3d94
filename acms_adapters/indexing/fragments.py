"""Context fragments: renderings of a node at one or more depths."""

from __future__ import annotations

from collections.abc import Iterable

from acms_adapters.indexing.entries import Entry, each
from acms_adapters.indexing.report import Skip
from acms_adapters.models import ContextFragment


def read_fragments(fragments: Iterable[ContextFragment]) -> list[Entry | Skip]:
    """Fragments as entries: one for each node and place, with every depth that came (ruling F8).

    A node that comes from several places becomes several nodes, each with the place in its URI.

    Raises:
        TypeError: Something is no fragment.
    """
    groups: dict[tuple[str, str], dict[int, ContextFragment]] = {}
    skipped: list[Entry | Skip] = []
    for number, fragment in enumerate(each("fragments", fragments)):
        if not isinstance(fragment, ContextFragment):
            raise TypeError(f"number {number} is no ContextFragment: {fragment!r:.200}")
        if not fragment.content.strip():
            skipped.append(Skip(fragment.uko_node, "empty"))
            continue
        place = (fragment.uko_node, fragment.provenance.location)
        depths = groups.setdefault(place, {})
        if fragment.detail_depth in depths:
            skipped.append(Skip(fragment.uko_node, "given again later in the same call"))
        depths[fragment.detail_depth] = fragment
    first_place: dict[str, str] = {}
    for uri, location in groups:
        first_place.setdefault(uri, location)
    return [
        *(
            _entry(uri if first_place[uri] == location else f"{uri}#{location}", depths)
            for (uri, location), depths in groups.items()
        ),
        *skipped,
    ]


def _entry(uri: str, depths: dict[int, ContextFragment]) -> Entry:
    deepest = depths[max(depths)]
    title = deepest.metadata.get("title")
    return Entry(
        uri=uri,
        texts={depth: fragment.content for depth, fragment in depths.items()},
        searched_depth=deepest.detail_depth,
        metadata=deepest.metadata,
        resource_uri=deepest.provenance.resource_uri,
        location=deepest.provenance.location,
        resource_type=deepest.provenance.resource_type or "document",
        tier=deepest.tier,
        title=title if isinstance(title, str) else "",
        created_at=deepest.created_at,
    )
