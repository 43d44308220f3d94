"""Noticing that one text lies inside another of the same resource (ruling F9)."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from acms_adapters.models import ContextFragment
from acms_adapters.models.fragment import line_feeds

_FEW = 128  # so many texts are sooner compared than indexed
_PROBED_WORDS = 16
_MOST_OCCURRENCES = 16  # a text of one repeated letter would be found everywhere


class PackedTexts:
    """Texts of packed fragments, by resource.

    Args:
        fragments: Where a fragment is found by its number while it is packed.
    """

    def __init__(self, fragments: Mapping[int, ContextFragment]) -> None:
        self._fragments = fragments
        # the number of the only one of a resource: where there is no other, no text is looked at
        self._resources: dict[str, int | Passages] = {}

    def add(self, number: int, fragment: ContextFragment) -> None:
        """Take a fragment up."""
        resource = fragment.provenance.resource_uri
        known = self._resources.get(resource)
        if known is None:
            self._resources[resource] = number
        else:
            self._passages(resource, known).add(number, passage(fragment.content))

    def remove(self, number: int, fragment: ContextFragment) -> None:
        """Take a fragment out."""
        resource = fragment.provenance.resource_uri
        known = self._resources[resource]
        if isinstance(known, Passages):
            del known.all[number]
            if known.all:
                return
        del self._resources[resource]

    @property
    def resources(self) -> Collection[str]:
        """Those of which anything is packed."""
        return self._resources.keys()

    def compare(self, fragment: ContextFragment) -> tuple[int | None, Collection[int]]:
        """Number of a packed fragment whose text holds this one's, and of those it holds."""
        resource = fragment.provenance.resource_uri
        known = self._resources.get(resource)
        if known is None:
            return None, ()
        texts, text = self._passages(resource, known), passage(fragment.content)
        outer = texts.around(text)
        return outer, texts.inside(text) if outer is None else ()

    def _passages(self, resource: str, known: int | Passages) -> Passages:
        if isinstance(known, Passages):
            return known
        texts = self._resources[resource] = Passages()
        texts.add(known, passage(self._fragments[known].content))
        return texts


class Passages:
    """Passages of one resource, by the numbers of the caller's, which grow.

    Of many, only those with a pair of words in common are compared.

    A passage inside another shares all its pairs of neighbouring words with it but the first and
    the last, whose words may be cut; the longest of those at its beginning is its probe.
    """

    __slots__ = ("_index", "_longest", "_shortest", "all")

    def __init__(self) -> None:
        self.all: dict[int, str] = {}
        self._shortest, self._longest = sys.maxsize, 0
        self._index: _Index | None = None

    def add(self, number: int, text: str) -> None:
        """Take a passage up."""
        size = len(text)
        if size < self._shortest:
            self._shortest = size
        if size > self._longest:
            self._longest = size
        self.all[number] = text
        if self._index is not None:
            self._index.add(number, text)

    def around(self, text: str) -> int | None:
        """Number of a passage that holds `text`."""
        if len(text) >= self._longest:
            return None
        near: Iterable[tuple[int, str]] = self.all.items()
        if len(self.all) > _FEW and (probe := _probe(text)) != _NO_PAIR:
            near = self._known(self._indexed().holding(probe))
        return next((n for n, outer in near if text in outer and contains(outer, text)), None)

    def inside(self, text: str) -> Collection[int]:
        """Numbers of the passages that `text` holds."""
        if len(text) <= self._shortest:
            return ()
        near: Iterable[tuple[int, str]] = self.all.items()
        if len(self.all) > _FEW:
            by_probe = self._indexed().by_probe
            probes = by_probe.keys() & {_NO_PAIR, *_pairs(text)}
            near = self._known(sorted(n for probe in probes for n in by_probe[probe]))
        return [n for n, inner in near if inner in text and contains(text, inner)]

    def _known(self, numbers: Iterable[int]) -> Iterable[tuple[int, str]]:
        return ((number, self.all[number]) for number in numbers if number in self.all)

    def _indexed(self) -> _Index:
        if self._index is None:
            self._index = _Index()
            for number, text in self.all.items():
                self._index.add(number, text)
        return self._index


class _Index:
    """Numbers of passages by their pairs of words.

    Pairs are known by their hashes, and most of them lead to one number: of 10,000 passages there
    are a million pairs, which as objects of their own would take longer to keep than to find.
    """

    def __init__(self) -> None:
        self.by_probe: dict[int, list[int]] = {}
        self._by_pair: dict[int, int | list[int]] = {}

    def add(self, number: int, text: str) -> None:
        """Take a passage up."""
        self.by_probe.setdefault(_probe(text), []).append(number)
        by_pair = self._by_pair
        for pair in set(_pairs(text)):
            known = by_pair.setdefault(pair, number)
            if isinstance(known, list):
                known.append(number)
            elif known != number:
                by_pair[pair] = [known, number]

    def holding(self, pair: int) -> Sequence[int]:
        """Numbers of the passages in which a pair stands, and perhaps of others."""
        known = self._by_pair.get(pair, ())
        return (known,) if isinstance(known, int) else known


_NO_PAIR = hash(("", ""))


def _pairs(text: str) -> Iterable[int]:
    return map(hash, pairwise(text.split()))


def _probe(text: str) -> int:
    """The longest pair of whole words at the beginning of a passage."""
    words = text.split(None, _PROBED_WORDS)[1:-1]
    pairs = pairwise(words)
    return hash(max(pairs, key=lambda pair: len(pair[0]) + len(pair[1]), default=("", "")))


def passage(content: str) -> str:
    """A text as it is compared: line feeds for line ends, nothing blank around it."""
    return line_feeds(content).strip()


def contains(outer: str, inner: str) -> bool:
    """Whether a passage is a part of a longer one, and not merely a part of a word in it.

    Equal texts do not contain each other: one text under two nodes stays two (ruling F1).
    """
    if not inner or len(inner) >= len(outer):
        return False
    start = -1
    for _ in range(_MOST_OCCURRENCES):
        start = outer.find(inner, start + 1)
        if start < 0:
            return False
        end = start + len(inner)
        if not _joins(outer[start - 1 : start], inner[0]) and not _joins(
            inner[-1], outer[end : end + 1]
        ):
            return True
    return False


def _joins(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word; scripts without blanks never do."""
    pair = left + right
    return len(pair) == 2 and pair.isascii() and left.isalnum() and right.isalnum()
