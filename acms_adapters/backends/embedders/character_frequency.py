"""Vectors of character frequencies: no model, the same everywhere."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from acms_adapters.models.base import repair_text

_ASCII = 128
_OTHERS = 383  # a prime, so that blocks of other scripts do not fall onto each other


class CharacterFrequencyEmbedder:
    """How often each character occurs, as a vector of length 1.

    Characters are counted after compatibility composition and case folding, blanks left out. ASCII
    has a slot for each character, every other script shares 383 slots by code point. A text
    without any character is the zero vector, which is near nothing.

    Attributes:
        name: ``character-frequency-v1``.
        dimensions: 511.
        similarity_threshold: 0.5.
        reliability: 0.1: letters tell little of what a text is about.
    """

    name = "character-frequency-v1"
    dimensions = _ASCII + _OTHERS
    similarity_threshold = 0.5
    reliability = 0.1

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in order."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text."""
        import numpy as np

        folded = unicodedata.normalize("NFKC", repair_text(text)).casefold()
        # folding can decompose what was composed
        letters = "".join(unicodedata.normalize("NFKC", folded).split())
        codes = np.frombuffer(letters.encode("utf-32-le"), dtype=np.uint32).astype(np.int64)
        slots = np.where(codes < _ASCII, codes, _ASCII + codes % _OTHERS)
        counts = np.bincount(slots, minlength=self.dimensions).astype(np.float64)
        length = float(np.linalg.norm(counts))
        vector: list[float] = (counts / length if length else counts).tolist()
        return vector
