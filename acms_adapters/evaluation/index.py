"""A data set in a store of the library, so that what is measured is what users run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import acms_adapters
from acms_adapters.backends.embedders import as_embedder, default_embedder
from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.backends.vectors import MemoryVectorBackend
from acms_adapters.errors import BackendError
from acms_adapters.evaluation.dataset import Dataset, Matrix
from acms_adapters.evaluation.entries import entries_of, passage_of
from acms_adapters.indexing import ContextStore, Progress
from acms_adapters.indexing.progress import silent
from acms_adapters.indexing.store import DATABASE
from acms_adapters.indexing.vectors import AUTO, NodeVectors
from acms_adapters.indexing.writing import Writer
from acms_adapters.models import SearchHit
from acms_adapters.models.base import repair_text
from acms_adapters.protocols import Embedder
from acms_adapters.tokens import token_counter

_COMPLETE = "complete"
_MAKERS = ("backends", "evaluation/entries.py", "indexing", "models")


class GivenVectors:
    """Answers for an embedder with the vectors that came with a data set.

    Args:
        dataset: A set with vectors.

    Raises:
        ValueError: It has none.
    """

    similarity_threshold = 0.0

    def __init__(self, dataset: Dataset) -> None:
        if dataset.passage_vectors is None or dataset.question_vectors is None:
            raise ValueError(f"the data set {dataset.name!r} comes without vectors")
        self.name = f"given with {dataset.name} {dataset.fingerprint[:12]}"
        self.dimensions = int(dataset.passage_vectors.shape[1])
        rows = zip(dataset.questions, dataset.question_vectors, strict=True)
        self._rows = {_plain(question.text): row.tolist() for question, row in rows}

    def embed_query(self, text: str) -> list[float]:
        """The row of a question.

        Raises:
            BackendError: It is no question of the data set.
        """
        row = self._rows.get(_plain(text))
        if row is None:
            raise BackendError(f"the data set has no vector for {text!r:.200}")
        return list(row)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """The same for several; passages have their vectors from the start."""
        return [self.embed_query(text) for text in texts]


class _Remembering:
    """An embedder that is asked for a question once, whatever the number of budgets."""

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.similarity_threshold = embedder.similarity_threshold
        self.reliability = float(getattr(embedder, "reliability", 1.0))
        self.embed_documents = embedder.embed_documents
        self.embed_query = lru_cache(maxsize=64)(embedder.embed_query)


def _plain(text: str) -> str:
    """A text without what is lost on the way to an embedder: blanks around and between words."""
    return " ".join(repair_text(text).split())


def open_store(
    dataset: Dataset,
    folder: str | Path | None = None,
    *,
    embedder: Any = AUTO,
    progress: Progress | None = None,
) -> ContextStore:
    """A store that holds a data set and nothing else.

    Vectors that the set brings are used; else they are made anew each time. They are searched
    exactly, so that two runs agree.

    Args:
        folder: Where texts are kept for the next run, in a folder of their own for each content
            and each version of the code that indexes; None keeps them in memory.
        embedder: What `as_embedder` reads, for a set without vectors; ``auto`` for the best that
            is installed, None for no vectors.
    """
    told = progress or silent
    place = None if folder is None else Path(folder).expanduser() / _key(dataset)
    texts = SQLiteStore(None if place is None else place / DATABASE)
    try:
        if place is None or not (place / _COMPLETE).exists():
            writer = Writer(texts, None, token_counter())
            writer.add_entries("documents", entries_of(dataset), progress=told)
            if place is not None:
                (place / _COMPLETE).touch()
        vectors = _vectors(dataset, texts, embedder, told)
    except BaseException:
        texts.close()
        raise
    return ContextStore(texts, vectors, folder=place)


def _vectors(
    dataset: Dataset, texts: SQLiteStore, embedder: Any, progress: Progress
) -> NodeVectors | None:
    given = dataset.passage_vectors
    chosen: Embedder | None
    if given is not None:
        chosen = GivenVectors(dataset)
    else:
        chosen = default_embedder() if embedder == AUTO else as_embedder(embedder)
    if chosen is None:
        return None
    chosen = chosen if given is not None else _Remembering(chosen)

    def hydrate(nodes: Sequence[str]) -> dict[str, SearchHit]:
        return {hit.uko_node: hit for hit in texts.graph.get(nodes)}

    index = MemoryVectorBackend(embedder_name=chosen.name, hydrate=hydrate)
    if given is not None:
        _put(index, dataset, given, texts)
    vectors = NodeVectors(index, chosen, texts, note=None)
    vectors.update(progress)
    return vectors


def _put(index: MemoryVectorBackend, dataset: Dataset, given: Matrix, texts: SQLiteStore) -> None:
    """A part of a passage gets the passage's vector."""
    rows = {passage.id: at for at, passage in enumerate(dataset.passages)}
    inputs = list(texts.vector_inputs())
    passages = [passage_of(entry.uko_node, rows) for entry in inputs]
    index.upsert(
        [entry.uko_node for entry in inputs],
        np.stack([given[rows[passage]] for passage in passages]),
        hashes=[entry.text_hash for entry in inputs],
        resource_uris=[entry.resource_uri for entry in inputs],
        resource_types=[entry.resource_type for entry in inputs],
    )


def _key(dataset: Dataset) -> str:
    """Names the folder of a store: the data, and the code that a store is made by."""
    digest = hashlib.sha256(dataset.fingerprint.encode())
    package = Path(acms_adapters.__file__).parent
    for maker in _MAKERS:
        place = package / maker
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.read_bytes())
    return f"{dataset.name}-{digest.hexdigest()[:16]}"
