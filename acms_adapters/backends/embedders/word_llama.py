"""Static word vectors of the wordllama package: small, quick, inside its wheel."""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acms_adapters.errors import MissingExtraError
from acms_adapters.models.base import repair_text

MAX_CHARS = 2_000
"""Characters of a text that are read: the mean of a longer one says no more (measured)."""

_lock = threading.Lock()
_loaded: list[Any] = []  # at most one: the weights never change, so a process needs them once


class WordLlamaEmbedder:
    """Means of token vectors, made without a network; the model is loaded at the first use.

    Attributes:
        name: ``wordllama``.
        dimensions: 256.
        similarity_threshold: 0: every direction that is not opposite counts.
        reliability: 0.3: means of word vectors tell less than a sentence encoder does.

    Raises:
        MissingExtraError: The package is not installed.
    """

    name = "wordllama"
    dimensions = 256
    similarity_threshold = 0.0
    reliability = 0.3

    def __init__(self) -> None:
        if importlib.util.find_spec("wordllama") is None:
            raise MissingExtraError("the wordllama embedder", extra="embed", package="wordllama")

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text, in order; zero for a text without any token."""
        import numpy as np

        if not texts:
            return []
        # texts of a batch are padded to its longest, so equal lengths belong together
        cut = [repair_text(text[:MAX_CHARS]) for text in texts]
        order = sorted(range(len(cut)), key=lambda index: len(cut[index]))
        means = _model().embed([cut[index] for index in order])
        vectors = np.empty_like(means)
        vectors[order] = means
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: list[list[float]] = (vectors / np.where(lengths > 0.0, lengths, 1.0)).tolist()
        return unit

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.embed_documents([text])[0]


def _model() -> Any:
    with _lock:
        if not _loaded:
            _loaded.append(_load())
        return _loaded[0]


def _load() -> Any:
    with _unchanged_logging():
        import wordllama
    # the loader looks for its own vocabulary in a folder of another name, but finds it here
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


@contextmanager
def _unchanged_logging() -> Iterator[None]:
    """Undo what the package does to everybody's logging when it is imported."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
