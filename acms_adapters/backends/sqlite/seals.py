"""Hashes over everything that was written of a node or a resource, to tell damage by (ruling B8).

SQLite itself notices a file out of order, but not another value in a row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

Link = tuple[str, str, str]
"""Source, relation and target; of a mention source, name and relation."""


def node_seal(
    uri: str,
    columns: Sequence[Any],
    *,
    renderings: Mapping[int, tuple[str, int | None]],
    names: Mapping[str, str | None],
    tokens: str | None,
) -> bytes:
    """Seal of a node.

    Args:
        columns: Its row from the kind to the metadata.
        renderings: Texts with their tokens by depth.
        names: Names with their title keys.
        tokens: What is kept of its searched text; None where nothing is.
    """
    *plain, metadata = columns
    said = (metadata or b"").decode("utf-8", "surrogatepass")
    return _seal([uri, plain, said, sorted(renderings.items()), sorted(names.items()), tokens])


def links_seal(edges: Iterable[Link], mentions: Iterable[Link]) -> bytes:
    """Seal of the edges and mentions that a resource brought."""
    return _seal([sorted(set(edges)), sorted(mentions)])


def _seal(value: Any) -> bytes:
    # pure ASCII, so that it is the same whatever version of Unicode a Python knows
    said = json.dumps(value, separators=(",", ":"))
    return blake2b(said.encode("ascii"), digest_size=16).digest()
