"""Picking hits out of candidates: filters, bounds, enough of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acms_adapters.backends.vectors.index import Hydrate
from acms_adapters.errors import RequestError
from acms_adapters.models.hit import SearchHit
from acms_adapters.models.matching import (
    check_metadata,
    check_strings,
    in_scope,
    matches_metadata,
)

Candidate = tuple[str, float]
"""A node and its cosine."""

_TOLERANCE = 1e-6  # cosines of float32 vectors are no better
_DIGITS = 6
_FIRST_LOOK = 64
_LOOK_FURTHER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a search may answer with.

    Raises:
        RequestError: A bound outside its range, no list of strings, or no mapping.
    """

    top_k: int
    min_similarity: float = 0.0
    scope: Sequence[str] | None = None
    resource_types: Sequence[str] | None = None
    metadata_filter: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.top_k < 0:
            raise RequestError(f"top_k must be a whole number >= 0, not {self.top_k!r}")
        if not -1.0 <= self.min_similarity <= 1.0:  # neither is NaN
            raise RequestError(
                f"min_similarity must be a cosine in [-1, 1], not {self.min_similarity!r}"
            )
        check_strings("scope", self.scope)
        check_strings("resource_types", self.resource_types)
        check_metadata(self.metadata_filter)

    @property
    def filters(self) -> bool:
        """Whether anything but nearness decides."""
        return bool(self.scope or self.resource_types or self.metadata_filter)

    @property
    def first_look(self) -> int:
        """How many candidates to look at first."""
        return max(_FIRST_LOOK, _LOOK_FURTHER * self.top_k) if self.filters else self.top_k

    def next_look(self, size: int) -> int:
        """How many to look at when `size` did not do."""
        return max(_FIRST_LOOK, _LOOK_FURTHER * size)

    def near(self, cosine: float) -> bool:
        """Whether a candidate is near enough."""
        return cosine >= self.min_similarity - _TOLERANCE

    def is_type(self, resource_type: str) -> bool:
        """Whether a resource is of a wanted type."""
        return not self.resource_types or resource_type in self.resource_types

    def holds(self, uri: str) -> bool:
        """Whether a node or its resource lies in scope; one of them is enough."""
        return in_scope(uri, self.scope)

    def accepts(self, hit: SearchHit) -> bool:
        """Whether a hit lies in scope, is of a wanted type and has the wanted metadata."""
        origin = hit.provenance
        return (
            self.is_type(origin.resource_type if origin else "")
            and (
                self.holds(hit.uko_node) or (origin is not None and self.holds(origin.resource_uri))
            )
            and matches_metadata(hit.metadata, self.metadata_filter)
        )


def collect(
    looks: Iterable[Sequence[Candidate]], hydrate: Hydrate, *, wanted: Wanted
) -> list[tuple[SearchHit, float]]:
    """Hits with their cosines, nearest first, as soon as there are enough.

    Args:
        looks: Candidates, nearest first; later looks hold only further or new ones.
        hydrate: Gives the nodes that are there.
        wanted: What decides.
    """
    found: dict[str, tuple[SearchHit, float]] = {}
    for look in looks:
        near = [candidate for candidate in look if wanted.near(candidate[1])]
        known = hydrate([node for node, _ in near]) if near else {}
        for node, cosine in near:
            hit = known.get(node)
            if hit is not None and wanted.accepts(hit):
                found[node] = (hit, cosine)
        if len(found) >= wanted.top_k or len(near) < len(look):
            break
    ranked = rank((node, cosine) for node, (_, cosine) in found.items())
    return [found[node] for node, _ in ranked[: wanted.top_k]]


def scored(hits: Sequence[tuple[SearchHit, float]], scores: Sequence[float]) -> list[SearchHit]:
    """The hits with their relevance."""
    return [hit.rated(score) for (hit, _), score in zip(hits, scores, strict=True)]


def rank(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Nearest first; what float32 cannot tell apart goes by node."""
    return sorted(candidates, key=lambda candidate: (-round(candidate[1], _DIGITS), candidate[0]))
