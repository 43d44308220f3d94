"""LlamaIndex's metadata filters, whatever the store behind can filter by itself."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from acms_adapters.models import SearchHit
from acms_adapters.models.surplus import restore_surplus
from acms_adapters.models.wanted import find_enough
from acms_adapters.pipeline import ACMSPipeline
from acms_adapters.protocols import BackendSet

Keep = Callable[[Mapping[str, Any]], bool]

_USUAL = 20  # what a backend gives when no number is named

_COMPARE: dict[FilterOperator, Callable[[Any, Any], bool]] = {
    FilterOperator.EQ: operator.eq,
    FilterOperator.NE: operator.ne,
    FilterOperator.GT: operator.gt,
    FilterOperator.LT: operator.lt,
    FilterOperator.GTE: operator.ge,
    FilterOperator.LTE: operator.le,
    FilterOperator.IN: lambda has, wanted: has in wanted,
    FilterOperator.NIN: lambda has, wanted: has not in wanted,
    FilterOperator.ANY: lambda has, wanted: any(one in has for one in wanted),
    FilterOperator.ALL: lambda has, wanted: all(one in has for one in wanted),
    FilterOperator.CONTAINS: lambda has, wanted: wanted in has,
    FilterOperator.TEXT_MATCH: lambda has, wanted: str(wanted) in has,
    FilterOperator.TEXT_MATCH_INSENSITIVE: lambda has, wanted: (
        str(wanted).casefold() in has.casefold()
    ),
}
_WITHOUT_VALUE = (FilterOperator.NE, FilterOperator.NIN)


def matches(metadata: Mapping[str, Any], filters: MetadataFilters) -> bool:
    """Whether metadata pass, nested filters included.

    What is not there passes ``!=`` and ``nin`` alone, and values that cannot be compared pass
    nothing.
    """
    found = (
        matches(metadata, one) if isinstance(one, MetadataFilters) else _passes(metadata, one)
        for one in filters.filters
    )
    if filters.condition == FilterCondition.OR:
        return any(found) or not filters.filters
    if filters.condition == FilterCondition.NOT:
        return not any(found)
    return all(found)


def _passes(metadata: Mapping[str, Any], wanted: MetadataFilter) -> bool:
    has = metadata.get(wanted.key)
    if wanted.operator == FilterOperator.IS_EMPTY:
        return has is None or has in ("", [])
    if has is None:
        return wanted.operator in _WITHOUT_VALUE
    try:
        return bool(_COMPARE[wanted.operator](has, wanted.value))
    except (TypeError, AttributeError):
        return False


def filtered(pipeline: ACMSPipeline, filters: MetadataFilters | None) -> ACMSPipeline:
    """The pipeline over backends that find only what passes.

    Circuit breakers and caches are shared with the given one, which stays as it is.
    """
    if filters is None or not filters.filters:
        return pipeline
    narrowed = copy.copy(pipeline)
    narrowed.backends = narrow(
        pipeline.backends, lambda metadata: matches(restore_surplus(metadata), filters)
    )
    return narrowed


def narrow(backends: BackendSet, keep: Keep) -> BackendSet:
    """Backends whose hits all pass."""
    there = {name: getattr(backends, name) for name in ("text", "vector", "graph", "temporal")}
    return backends.with_(
        **{name: _narrowed(backend, keep) for name, backend in there.items() if backend is not None}
    )


def _narrowed(backend: Any, keep: Keep) -> Any:
    """A backend with the methods of the given one, and no others, that finds what passes.

    Asynchronous twins are left out: they would let everything pass.
    """
    methods: dict[str, Any] = {}
    for name, limit in _SEARCHES.items():
        if (search := getattr(backend, name, None)) is not None:
            methods[name] = partial(_searched, search, keep, limit)
    for name in _LISTS:
        if (find := getattr(backend, name, None)) is not None:
            methods[name] = partial(_listed, find, keep)
    for name in _OTHERS:
        if (method := getattr(backend, name, None)) is not None:
            methods[name] = method
    return SimpleNamespace(**methods)


_SEARCHES = {"search": "max_results", "similarity_search": "top_k", "search_text": "top_k"}
_LISTS = ("get", "query_by_tier")
_OTHERS = ("rate", "neighbors", "resolve", "sharing", "record", "archive", "plan", "ancestors")


def _listed(
    find: Callable[..., Sequence[SearchHit]], keep: Keep, *args: Any, **options: Any
) -> list[SearchHit]:
    return [hit for hit in find(*args, **options) if keep(hit.metadata)]


def _searched(
    search: Callable[..., Sequence[SearchHit]], keep: Keep, limit: str, *args: Any, **options: Any
) -> list[SearchHit]:

    def ask(number: int) -> tuple[list[SearchHit], bool]:
        hits = search(*args, **{**options, limit: number})
        return [hit for hit in hits if keep(hit.metadata)], len(hits) >= number

    return find_enough(int(options.get(limit, _USUAL)), ask)
