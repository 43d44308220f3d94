"""What is measured of one context, and how sure a mean is; see docs/reference/measures.md."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

RANKS = 10
"""Ranks that count for nDCG."""

ROUNDS = 2_000
SEED = 13
_LEVEL = (2.5, 97.5)

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_WORDS = str.maketrans(dict.fromkeys(string.punctuation, " "))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadText:
    """One text of a context.

    Attributes:
        passage: The passage it is of.
        resource: The file or page it stands in.
        text: What is read.
        tokens: How many tokens that is.
    """

    passage: str
    resource: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A passage that should be read.

    Attributes:
        passage: Its id.
        resource: The file or page it stands in.
        pieces: Its text, or that of all its parts.
    """

    passage: str
    resource: str
    pieces: tuple[str, ...]


def share_read(evidence: Sequence[Evidence], texts: Sequence[ReadText]) -> float:
    """Fraction of the evidence whose text is in the context whole.

    Blanks do not count. The text may stand in a text of the same passage or of its resource.
    """
    by_resource: dict[str, list[str]] = {}
    for read in texts:
        by_resource.setdefault(read.resource, []).append(_single_blanks(read.text))
    found = sum(
        all(
            any(_single_blanks(piece) in text for text in by_resource.get(wanted.resource, ()))
            for piece in wanted.pieces
        )
        for wanted in evidence
    )
    return found / len(evidence)


def share_located(evidence: Sequence[Evidence], texts: Sequence[ReadText]) -> float:
    """Fraction of the evidence of which anything is in the context, at any depth."""
    there = {read.passage for read in texts}
    return sum(wanted.passage in there for wanted in evidence) / len(evidence)


def has_answer(answers: Iterable[str], text: str) -> float | None:
    """1 when any answer stands in a text as words, else 0; None when there is no answer."""
    wanted = [words for answer in answers if (words := plain_words(answer))]
    if not wanted:
        return None
    padded = f" {plain_words(text)} "
    return float(any(f" {words} " in padded for words in wanted))


def plain_words(text: str) -> str:
    """Words in lower case, without punctuation and articles, one blank between them."""
    return " ".join(_ARTICLES.sub(" ", text.casefold().translate(_NO_WORDS)).split())


def precision_per_token(evidence: Sequence[Evidence], texts: Sequence[ReadText]) -> float:
    """Fraction of the tokens that are of evidence; 0 for an empty context."""
    wanted = {entry.passage for entry in evidence}
    total = sum(read.tokens for read in texts)
    return sum(read.tokens for read in texts if read.passage in wanted) / total if total else 0.0


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], *, ranks: int = RANKS) -> float:
    """Normalised discounted cumulative gain of the first ranks, the grade itself as gain."""
    gained = sum(
        grades.get(passage, 0) / math.log2(place + 2)
        for place, passage in enumerate(ranking[:ranks])
    )
    best = sorted(grades.values(), reverse=True)[:ranks]
    return gained / sum(grade / math.log2(place + 2) for place, grade in enumerate(best))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % bootstrap interval of a mean, with a fixed seed.

    For two systems over the same questions give the differences by question: that is the paired
    interval.
    """
    if not values:
        return (0.0, 0.0)
    drawn = np.random.default_rng(SEED).integers(len(values), size=(ROUNDS, len(values)))
    means = np.asarray(values, dtype=np.float64)[drawn].mean(axis=1)
    low, high = np.percentile(means, _LEVEL)
    return (float(low), float(high))


def _single_blanks(text: str) -> str:
    return " ".join(text.split())
