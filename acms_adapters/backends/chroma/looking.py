"""Looking further down a collection until enough of what is near is also wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from acms_adapters.backends.chroma.record import where
from acms_adapters.backends.chroma.table import Table
from acms_adapters.backends.vectors.index import Hydrate
from acms_adapters.backends.vectors.records import Vector
from acms_adapters.backends.vectors.search import Candidate, Wanted
from acms_adapters.models.hit import SearchHit


def those(kept: Mapping[str, SearchHit]) -> Hydrate:
    return lambda nodes: {node: kept[node] for node in nodes}


def looks(
    table: Table, query: Vector, *, wanted: Wanted, kept: dict[str, SearchHit] | None
) -> Iterator[list[Candidate]]:
    """Candidates until there are no more; Chroma filters once a first look did not do.

    Its conditions cost several times an unfiltered search, which mostly brings enough.
    """
    condition = None
    possible = where(wanted) if table.record.whole else None
    seen: set[str] = set()
    size = wanted.first_look
    while True:
        look = table.nearest(query, size, where=condition, kept=kept)
        yield [candidate for candidate in look if candidate[0] not in seen]
        if len(look) < size:
            return
        seen.update(node for node, _ in look)
        if condition == possible:
            size = wanted.next_look(size)
        condition = possible
