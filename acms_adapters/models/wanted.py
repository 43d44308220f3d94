"""What a search of a framework's store was told to find."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from acms_adapters.models.hit import SearchHit
from acms_adapters.models.matching import in_scope, matches_metadata
from acms_adapters.models.surplus import restore_surplus

MOST_ASKED = 10_000
"""Most hits a store is asked for while a filter lets too few of them pass."""

_GROWTH = 4

Hit = TypeVar("Hit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Filters that are applied to what comes back (ruling B5).

    Attributes:
        scope: Prefixes of a node or its resource.
        resource_types: Kinds of resource.
        metadata: Values that metadata must have.
    """

    scope: Sequence[str] | None = None
    resource_types: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None

    def __bool__(self) -> bool:
        """Whether anything is kept out."""
        return bool(self.scope or self.resource_types or self.metadata)

    def admits(self, hit: SearchHit) -> bool:
        """Whether a hit passes."""
        origin = hit.provenance
        resource, kind = (origin.resource_uri, origin.resource_type) if origin else ("", "")
        return (
            (in_scope(hit.uko_node, self.scope) or in_scope(resource, self.scope))
            and (not self.resource_types or kind in self.resource_types)
            and matches_metadata(restore_surplus(hit.metadata), self.metadata)
        )


def find_enough(count: int, ask: Callable[[int], tuple[list[Hit], bool]]) -> list[Hit]:
    """Ask for more and more until enough pass, so that no filter is emptied by better hits.

    Args:
        count: How many are wanted.
        ask: From how many are asked for to those that pass, and whether more could come.
    """
    asked = count
    while True:
        passing, has_more = ask(asked)
        if len(passing) >= count or not has_more or asked >= MOST_ASKED:
            return passing[:count]
        asked = min(MOST_ASKED, asked * _GROWTH)
