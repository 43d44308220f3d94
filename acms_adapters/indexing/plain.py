"""Text whose structure is not known here, in paragraphs of about 400 tokens."""

from __future__ import annotations

from acms_adapters.indexing.lines import split_lines, trim
from acms_adapters.indexing.parts import PART_TOKENS, rough_tokens, split_parts
from acms_adapters.indexing.prose import first_line_of, prose_outline
from acms_adapters.indexing.source import (
    Names,
    Rendered,
    SourceText,
    containment,
    part_nodes,
    sequence,
)
from acms_adapters.models.fragment import MAX_DEPTH


def render_plain(source: SourceText, *, title: str = "", note: str = "") -> Rendered:
    """A text as one node, or as a node and its parts when it is longer than a part (ruling I1).

    Args:
        title: What it is called, as it stands in the text; the first line where left out.
        note: Why a text that could have structure is taken as plain.
    """
    text, title = trim(source.text), title or first_line_of(source.text)
    is_long = rough_tokens(text) > PART_TOKENS * 5 // 4
    pieces = [part.text for part in split_parts(source.text)] if is_long else [text]
    outline = prose_outline(title, pieces)
    file = source.node(
        source.uri,
        "file",
        lines=(1, max(1, len(split_lines(source.text)))),
        parent=source.parent,
        names=(source.path.rsplit("/", 1)[-1],),
        fields={"title": title, "body": outline if is_long else text},
        renderings={0: title, 4: outline, MAX_DEPTH: text},
        is_container=is_long,
        metadata={"title": title},
    )
    parts = part_nodes(file, source.text, names=Names(source.uri)) if is_long else []
    nodes = (file, *parts)
    return Rendered(
        nodes=nodes,
        edges=(*containment(nodes), *sequence(part.uko_node for part in parts)),
        note=note,
    )
