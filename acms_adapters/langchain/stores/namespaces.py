"""Names in a LangGraph store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from langgraph.store.base import BaseStore, Item

_PAGE = 100


def label(name: str) -> str:
    """A name as a label of a namespace, or as a key: without dots and never empty."""
    return quote(name, safe="", errors="replace").replace(".", "%2E") or "%"


def items_below(store: BaseStore, namespace: tuple[str, ...], **options: Any) -> Iterator[Item]:
    """Everything in a namespace and below it, each once, page by page."""
    seen: set[tuple[Any, ...]] = set()
    offset = 0
    while True:
        page = store.search(namespace, limit=_PAGE, offset=offset, **options)
        for item in page:
            # some stores match the beginning of a label as well
            inside = tuple(item.namespace[: len(namespace)]) == namespace
            if inside and (name := (*item.namespace, item.key)) not in seen:
                seen.add(name)
                yield item
        if len(page) < _PAGE:
            return
        offset += _PAGE
