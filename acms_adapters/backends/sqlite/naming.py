"""Names of nodes, as they are kept to be looked up."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from acms_adapters.backends.analysis import fold, words
from acms_adapters.models import IndexedNode
from acms_adapters.models.base import repair_text

TITLE_WORDS = 12
"""Longest title that is looked for in a question, in words."""

_WORD = re.compile(r"\w+")
_SYMBOL = re.compile(r"[\w.:$]+", re.ASCII)


def names_of(node: IndexedNode) -> dict[str, str | None]:
    """Names of a node, each with its title key where it may stand in a question as plain words.

    A node that is a whole file is also known by its path and by the last part of it.
    """
    found = {stored_name(name): title_key(name) for name in node.names if name.strip()}
    path = node.fields.get("path")
    if path and node.uko_node == node.resource_uri:
        for name in (path, posixpath.basename(path)):
            found[stored_name(name)] = _key(name)
    return found


def stored_name(name: str) -> str:
    """A name with its blanks single, folded, its case kept."""
    return " ".join(fold(repair_text(name)).split())


def title_key(name: str) -> str | None:
    """Words of a title of two words and more; None for a symbol or a single word."""
    return None if _SYMBOL.fullmatch(name) else _key(name)


def _key(name: str) -> str | None:
    found = [word for word, _, _ in words(repair_text(name))]
    return " ".join(found) if 2 <= len(found) <= TITLE_WORDS else None


def tail_of(mention: str) -> str:
    """What a mention ends in; when a node comes or goes, mentions with one of its tails are stale.

    The last part of a path, else the last word; an anchor does not count.
    """
    whole = mention.partition("#")[0] or mention
    return _last_part(whole) if "/" in whole else _last_word(whole)


def tails_of(uri: str, names: Iterable[str]) -> set[str]:
    """Every tail by which a node may be mentioned."""
    whole = uri.partition("#")[0]
    return {_last_part(whole), _last_word(whole), *map(tail_of, names), *map(_last_word, names)}


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2].casefold()


def _last_word(name: str) -> str:
    found = _WORD.findall(fold(name))
    return found[-1].casefold() if found else ""
