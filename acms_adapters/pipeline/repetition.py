"""Noticing a text that is read already (rulings F1, F8, F9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from acms_adapters.models import ContextFragment, LeftOut
from acms_adapters.models.fragment import line_feeds
from acms_adapters.pipeline.containment import Passages, passage
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
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._keys: dict[tuple[str, str], str] = {}
        self._depths: defaultdict[Place, dict[int, dict[int, None]]] = defaultdict(dict)
        self._texts: defaultdict[str, Passages] = defaultdict(Passages)
        self._twins: dict[tuple[str, str], int] | None = {} if twins else None
        for fragment in fragments:
            self.add(fragment)

    def add(self, fragment: ContextFragment) -> None:
        """Take a fragment up."""
        name, number = fragment.fragment_id, len(self._names)
        self._names.append(name)
        self._numbers[name] = number
        self._keys.setdefault(_key(fragment), name)
        self._depths[place(fragment)].setdefault(fragment.detail_depth, {})[number] = None
        resource, text = fragment.provenance.resource_uri, passage(fragment.content)
        self._texts[resource].add(number, text)
        if self._twins is not None:
            self._twins.setdefault((resource, text), number)

    def discard(self, fragment: ContextFragment) -> None:
        """Take a fragment out again; only where twins do not count."""
        number = self._numbers.pop(fragment.fragment_id)
        self._keys.pop(_key(fragment), None)
        del self._depths[place(fragment)][fragment.detail_depth][number]
        del self._texts[fragment.provenance.resource_uri].all[number]

    def repeated_by(self, fragment: ContextFragment) -> Verdict | None:
        """Whether a fragment says what is read already.

        That is so when it has the same node and text, is another depth of a node at the same
        place, or its text lies in a text of the same resource.
        """
        if not self._numbers:
            return None
        twin = self._keys.get(_key(fragment))
        if twin is not None:
            return LeftOut.DUPLICATE, twin
        depths = self._depths.get(place(fragment), {})
        others = [next(iter(n)) for d, n in depths.items() if n and d != fragment.detail_depth]
        if others:
            return LeftOut.SUPERSEDED_DEPTH, self._names[min(others)]
        resource, text = fragment.provenance.resource_uri, passage(fragment.content)
        found = self._texts[resource].around(text) if resource in self._texts else None
        equal = self._twins.get((resource, text)) if self._twins else None
        holders = [number for number in (found, equal) if number is not None]
        return (LeftOut.CONTAINED, self._names[min(holders)]) if holders else None

    def inside(self, fragment: ContextFragment) -> list[str]:
        """Ids of fragments of the same resource whose text lies in a fragment's text."""
        texts = self._texts.get(fragment.provenance.resource_uri)
        if texts is None:
            return []
        return [self._names[number] for number in texts.inside(passage(fragment.content))]


def _key(fragment: ContextFragment) -> tuple[str, str]:
    # a text says as much as its hash
    return (fragment.uko_node, line_feeds(fragment.content))
