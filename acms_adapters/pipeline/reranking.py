"""Ranking found passages anew by the question, with nothing but their texts.

Whoever found the passages knew more than their texts say (vectors, the whole corpus), so the order
they come in counts most. Beside it count the words of the question in the text, those in its
heading, and the names that a passage shares with the best ones, which lead on to what the question
does not name. Each weight is for one standard deviation among the passages.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acms_adapters.backends.names import names_in
from acms_adapters.models.scores import to_relevance
from acms_adapters.pipeline.occurrences import Occurrences

TEXT_WEIGHT = 0.45
HEADING_WEIGHT = 0.3
NAMES_WEIGHT = 5.0
"""Weights beside that of the given order, which is 1; measured as written in decision 32."""

_STEEPNESS = 4  # the first of a list stands out from the second as 1 / 4 does from 1 / 5, in logs
_K1, _B = 1.2, 0.75
_HEADING_TIMES = 4  # a word of the heading counts so many times more than one further down
_HEADING_CHARS = 100
_MORE = re.compile(r"\S")

_STARTS = 10
_SHARPNESS = 0.5
_RETURN = 0.7
_FLOOR = 1e-4
_FEWEST_SHARERS, _MOST_SHARERS = 2, 20

Words = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Passage:
    """What is ranked.

    Attributes:
        text: All of it.
        heading: What of it says what it is about, or is known beside it; may be empty.
    """

    text: str
    heading: str = ""


def heading_of(text: str) -> str:
    """The first line of a text, if it is short and more follows."""
    end = text.find("\n", 0, _HEADING_CHARS + 1)
    return text[:end].strip() if end >= 0 and _MORE.search(text, end) else ""


def rerank(query: str, passages: Sequence[Passage], given: Sequence[float]) -> list[float]:
    """Relevance of each passage in [0, 1].

    Args:
        query: The question; without one, nothing changes.
        passages: All that was found.
        given: The relevance of each so far; of equal ones the first stands before the others.

    Returns:
        In the order of `passages`.
    """
    asked = Occurrences(query)
    if not asked or len(passages) < 2:
        return list(given)
    headings = [asked.within(passage.heading) for passage in passages]
    texts = [asked.within(passage.text) for passage in passages]
    evidence = [
        sum(parts)
        for parts in zip(
            _deviations(_standing(given)),
            _weighted(TEXT_WEIGHT, _by_text(passages, texts, headings)),
            _weighted(HEADING_WEIGHT, _by_heading(passages, headings)),
            strict=True,
        )
    ]
    shared = _by_names(evidence, passages)
    return [to_relevance(e + NAMES_WEIGHT * more) for e, more in zip(evidence, shared, strict=True)]


def _standing(given: Sequence[float]) -> list[float]:
    order = sorted(range(len(given)), key=lambda place: -given[place])
    standing = [0.0] * len(given)
    for rank, place in enumerate(order):
        standing[place] = -math.log(rank + _STEEPNESS)
    return standing


def _by_text(
    passages: Sequence[Passage], texts: Sequence[Words], headings: Sequence[Words]
) -> list[float]:
    """Deviations of BM25F over text and heading, which stands in the text as well."""
    both = [
        {word: times + _HEADING_TIMES * heading.get(word, 0) for word, times in text.items()}
        for text, heading in zip(texts, headings, strict=True)
    ]
    lengths = [len(p.text) + _HEADING_TIMES * len(p.heading) for p in passages]
    return _deviations(_bm25(both, lengths))


def _by_heading(passages: Sequence[Passage], headings: Sequence[Words]) -> list[float]:
    """Deviations of BM25 over headings; they fade where not all passages have one."""
    there = [place for place, passage in enumerate(passages) if passage.heading]
    deviations = [0.0] * len(passages)
    if there:
        scores = _bm25([headings[at] for at in there], [len(passages[at].heading) for at in there])
        trust = (len(there) / len(passages)) ** 4
        for place, deviation in zip(there, _deviations(scores), strict=True):
            deviations[place] = trust * deviation
    return deviations


def _by_names(evidence: Sequence[float], passages: Sequence[Passage]) -> list[float]:
    """Share of a walk of one step from the best passages over shared names, on a log scale."""
    order = sorted(range(len(evidence)), key=lambda place: -evidence[place])
    best = order[:_STARTS]
    strength = [math.exp((evidence[place] - evidence[best[0]]) / _SHARPNESS) for place in best]
    start = {at: share / sum(strength) for at, share in zip(best, strength, strict=True)}
    mass = {place: _RETURN * share for place, share in start.items()}
    for place, neighbours in _sharers(passages, best).items():
        part = (1.0 - _RETURN) * start[place] / sum(neighbours.values())
        for neighbour, weight in neighbours.items():
            mass[neighbour] = mass.get(neighbour, 0.0) + part * weight
    top = math.log1p(1.0 / _FLOOR)
    return [math.log1p(mass.get(at, 0.0) / _FLOOR) / top for at in range(len(evidence))]


def _sharers(passages: Sequence[Passage], starts: Sequence[int]) -> Mapping[int, dict[int, float]]:
    """Who shares names with each of some passages; the rarer the name, the more it ties.

    A name that half of the passages hold ties nothing.
    """
    holders: dict[str, list[int]] = defaultdict(list)
    for place, passage in enumerate(passages):
        for name in names_in(passage.text):
            holders[name].append(place)
    most = min(_MOST_SHARERS, len(passages) // 2)
    chosen, ties = frozenset(starts), defaultdict[int, dict[int, float]](dict)
    for places in holders.values():
        if _FEWEST_SHARERS <= len(places) <= most:
            for place in chosen.intersection(places):
                for other in places:
                    if other != place:
                        ties[place][other] = ties[place].get(other, 0.0) + 1.0 / len(places)
    return ties


def _bm25(counts: Sequence[Mapping[str, int]], lengths: Sequence[int]) -> list[float]:
    """BM25 of the question, with the frequencies and lengths of just these texts."""
    spread = Counter(word for words in counts for word in words)
    rarity = {
        word: math.log1p((len(counts) - many + 0.5) / (many + 0.5)) for word, many in spread.items()
    }
    mean = sum(lengths) / len(lengths) or 1.0
    scores = []
    for words, length in zip(counts, lengths, strict=True):
        norm = _K1 * (1.0 - _B + _B * length / mean)
        scores.append(sum(rarity[word] * n / (n + norm) for word, n in words.items()))
    return scores


def _deviations(values: Sequence[float]) -> list[float]:
    """How many standard deviations each lies above the mean; 0 where all are equal."""
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / spread if spread > 1e-9 else 0.0 for value in values]


def _weighted(weight: float, values: Sequence[float]) -> list[float]:
    return [weight * value for value in values]
