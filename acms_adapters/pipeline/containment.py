"""Noticing that one text lies inside another of the same resource (ruling F9)."""

from __future__ import annotations

from acms_adapters.models import ContextFragment

_MOST_OCCURRENCES = 16  # a text of one repeated letter would be found everywhere


class PackedTexts:
    """Texts of packed fragments, by resource; each is known by a number of the caller's."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[int, str]] = {}

    def add(self, number: int, fragment: ContextFragment) -> None:
        """Take a fragment up."""
        texts = self._texts.setdefault(fragment.provenance.resource_uri, {})
        texts[number] = passage(fragment.content)

    def remove(self, number: int, fragment: ContextFragment) -> None:
        """Take a fragment out."""
        del self._texts[fragment.provenance.resource_uri][number]

    def touches(self, fragment: ContextFragment) -> bool:
        """Whether anything of the fragment's resource is packed."""
        return bool(self._texts.get(fragment.provenance.resource_uri))

    def around(self, fragment: ContextFragment) -> int | None:
        """Number of a packed fragment whose text holds this one's; None if there is none."""
        texts = self._texts.get(fragment.provenance.resource_uri)
        if not texts:
            return None
        text = passage(fragment.content)
        return next((n for n, outer in texts.items() if contains(outer, text)), None)

    def inside(self, fragment: ContextFragment) -> list[int]:
        """Numbers of the packed fragments whose text this one's holds."""
        texts = self._texts.get(fragment.provenance.resource_uri)
        if not texts:
            return []
        text = passage(fragment.content)
        return [number for number, inner in texts.items() if contains(text, inner)]


def passage(content: str) -> str:
    """A text as it is compared: line feeds for line ends, nothing blank around it."""
    if "\r" in content:
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    return content.strip()


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
