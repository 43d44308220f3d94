"""The text that a model really reads (ruling S4)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from acms_adapters.models.fragment import MAX_DEPTH, ContextFragment

Layout = Literal["payload", "bare"]
"""`payload`: the preamble, then each fragment below a header line. `bare`: the texts alone."""

HEADER = "=== "
SEPARATOR = "\n\n"

_LINE_ENDS = r"\r\n\v\f\x1c-\x1e\x85\u2028\u2029"
_LINE_END = re.compile(f"[{_LINE_ENDS}]+")
_FORGED = re.compile(rf"(?:^|(?<=[{_LINE_ENDS}]))(?=\\*{re.escape(HEADER)})")


def render_fragment(fragment: ContextFragment, layout: Layout = "payload") -> str:
    """Render one fragment as it will be read.

    In the payload layout a line of the text that imitates a header gets a backslash in front, so
    that header lines and fragments always pair up.
    """
    if layout == "bare":
        return fragment.content
    text = fragment.content
    if HEADER in text:
        text = _FORGED.sub(lambda _: chr(92), text)
    return f"{header(fragment)}\n{text}"


def header(fragment: ContextFragment) -> str:
    """The line above a fragment: its node, its place, and its depth where that is not full."""
    place = fragment.provenance.location
    notes = [place] if place and place not in fragment.uko_node else []
    if fragment.detail_depth < MAX_DEPTH:
        notes.append(f"depth {fragment.detail_depth}")
    suffix = f" ({', '.join(notes)})" if notes else ""
    return HEADER + _LINE_END.sub(" ", fragment.uko_node + suffix)


def render(
    fragments: Iterable[ContextFragment], *, preamble: str = "", layout: Layout = "payload"
) -> str:
    """Render fragments as one string: preamble first where the layout has one, then each text."""
    blocks = [preamble] if preamble and layout == "payload" else []
    blocks.extend(render_fragment(fragment, layout) for fragment in fragments)
    return SEPARATOR.join(blocks)
