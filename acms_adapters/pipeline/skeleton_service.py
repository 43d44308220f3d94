"""Compression by ratio: removes a fraction of a plan's tokens (rulings K1 and K2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from acms_adapters.errors import RequestError
from acms_adapters.models import ContextFragment, LedgerEntry, LeftOut, SkeletonMetadata
from acms_adapters.models.fragment import detached

DEFAULT_SKELETON_RATIO = 0.3


@dataclass(frozen=True, slots=True)
class SkeletonResult:
    """What a compression kept; unpacks as ``fragments, metadata``.

    Attributes:
        fragments: Copies of the kept fragments by falling relevance, then fragment id.
        metadata: Receipt of the compression.
        left_out: The other fragments, in the same order.
    """

    fragments: tuple[ContextFragment, ...]
    metadata: SkeletonMetadata
    left_out: tuple[LedgerEntry, ...] = ()

    def __iter__(self) -> Iterator[tuple[ContextFragment, ...] | SkeletonMetadata]:
        """The fragments, then the metadata."""
        return iter((self.fragments, self.metadata))


class SkeletonCompressorService:
    """Compresses a plan's context for its child plans. Stateless."""

    def compress(
        self, fragments: Iterable[ContextFragment], skeleton_ratio: float | None = None
    ) -> SkeletonResult:
        """Remove at least the fraction `skeleton_ratio` of the tokens, least relevant first.

        What does not fit is skipped and smaller fragments behind it may still be kept. The most
        relevant fragment is always kept, even when it alone is larger than what may stay.

        Args:
            fragments: The plan's context, in any order.
            skeleton_ratio: 0 keeps everything, 1 the most relevant fragment alone; None is
                `DEFAULT_SKELETON_RATIO`.

        Raises:
            ValueError: A ratio outside [0, 1] or that is no number, or what is no valid fragment.
        """
        ratio = exact_ratio(DEFAULT_SKELETON_RATIO if skeleton_ratio is None else skeleton_ratio)
        ranked = sorted(_checked(fragments), key=lambda f: (-f.relevance_score, f.fragment_id))
        original = sum(fragment.token_count for fragment in ranked)
        kept, left_out = _keep(ranked, ratio, original * (1 - ratio))
        metadata = receipt(kept, ratio=float(ratio), original_tokens=original)
        return SkeletonResult(tuple(map(detached, kept)), metadata, tuple(left_out))


def exact_ratio(ratio: Any) -> Fraction:
    """The decimal that a ratio was written as: 0.3 is 3/10, not its binary neighbour.

    Raises:
        RequestError: It is no number in [0, 1].
    """
    number = isinstance(ratio, Real | Decimal) and not isinstance(ratio, bool)
    if not number or not 0.0 <= float(ratio) <= 1.0:
        raise RequestError(f"skeleton_ratio must be a number from 0 to 1, not {ratio!r}")
    return Fraction(ratio if isinstance(ratio, Rational | Decimal) else repr(float(ratio)))


def decision_ids(fragments: Iterable[ContextFragment]) -> tuple[str, ...]:
    """Ids of the decisions that fragments tell of, each once, in their order (ruling M1)."""
    ids = (fragment.metadata.get("decision_id") for fragment in fragments)
    return tuple(dict.fromkeys(str(name) for name in ids if name))


def receipt(
    kept: Sequence[ContextFragment], *, ratio: float, original_tokens: int
) -> SkeletonMetadata:
    """Write down a compression."""
    return SkeletonMetadata(
        ratio=ratio,
        original_tokens=original_tokens,
        compressed_tokens=sum(fragment.token_count for fragment in kept),
        source_decision_ids=decision_ids(kept),
    )


def _checked(fragments: Iterable[ContextFragment]) -> Iterator[ContextFragment]:
    for fragment in fragments:
        if not isinstance(fragment, ContextFragment):
            raise RequestError(f"expected ContextFragment objects, not {fragment!r}")
        # a fragment made by model_copy or model_construct was never validated
        if not 0.0 <= fragment.relevance_score <= 1.0 or fragment.token_count < 0:
            raise RequestError(
                f"fragment {fragment.fragment_id!r} needs a relevance from 0 to 1 and at least 0 "
                f"tokens, not {fragment.relevance_score!r} and {fragment.token_count!r}"
            )
        yield fragment


def _keep(
    ranked: list[ContextFragment], ratio: Fraction, budget: Fraction | int
) -> tuple[list[ContextFragment], list[LedgerEntry]]:
    kept: list[ContextFragment] = []
    left_out: list[LedgerEntry] = []
    room = math.floor(budget)  # tokens are whole
    only_one = ratio >= 1
    for fragment in ranked:
        tokens = fragment.token_count
        if not kept or (tokens <= room and not only_one):
            kept.append(fragment)
            room -= tokens
            continue
        had = max(0, room)
        left_out.append(LedgerEntry.of(fragment, LeftOut.OVER_BUDGET, needed=tokens, had=had))
    return kept, left_out
