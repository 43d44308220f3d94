"""Names that stand in prose.

A name is a run of capitalised words, joined by `of` and its like (``University of Leeds``).
"""

from __future__ import annotations

import re
from functools import lru_cache

from acms_adapters.backends.analysis import fold, is_stop_word

MOST_NAMES = 64
"""Names kept of a text."""

_REST = r"[\w'’-]*"
# a capital is looked for before what stands before it: that is several times as fast as \b
_NAME = re.compile(
    rf"[A-Z](?<!\w.){_REST}"
    r"(?:\s+(?:of(?:\s+the)?|de(?:\s+la)?|del|di|du|la|le|van(?:\s+der)?|von)(?=\s+[A-Z])"
    rf"|\s+[A-Z]{_REST})*"
)
_SHORTEST = 4
_ORDINARY = 100  # characters; longer runs are not remembered


def names_in(text: str) -> tuple[str, ...]:
    """Names in a text, folded and in lower case, in the order they first come."""
    found: dict[str, None] = {}
    for run in _NAME.findall(fold(text)):
        if name := _known_name(run) if len(run) <= _ORDINARY else _name(run):
            found[name] = None
            if len(found) == MOST_NAMES:
                break
    return tuple(found)


def _name(run: str) -> str:
    """The run without stop words at its beginning; empty if that is too little for a name."""
    words = run.split()
    start = next((at for at, word in enumerate(words) if not is_stop_word(word)), len(words))
    name = " ".join(words[start:])
    return name.lower() if len(name) >= _SHORTEST or " " in name else ""


_known_name = lru_cache(maxsize=1 << 14)(_name)
