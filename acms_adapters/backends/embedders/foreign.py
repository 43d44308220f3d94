"""Embedding objects of other libraries, told apart by their methods and never imported."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from acms_adapters.errors import BackendError, EmbedderMismatchError
from acms_adapters.models.base import repair_text

_MODEL_ATTRIBUTES = ("model", "model_name", "model_id", "repo_id", "deployment")
_NO_MODEL = ("", "unknown")
_PROBE = "dimensions"

Vectors = list[list[float]]


class ForeignEmbedder:
    """Somebody else's embedding behind the protocol of an embedder.

    Args:
        name: What a store remembers it by.
        documents: From texts to one vector each.
        query: From a question to its vector.
        similarity_threshold: Raw cosine below which a hit is no hit.
        reliability: How much its cosines say beside those of a sentence encoder, 0 to 1.
    """

    def __init__(
        self,
        name: str,
        documents: Callable[[list[str]], Any],
        *,
        query: Callable[[str], Any],
        similarity_threshold: float = 0.0,
        reliability: float = 1.0,
    ) -> None:
        self.name = name
        self.similarity_threshold = similarity_threshold
        self.reliability = reliability
        self._documents = documents
        self._query = query
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """Length of a vector; the first reading embeds a word to find out."""
        if self._dimensions is None:
            self.embed_query(_PROBE)
        return self._dimensions or 0

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector for each text, in order.

        Raises:
            BackendError: The embedding gave another number of vectors, or no numbers.
            EmbedderMismatchError: Its vectors differ in size.
        """
        if not texts:
            return []
        rows = self._read(self._documents([repair_text(text) for text in texts]))
        if len(rows) != len(texts):
            raise BackendError(
                f"embedder {self.name!r} gave {len(rows)} vectors for {len(texts)} texts"
            )
        return rows

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question; errors as for `embed_documents`."""
        return self._read([self._query(repair_text(text))])[0]

    def _read(self, vectors: Any) -> Vectors:
        if not hasattr(vectors, "__iter__"):
            raise BackendError(f"embedder {self.name!r} gave {vectors!r:.80} instead of vectors")
        rows = [self._numbers(vector) for vector in vectors]
        for row in rows:
            if self._dimensions is None:
                self._dimensions = len(row)
            if len(row) != self._dimensions:
                raise EmbedderMismatchError(
                    f"embedder {self.name!r} gave a vector of {len(row)} dimensions after "
                    f"vectors of {self._dimensions}: use one model for all texts"
                )
        return rows

    def _numbers(self, vector: Any) -> list[float]:
        try:
            row = [float(value) for value in vector]
        except (TypeError, ValueError):
            row = []
        if not row or not all(map(math.isfinite, row)):
            raise BackendError(
                f"embedder {self.name!r} gave {vector!r:.80} where a vector of finite numbers "
                "was expected"
            )
        return row


def is_embedder(value: Any) -> bool:
    """Whether it already is an embedder; asks for no attribute that might do work."""
    return {"dimensions", "similarity_threshold"} <= set(dir(value)) and (
        _has(value, "embed_documents", "embed_query") and isinstance(_name_of(value), str)
    )


def wrap(value: Any, *, name: str | None = None) -> ForeignEmbedder:
    """Put an embedding object or function behind the protocol.

    Raises:
        ValueError: It is nothing that can embed.
    """
    found = None if isinstance(value, type) else _methods(value)
    if found is None:
        raise ValueError(
            f"cannot embed with {value!r}: pass a name, an object with embed_documents() and "
            "embed_query(), a LlamaIndex or Chroma embedding, or a function from texts to vectors"
        )
    documents, query = found
    return ForeignEmbedder(
        name or stable_name(value),
        documents,
        query=query,
        similarity_threshold=float(getattr(value, "similarity_threshold", 0.0)),
        reliability=float(getattr(value, "reliability", 1.0)),
    )


def _methods(value: Any) -> tuple[Callable[[list[str]], Any], Callable[[str], Any]] | None:
    if _has(value, "embed_documents", "embed_query"):  # LangChain
        return value.embed_documents, value.embed_query
    if _has(value, "get_text_embedding_batch", "get_query_embedding"):  # LlamaIndex
        return value.get_text_embedding_batch, value.get_query_embedding
    if not callable(value):
        return None
    if _has(value, "embed_query"):  # Chroma: a list goes in and comes out for questions too
        return value, lambda text: value.embed_query([text])[0]
    batch = _Batched(value)
    return batch, lambda text: batch([text])[0]


class _Batched:
    """A function that takes texts or one text; which, its first answer tells."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._one_by_one: bool | None = None

    def __call__(self, texts: list[str]) -> Any:
        if self._one_by_one is None:
            return self._find_out(texts)
        return (
            [self._function(text) for text in texts] if self._one_by_one else self._together(texts)
        )

    def _together(self, texts: list[str]) -> Any:
        return self._function(texts)

    def _find_out(self, texts: list[str]) -> Any:
        try:
            together = self._function(texts)
        except (TypeError, AttributeError):
            each = self._each(texts)
            self._one_by_one = True
            return each
        if not hasattr(together, "__iter__"):
            return together
        together = list(together)
        self._one_by_one = not all(map(_is_row, together))
        return self._each(texts) if self._one_by_one else together

    def _each(self, texts: list[str]) -> list[Any]:
        return [self._function(text) for text in texts]


def _is_row(value: Any) -> bool:
    try:
        len(value)
    except TypeError:
        return False
    return True


def _has(value: Any, *methods: str) -> bool:
    return all(callable(getattr(value, method, None)) for method in methods)


def _name_of(value: Any) -> Any:
    """Its own name: an attribute, or what a method called `name` gives (Chroma)."""
    own = getattr(value, "name", None)
    try:
        return own() if callable(own) else own
    except (NotImplementedError, TypeError):
        return None


def stable_name(value: Any) -> str:
    """A name that is the same in every process: its own, or class and model, or the function's."""
    while isinstance(value, functools.partial):
        value = value.func
    own = _name_of(value)
    if isinstance(own, str) and own:
        return _with_model(own, value)
    function = getattr(value, "__qualname__", None)
    if not isinstance(function, str):
        return _with_model(type(value).__qualname__, value)
    module = getattr(value, "__module__", None)
    return function if module in (None, "__main__") else f"{module}.{function}"


def _with_model(name: str, value: Any) -> str:
    for attribute in _MODEL_ATTRIBUTES:
        model = getattr(value, attribute, None)
        if isinstance(model, str) and model not in _NO_MODEL:
            return f"{name}/{model}"
    return name
