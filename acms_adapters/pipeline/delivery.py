"""What is taken of what a strategy delivers (rulings S3 and M7)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from acms_adapters.errors import StrategyError
from acms_adapters.models import (
    TIERS,
    ContextFragment,
    FragmentProvenance,
    LedgerEntry,
    LeftOut,
)
from acms_adapters.models.base import as_utc, changed
from acms_adapters.models.fragment import detached
from acms_adapters.models.scores import rescale


class DeliveryError(StrategyError):
    """A strategy delivered what is no list of fragments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What one strategy brought.

    Attributes:
        kept: Within its share, by relevance, then node.
        reserve: What it ranked beyond its share, in the same order.
        left_out: The rest.
        total: How many fragments it ranked: what it says, or what it delivered where that is more.
        stats: The figures that came with the delivery.
    """

    kept: tuple[ContextFragment, ...] = ()
    reserve: tuple[ContextFragment, ...] = ()
    left_out: tuple[LedgerEntry, ...] = ()
    total: int = 0
    stats: Mapping[str, Any] = field(default_factory=dict)


def receive(
    delivered: Any,
    *,
    strategy: str,
    tokens: int,
    max_fragments: int,
    reserve: bool = True,
    stop: Callable[[], bool] = lambda: False,
) -> Delivery:
    """Check, rank, cut and stamp what a strategy returned.

    Args:
        delivered: Any iterable of fragments; a lazy one is read here. It may carry `total`, how
            many were ranked before any limit, and `stats`, figures of the strategy's own.
        strategy: Its name, written into the provenance of each fragment with its relevance.
        tokens: Its share.
        max_fragments: What is ranked lower than that many is left out.
        reserve: Keep what lies beyond the share as reserve instead of leaving it out.
        stop: Asked before each fragment of a lazy iterable, which may be endless; True ends the
            reading.

    Raises:
        DeliveryError: Something else than fragments.
    """
    fragments = _read(delivered, stop)
    scores = rescale([fragment.relevance_score for fragment in fragments])
    ranked = sorted(zip(scores, fragments, strict=True), key=_rank)
    kept: list[ContextFragment] = []
    beyond: list[ContextFragment] = []
    left_out = [
        LedgerEntry.of(fragment, LeftOut.BEYOND_LIMIT, strategy=strategy)
        for _, fragment in ranked[max_fragments:]
    ]
    left = tokens
    for score, fragment in ranked[:max_fragments]:
        if fragment.token_count <= left:
            left -= fragment.token_count
            kept.append(_stamp(fragment, strategy, score))
        elif reserve:
            beyond.append(_stamp(fragment, strategy, score))
        else:
            left_out.append(
                LedgerEntry.of(
                    fragment,
                    LeftOut.BEYOND_SHARE,
                    strategy=strategy,
                    needed=fragment.token_count,
                    had=left,
                )
            )
    return Delivery(
        kept=tuple(kept),
        reserve=tuple(beyond),
        left_out=tuple(left_out),
        total=max(len(fragments), _total(delivered)),
        stats=_stats(delivered),
    )


def late(delivery: Delivery, strategy: str) -> list[LedgerEntry]:
    """Account for a delivery that came too late to be used."""
    return [
        *(
            LedgerEntry.of(f, LeftOut.LATE, strategy=strategy)
            for f in (*delivery.kept, *delivery.reserve)
        ),
        *(entry.model_copy(update={"reason": LeftOut.LATE}) for entry in delivery.left_out),
    ]


def _total(delivered: Any) -> int:
    total = getattr(delivered, "total", None)
    return total if isinstance(total, int) and not isinstance(total, bool) else 0


def _stats(delivered: Any) -> dict[str, Any]:
    stats = getattr(delivered, "stats", None)
    return {str(key): value for key, value in stats.items()} if isinstance(stats, Mapping) else {}


def _read(delivered: Any, stop: Callable[[], bool]) -> list[ContextFragment]:
    if inspect.iscoroutine(delivered):
        delivered.close()
        raise DeliveryError("assemble returned a coroutine; a coroutine method is called aassemble")
    if isinstance(delivered, str | bytes) or not isinstance(delivered, Iterable):
        raise DeliveryError(f"expected a list of ContextFragment, not {_short(delivered)}")
    fragments: list[ContextFragment] = []
    lazy = not isinstance(delivered, Sized)
    for item in delivered:
        if lazy and stop():
            break
        if not _is_whole(item):
            raise DeliveryError(
                f"item {len(fragments)} is no valid ContextFragment: {_short(item)}"
            )
        fragments.append(item)
    return fragments


def _is_whole(item: Any) -> bool:
    # fragments made without validation can hold anything
    if not isinstance(item, ContextFragment):
        return False
    fields = vars(item)
    return (
        isinstance(fields.get("uko_node"), str)
        and isinstance(fields.get("content"), str)
        and isinstance(fields.get("relevance_score"), int | float)
        and isinstance(fields.get("token_count"), int)
        and fields["token_count"] >= 0
        and isinstance(fields.get("detail_depth"), int)
        and fields.get("tier") in TIERS
        and isinstance(fields.get("created_at"), datetime)
        and isinstance(fields.get("provenance"), FragmentProvenance)
        and isinstance(fields.get("metadata"), dict)
    )


def _rank(scored: tuple[float, ContextFragment]) -> tuple[float, str, int, str]:
    score, fragment = scored
    return (-score, fragment.uko_node, -fragment.detail_depth, fragment.content)


def _stamp(fragment: ContextFragment, strategy: str, score: float) -> ContextFragment:
    """The fragment with its strategy and score, shared neither with strategies nor callers."""
    provenance, created_at = fragment.provenance, fragment.created_at
    changes: dict[str, Any] = {}
    if (provenance.strategy, provenance.score, fragment.relevance_score) != (
        strategy,
        score,
        score,
    ):
        stamped = changed(provenance, strategy=strategy, score=score)
        changes = {"provenance": stamped, "relevance_score": score}
    if created_at.tzinfo is None:  # only a copy can have such a time (ruling M8)
        changes["created_at"] = as_utc(created_at)
    return detached(fragment, **changes)


def _short(value: Any) -> str:
    try:
        shown = repr(value)
    except Exception:
        shown = "something without a repr"
    return f"{type(value).__name__} {shown[:80]}"
