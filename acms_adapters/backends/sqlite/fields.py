"""Searched fields of a node: how code and prose are weighed (ruling B9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acms_adapters.backends.analysis import tokens

FIELDS = ("path", "name", "signature", "doc", "body")
"""Columns of the text index; the title of prose stands in `name`."""

_OF_CODE = frozenset(("name", "signature", "doc"))


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """Parameters of BM25F, by field in the order of `FIELDS`.

    Attributes:
        weights: What an occurrence counts.
        norms: How much the length of the field counts, 0 to 1 (b).
        saturation: Weighed occurrences that give half of a term's score (k1).
    """

    weights: tuple[float, ...]
    norms: tuple[float, ...]
    saturation: float


CODE = FieldWeights((2.0, 3.0, 1.0, 1.0, 0.75), (0.75, 0.75, 0.75, 0.75, 0.75), 1.2)
PROSE = FieldWeights((1.0, 2.0, 1.0, 1.0, 1.0), (0.75, 0.5, 0.75, 0.75, 0.75), 1.5)


@dataclass(frozen=True, slots=True)
class FieldTokens:
    """Tokens of a node by field, each with a blank on either side, so that repeats can be counted.

    Attributes:
        is_prose: Whether it is weighed as prose.
        texts: By field.
        lengths: Tokens by field.
    """

    is_prose: bool
    texts: tuple[str, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> FieldTokens:
        """Analyse the fields of a node.

        Raises:
            ValueError: A field that nobody knows.
        """
        if unknown := set(fields) - {*FIELDS, "title"}:
            known = ", ".join((*FIELDS, "title"))
            raise ValueError(f"unknown searched fields {sorted(unknown)!r} (known: {known})")
        is_prose = "title" in fields or not _OF_CODE & set(fields)
        name = "\n".join(filter(None, (fields.get("title"), fields.get("name"))))
        found = [tokens({**fields, "name": name}.get(field, "")) for field in FIELDS]
        return cls(is_prose, tuple(map(joined, found)), tuple(map(len, found)))

    @property
    def kept(self) -> str | None:
        """The tokens as they are written down; None where there are none."""
        return "\n".join(self.texts) if any(self.lengths) else None

    @property
    def terms(self) -> frozenset[str]:
        """Every token once."""
        return frozenset(token for text in self.texts for token in text.split())


def joined(found: tuple[str, ...] | list[str]) -> str:
    """Tokens with a blank on either side of each; neighbours have two between them."""
    return "".join([f" {token} " for token in found])
