"""What is embedded of a node; measured, see docs/decisions/0020.

A vector of a long text is the mean of everything in it. What tells a piece of code from others is
its name and what is said about it, so these come first and the rest is cut.
"""

from __future__ import annotations

import re

from acms_adapters.indexing.lines import split_lines
from acms_adapters.models import SearchHit
from acms_adapters.protocols import RenderingSource

MAX_CHARS = 8_000
"""Characters of a text that are embedded: what most models read of it at most."""

QUALNAME_KEY = "qualname"
"""Metadata key under which a node of code has its dotted name."""

_SAID_CHARS, _CODE_CHARS = 800, 400
_SIGNATURES, _DOCUMENTED = 2, 4
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")


def embedded_text(hit: SearchHit, renderings: RenderingSource) -> str:
    """The text to embed: a title and the text; for code its name, its docs and its first lines."""
    text, name = hit.content or "", hit.metadata.get(QUALNAME_KEY)
    if not isinstance(name, str):
        return _below(hit.metadata.get("title"), text)[:MAX_CHARS]
    if said := _said(hit.uko_node, renderings):
        text = f"{said[:_SAID_CHARS]}\n{text[:_CODE_CHARS]}"
    return f"{' '.join(_WORD.findall(name))}\n{text}"[:MAX_CHARS]


def _below(title: object, text: str) -> str:
    if not isinstance(title, str) or not title.strip() or text.startswith(title):
        return text
    return f"{title.strip()}\n\n{text}"


def _said(node: str, renderings: RenderingSource) -> str:
    """What the documented rendering shows beyond the signatures."""
    documented = renderings.at(node, _DOCUMENTED)
    if documented is None or documented.detail_depth != _DOCUMENTED:
        return ""
    signatures = renderings.at(node, _SIGNATURES)
    shown = set(split_lines(signatures.content)) if signatures else set()
    return "".join(line for line in split_lines(documented.content) if line not in shown)
