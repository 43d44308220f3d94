"""The two searches that all peers are given: tuned BM25, and the vectors of the data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bm25s
import numpy as np
from peers.words import tokens

from acms_adapters.evaluation import Dataset, Question

DEPTH = 100
"""Candidates of each search."""

K1, B, C = 1.2, 0.75, 60


@dataclass(frozen=True, slots=True)
class Found:
    """Places of passages and their scores, best first."""

    places: tuple[int, ...]
    scores: tuple[float, ...]


class Arms:
    """Answers of both searches to each question of a data set, made beforehand.

    Args:
        dataset: A set with vectors.
        asked: The questions.
    """

    def __init__(self, dataset: Dataset, asked: Sequence[Question]) -> None:
        if dataset.passage_vectors is None or dataset.question_vectors is None:
            raise ValueError(f"{dataset.name!r} comes without vectors, so peers cannot be compared")
        self.dataset = dataset
        rows = dict(zip((q.id for q in dataset.questions), dataset.question_vectors, strict=True))
        index = bm25s.BM25(k1=K1, b=B, method="lucene")
        index.index([tokens(p.whole) for p in dataset.passages], show_progress=False)
        self.bm25 = {q.id: _best(_bm25(index, q.text, len(dataset.passages))) for q in asked}
        matrix = dataset.passage_vectors
        self.near = {q.id: _best(matrix @ rows[q.id]) for q in asked}

    def fused(self, question: str) -> Found:
        """Both lists by the sum of reciprocal ranks; the first list's order between equals."""
        sums: dict[int, float] = {}
        for found in (self.bm25[question], self.near[question]):
            for rank, place in enumerate(found.places, start=1):
                sums[place] = sums.get(place, 0.0) + 1.0 / (rank + C)
        order = sorted(sums, key=lambda place: -sums[place])
        return Found(tuple(order), tuple(sums[place] for place in order))


def _bm25(index: bm25s.BM25, text: str, size: int) -> np.ndarray:
    known = [token for token in tokens(text) if token in index.vocab_dict]
    return index.get_scores(known) if known else np.zeros(size)


def _best(scores: np.ndarray) -> Found:
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    kept = [int(place) for place in order if scores[place] > 0.0]
    return Found(tuple(kept), tuple(float(scores[place]) for place in kept))
