"""What counts tokens, and what turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text.

    Attributes:
        name: What it counts by, such as ``cl100k_base``.
        exact: False for an estimate.
    """

    name: str
    exact: bool

    def count(self, text: str) -> int:
        """Number of tokens of `text`, special tokens counted as plain text."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    Attributes:
        name: Identifies the model; a store refuses vectors of another one (ruling B7).
        dimensions: Length of a vector.
        similarity_threshold: Raw cosine below which a hit is no hit.

    An embedder may also have `reliability`, from 0 to 1: how much a deviation of its cosines says
    beside one of a sentence encoder's, which is 1 and the default.
    """

    name: str
    dimensions: int
    similarity_threshold: float

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector for each text, in order."""
        ...

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question."""
        ...
