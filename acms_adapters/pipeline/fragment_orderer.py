"""The order in which fragments are read."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

from acms_adapters.models import TIERS, ContextFragment
from acms_adapters.models.fragment import as_fragments

OrderStrategy = Literal[
    "relevance", "recency", "tier-relevance", "custom", "edges", "cache-stable", "as-given"
]
OrderKey = Callable[[ContextFragment], Any]

_RANKS = {tier: rank for rank, tier in enumerate(TIERS)}


class FragmentOrderer:
    """Puts fragments in reading order.

    Args:
        strategy: `relevance`, `recency` or `tier-relevance`; `edges` puts the strongest at both
            ends and the weakest in the middle; `cache-stable` begins with what the previous
            payload held, in its order; `custom` sorts by `key`; `as-given` leaves the order.
        key: Sort key for `custom`, ascending.
        previous: Fragments of the previous payload, for `cache-stable`.
    """

    def __init__(
        self,
        strategy: OrderStrategy = "tier-relevance",
        *,
        key: OrderKey | None = None,
        previous: Iterable[ContextFragment] = (),
    ) -> None:
        self._strategy = _checked(strategy, key)
        self._key = key
        self._previous = as_fragments(previous, "previous")

    def order(
        self, fragments: Iterable[ContextFragment], strategy: OrderStrategy | None = None
    ) -> list[ContextFragment]:
        """The same fragments in reading order."""
        return order(
            as_fragments(fragments),
            self._strategy if strategy is None else strategy,
            key=self._key,
            previous=self._previous,
        )


def order(
    fragments: Sequence[ContextFragment],
    strategy: OrderStrategy,
    *,
    key: OrderKey | None = None,
    previous: Sequence[ContextFragment] = (),
) -> list[ContextFragment]:
    """Put fragments in reading order; see `FragmentOrderer`.

    Ties are broken by tier, relevance, node and text, so that the input's order decides only for
    `as-given` and between equal keys of `custom`.

    Raises:
        ValueError: `strategy` is unknown, or is `custom` without a key.
    """
    _checked(strategy, key)
    if strategy == "as-given":
        return list(fragments)
    if strategy == "custom" and key is not None:
        return sorted(fragments, key=key)
    if strategy == "cache-stable":
        return _after(previous, _sorted(fragments, _SORT_KEYS["tier-relevance"]))
    ordered = _sorted(fragments, _SORT_KEYS[strategy])
    return _to_edges(ordered) if strategy == "edges" else ordered


def _by_tier(fragment: ContextFragment) -> tuple[Any, ...]:
    return (_RANKS[fragment.tier], -fragment.relevance_score)


def _by_relevance(fragment: ContextFragment) -> tuple[Any, ...]:
    return (-fragment.relevance_score, _RANKS[fragment.tier])


def _by_recency(fragment: ContextFragment) -> tuple[Any, ...]:
    return (-fragment.created_at.timestamp(), *_by_tier(fragment))


_SORT_KEYS: dict[str, Callable[[ContextFragment], tuple[Any, ...]]] = {
    "relevance": _by_relevance,
    "recency": _by_recency,
    "tier-relevance": _by_tier,
    "edges": _by_relevance,
}


def _sorted(
    fragments: Iterable[ContextFragment], key: Callable[[ContextFragment], tuple[Any, ...]]
) -> list[ContextFragment]:
    nodes = Counter(fragment.uko_node for fragment in fragments)

    def full(fragment: ContextFragment) -> tuple[Any, ...]:
        node = fragment.uko_node
        tie = (fragment.provenance.location, fragment.content) if nodes[node] > 1 else ()
        return (*key(fragment), node, *tie)

    return sorted(fragments, key=full)


def _to_edges(ranked: list[ContextFragment]) -> list[ContextFragment]:
    return [*ranked[::2], *reversed(ranked[1::2])]


def _after(
    previous: Sequence[ContextFragment], ordered: list[ContextFragment]
) -> list[ContextFragment]:
    waiting: dict[tuple[Any, ...], deque[int]] = {}
    for index, fragment in enumerate(ordered):
        waiting.setdefault(_read_as(fragment), deque()).append(index)
    stable = [same.popleft() for fragment in previous if (same := waiting.get(_read_as(fragment)))]
    rest = set(range(len(ordered))).difference(stable)
    return [ordered[index] for index in (*stable, *sorted(rest))]


def _read_as(fragment: ContextFragment) -> tuple[Any, ...]:
    """All that shows in the text: equal parts are equal byte for byte."""
    place = fragment.provenance.location
    return (fragment.uko_node, place, fragment.detail_depth, fragment.content)


def _checked(strategy: OrderStrategy, key: OrderKey | None) -> OrderStrategy:
    if strategy not in get_args(OrderStrategy):
        names = ", ".join(get_args(OrderStrategy))
        raise ValueError(f"unknown order {strategy!r} (known: {names})")
    if strategy == "custom" and key is None:
        raise ValueError("the order 'custom' needs a key: a function from a fragment to a sort key")
    return strategy
