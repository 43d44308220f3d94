"""Embedders: two that work without a network, and a way in for everybody else's (ruling B7)."""

from __future__ import annotations

import functools
import importlib.util
import logging
from collections.abc import Callable
from typing import Any, cast, overload

from acms_adapters.backends.embedders.character_frequency import CharacterFrequencyEmbedder
from acms_adapters.backends.embedders.foreign import ForeignEmbedder, is_embedder, wrap
from acms_adapters.backends.embedders.word_llama import WordLlamaEmbedder
from acms_adapters.errors import UnknownNameError
from acms_adapters.protocols import Embedder

__all__ = [
    "CharacterFrequencyEmbedder",
    "ForeignEmbedder",
    "WordLlamaEmbedder",
    "as_embedder",
    "default_embedder",
]

logger = logging.getLogger("acms_adapters")

_BY_NAME: dict[str, Callable[[], Embedder]] = {
    CharacterFrequencyEmbedder.name: CharacterFrequencyEmbedder,
    WordLlamaEmbedder.name: WordLlamaEmbedder,
}


@overload
def as_embedder(value: None, *, name: str | None = None) -> None: ...
@overload
def as_embedder(value: object, *, name: str | None = None) -> Embedder: ...
def as_embedder(value: Any, *, name: str | None = None) -> Embedder | None:
    """Make an embedder of what a caller has.

    Args:
        value: An `Embedder`; the name ``wordllama`` or ``character-frequency-v1``; an embedding
            object of LangChain, LlamaIndex or Chroma; a function from a list of texts to a list of
            vectors, or from one text to one vector. None stays None: no vectors.
        name: What a store remembers it by; left out, its class and model, or the function's name.

    Returns:
        An embedder. Nothing is embedded yet: `dimensions` of a foreign one asks it when first read.

    Raises:
        UnknownNameError: No embedder of that name.
        MissingExtraError: The named one is not installed.
        ValueError: `value` is nothing that can embed.
    """
    if value is None:
        return None
    if isinstance(value, str):
        if value not in _BY_NAME:
            raise UnknownNameError("embedder", value, _BY_NAME)
        return _BY_NAME[value]()
    if name is None and is_embedder(value):
        embedder: Embedder = value
        return embedder
    # its dimensions are a property, because finding out may cost a call of somebody's service
    return cast(Embedder, wrap(value, name=name))


def default_embedder() -> Embedder | None:
    """The embedder to use when none was chosen: wordllama if it is installed.

    Returns:
        None, with one warning, when it is not; then there are no vectors.
    """
    if importlib.util.find_spec("wordllama") is None:
        _warn_of_no_vectors()
        return None
    return WordLlamaEmbedder()


@functools.cache
def _warn_of_no_vectors() -> None:
    logger.warning(
        "no embedder is installed, so nothing is found by its vector: "
        "pip install 'acms-adapters[embed]', or pass an embedder"
    )
