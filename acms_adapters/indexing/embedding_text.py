"""What is embedded of a node; measured, see docs/decisions/0020.

A vector of a long text is the mean of everything in it. What tells a piece of code from others is
its name and what is said about it, so these come first and the rest is cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from acms_adapters.indexing.lines import split_lines
from acms_adapters.models import IndexedNode, SearchHit
from acms_adapters.models.base import repair_text
from acms_adapters.protocols import RenderingSource

_Look = Callable[[int], tuple[int, str] | None]
"""Gives the deepest rendering of a node at or below a depth, with its depth."""

MAX_CHARS = 8_000
"""Characters of a text that are embedded: what most models read of it at most."""

QUALNAME_KEY = "qualname"
"""Metadata key under which a node of code has its dotted name."""

_SAID_CHARS, _CODE_CHARS = 800, 400
_SIGNATURES, _DOCUMENTED = 2, 4
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")


def embedded_text(hit: SearchHit, renderings: RenderingSource) -> str:
    """The text to embed: a title and the text; for code its name, its docs and its first lines."""

    def look(depth: int) -> tuple[int, str] | None:
        found = renderings.at(hit.uko_node, depth)
        return (found.detail_depth, found.content) if found else None

    return _compose(hit.content or "", hit.metadata, look)


def text_to_embed(node: IndexedNode) -> str:
    """The same of a node that is about to be written."""

    def look(depth: int) -> tuple[int, str] | None:
        there = [one for one in node.renderings if one <= depth]
        return (max(there), repair_text(node.renderings[max(there)])) if there else None

    found = look(node.searched_depth) or look(min(node.renderings, default=0))
    return _compose(found[1] if found else "", node.metadata, look)


def _compose(text: str, metadata: Mapping[Any, Any], look: _Look) -> str:
    name = metadata.get(QUALNAME_KEY)
    if not isinstance(name, str):
        return _below(metadata.get("title"), text)[:MAX_CHARS]
    if said := _said(look):
        text = f"{said[:_SAID_CHARS]}\n{text[:_CODE_CHARS]}"
    return f"{' '.join(_WORD.findall(name))}\n{text}"[:MAX_CHARS]


def _below(title: object, text: str) -> str:
    if not isinstance(title, str) or not title.strip() or text.startswith(title):
        return text
    return f"{title.strip()}\n\n{text}"


def _said(look: _Look) -> str:
    """What the documented rendering shows beyond the signatures."""
    documented = look(_DOCUMENTED)
    if documented is None or documented[0] != _DOCUMENTED:
        return ""
    signatures = look(_SIGNATURES)
    shown = set(split_lines(signatures[1])) if signatures else set()
    return "".join(line for line in split_lines(documented[1]) if line not in shown)
