"""Noticing a text that is read already (rulings F1, F8, F9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from acms_adapters.models import ContextFragment, LeftOut

Verdict = tuple[LeftOut, str]
"""Why a fragment repeats something, and the id of the fragment that it repeats."""


class Readings:
    """Fragments that will be read, asked whether another one would repeat them."""

    def __init__(self, fragments: Iterable[ContextFragment] = ()) -> None:
        self._keys: dict[tuple[str, str], str] = {}
        self._places: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        self._texts: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for fragment in fragments:
            self.add(fragment)

    def add(self, fragment: ContextFragment) -> None:
        """Take a fragment up."""
        name = fragment.fragment_id
        self._keys.setdefault(fragment.key, name)
        self._places[_place(fragment)][name] = fragment.detail_depth
        self._texts[fragment.provenance.resource_uri][name] = _text(fragment)

    def discard(self, fragment: ContextFragment) -> None:
        """Take a fragment out again."""
        name = fragment.fragment_id
        self._keys.pop(fragment.key, None)
        self._places[_place(fragment)].pop(name, None)
        self._texts[fragment.provenance.resource_uri].pop(name, None)

    def repeated_by(self, fragment: ContextFragment) -> Verdict | None:
        """Whether a fragment says what is read already.

        That is so when it has the same node and text, is another depth of a node at the same
        place, or its text lies in a text of the same resource.
        """
        twin = self._keys.get(fragment.key)
        if twin is not None:
            return LeftOut.DUPLICATE, twin
        for name, depth in self._places[_place(fragment)].items():
            if depth != fragment.detail_depth:
                return LeftOut.SUPERSEDED_DEPTH, name
        text = _text(fragment)
        for name, other in self._texts[fragment.provenance.resource_uri].items():
            if text in other:
                return LeftOut.CONTAINED, name
        return None

    def inside(self, fragment: ContextFragment) -> Iterator[str]:
        """Ids of fragments of the same resource whose whole lines stand in a fragment's text."""
        outer = f"\n{_text(fragment)}\n"
        for name, text in self._texts[fragment.provenance.resource_uri].items():
            inner = text.strip("\n")
            if inner.strip() and f"\n{inner}\n" in outer:
                yield name


def _place(fragment: ContextFragment) -> tuple[str, str]:
    return (fragment.uko_node, fragment.provenance.location)


def _text(fragment: ContextFragment) -> str:
    return fragment.content.replace("\r\n", "\n").replace("\r", "\n")
