"""Noticing a text that is read already (rulings F1, F8, F9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from acms_adapters.models import ContextFragment, LeftOut
from acms_adapters.pipeline.containment import contains, passage
from acms_adapters.pipeline.ranking import Place, place

Verdict = tuple[LeftOut, str]
"""Why a fragment repeats something, and the id of the fragment that it repeats."""


class Readings:
    """Fragments that will be read, asked whether another one would repeat them.

    Args:
        fragments: The first of them.
        twins: Whether an equal text under another node of the same resource repeats them, too.
    """

    def __init__(self, fragments: Iterable[ContextFragment] = (), *, twins: bool = False) -> None:
        self._twins = twins
        self._keys: dict[tuple[str, str], str] = {}
        self._depths: defaultdict[Place, dict[str, int]] = defaultdict(dict)
        self._texts: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for fragment in fragments:
            self.add(fragment)

    def add(self, fragment: ContextFragment) -> None:
        """Take a fragment up."""
        name = fragment.fragment_id
        self._keys.setdefault(fragment.key, name)
        self._depths[place(fragment)][name] = fragment.detail_depth
        self._texts[fragment.provenance.resource_uri][name] = passage(fragment.content)

    def discard(self, fragment: ContextFragment) -> None:
        """Take a fragment out again."""
        name = fragment.fragment_id
        self._keys.pop(fragment.key, None)
        self._depths[place(fragment)].pop(name, None)
        self._texts[fragment.provenance.resource_uri].pop(name, None)

    def repeated_by(self, fragment: ContextFragment) -> Verdict | None:
        """Whether a fragment says what is read already.

        That is so when it has the same node and text, is another depth of a node at the same
        place, or its text lies in a text of the same resource.
        """
        twin = self._keys.get(fragment.key)
        if twin is not None:
            return LeftOut.DUPLICATE, twin
        for name, depth in self._depths[place(fragment)].items():
            if depth != fragment.detail_depth:
                return LeftOut.SUPERSEDED_DEPTH, name
        text = passage(fragment.content)
        for name, outer in self._texts[fragment.provenance.resource_uri].items():
            if contains(outer, text) or (self._twins and outer == text):
                return LeftOut.CONTAINED, name
        return None

    def inside(self, fragment: ContextFragment) -> Iterator[str]:
        """Ids of fragments of the same resource whose text lies in a fragment's text."""
        text = passage(fragment.content)
        for name, inner in self._texts[fragment.provenance.resource_uri].items():
            if contains(text, inner):
                yield name
