"""What backends answer, checked: anybody's backend may be in the set.

An answer is cut to what was asked for, because it may be endless; something else than hits or
edges is an error of that backend, and not of whoever works with it later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from typing import Any

from acms_adapters.errors import StrategyError
from acms_adapters.models import TIERS, Edge, FragmentProvenance, SearchHit
from acms_adapters.models.fragment import MAX_DEPTH

_SHOWN = 80


def hits(answer: Any, *, most: int, source: str) -> list[SearchHit]:
    """The hits of an answer, at most so many.

    Raises:
        StrategyError: Something in it is no hit.
    """
    return [_checked(item, _is_hit, "SearchHit", source) for item in _cut(answer, most, source)]


def edges(answer: Any, *, most: int, source: str = "graph") -> list[Edge]:
    """The edges of an answer, at most so many.

    Raises:
        StrategyError: Something in it is no edge.
    """
    return [_checked(item, _is_edge, "Edge", source) for item in _cut(answer, most, source)]


def _cut(answer: Any, most: int, source: str) -> Iterable[Any]:
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise StrategyError(f"the {source} backend answered {_short(answer)}, which is no list")
    return islice(answer, most)


def _checked(item: Any, is_right: Callable[[Any], bool], kind: str, source: str) -> Any:
    if not is_right(item):
        raise StrategyError(f"the {source} backend answered {_short(item)}, no valid {kind}")
    return item


def _is_edge(item: Any) -> bool:
    return isinstance(item, Edge) and _is_whole_edge(item)


def _is_hit(item: Any) -> bool:
    return isinstance(item, SearchHit) and _is_whole_hit(item)


# dataclasses do not check what they are made of


def _is_whole_edge(item: Any) -> bool:
    return (
        isinstance(item.source, str)
        and isinstance(item.target, str)
        and isinstance(item.relation, str)
    )


def _is_whole_hit(item: Any) -> bool:
    return (
        isinstance(item.uko_node, str)
        and bool(item.uko_node)
        and isinstance(item.content, str | None)
        and isinstance(item.score, int | float)
        and isinstance(item.detail_depth, int)
        and 0 <= item.detail_depth <= MAX_DEPTH
        and (item.token_count is None or _is_count(item.token_count))
        and isinstance(item.metadata, dict)
        and isinstance(item.provenance, FragmentProvenance | None)
        and item.tier in TIERS
        and isinstance(item.created_at, datetime | None)
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _short(value: Any) -> str:
    try:
        shown = repr(value)
    except Exception:
        shown = "something without a repr"
    return f"{type(value).__name__} {shown[:_SHOWN]}"
