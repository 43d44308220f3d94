"""BM25F, and how a question's scores spread over the whole index.

A node's score is the sum over the question's terms of idf · t / (t + k1), where t is the sum over
its fields of weight · occurrences / (1 - b + b · length / average length), and
idf = ln(1 + (N - n + 0.5) / (n + 0.5)) for a term in n of N nodes: above 0 even for a term in all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from sys import intern

from acms_adapters.backends.analysis import Term
from acms_adapters.backends.sqlite.fields import CODE, PROSE, joined

_GAIN = 0.5
_GAIN_SQUARED = 0.28
_CEILING = 30.0


@dataclass(frozen=True, slots=True)
class WeighedTerm:
    """A term of a question that stands in the index.

    Attributes:
        term: Its token, or several side by side.
        pattern: The same as it stands in `FieldTokens.texts`.
        nodes: How many nodes hold it.
        idf: What it is worth.
    """

    term: Term
    pattern: str
    nodes: int
    idf: float

    @classmethod
    def of(cls, term: Term, nodes: int, *, total: int) -> WeighedTerm:
        """Weigh a term that stands in `nodes` of `total` nodes."""
        nodes = min(nodes, total)
        idf = math.log(1.0 + (total - nodes + 0.5) / (nodes + 0.5))
        return cls(term, joined(term), nodes, idf)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sizes of the index.

    Attributes:
        nodes: Nodes that are searched.
        code: Average length of each field of code, at least 1.
        prose: The same of prose.
    """

    nodes: int
    code: tuple[float, ...]
    prose: tuple[float, ...]

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Corpus:
        """Read the rows of `totals`: whether prose, nodes, then summed lengths by field."""
        found = {bool(row[0]): row[1:] for row in rows}
        averages = {
            is_prose: tuple(max(1.0, length / max(1, nodes)) for length in lengths)
            for is_prose, (nodes, *lengths) in found.items()
        }
        return cls(sum(row[0] for row in found.values()), averages[False], averages[True])


class ScoredText:
    """The tokens of a node as they are scored.

    The first question to meet a node looks for its terms in the text. At the second one tokens are
    counted once and for all: many nodes are never met again.

    Args:
        corpus: Sizes of the index.
        is_prose: Whether it is weighed as prose.
        lengths: Tokens by field.
        text: Its `FieldTokens.texts` by line.
    """

    __slots__ = ("_is_met", "_state", "saturation")

    def __init__(
        self, corpus: Corpus, *, is_prose: bool, lengths: Sequence[int], text: str
    ) -> None:
        kind, averages = (PROSE, corpus.prose) if is_prose else (CODE, corpus.code)
        fields = tuple(
            (weight / (1.0 - b + b * length / average), field)
            for weight, b, length, average, field in zip(
                kind.weights, kind.norms, lengths, averages, text.split("\n"), strict=True
            )
            if length
        )
        self.saturation = kind.saturation
        self._is_met = False
        # one object, so that threads never see the one part without the other
        self._state: tuple[Mapping[str, float] | None, _Fields] = (None, fields)

    def look(self) -> tuple[Mapping[str, float] | None, _Fields]:
        """What the occurrences of each token add up to, and fields that may hold other terms.

        The first time there is no sum, and all fields are there.
        """
        if self._is_met and self._state[0] is None:
            self._state = _counted(self._state[1])
        self._is_met = True
        return self._state


_Fields = tuple[tuple[float, str], ...]
"""What an occurrence counts in a field, and the tokens of the field."""


def _counted(fields: _Fields) -> tuple[Mapping[str, float], _Fields]:
    weighed: dict[str, float] = {}
    for weight, field in fields:
        for token, count in Counter(field.split()).items():
            # a token is one object, in however many nodes it stands
            weighed[intern(token)] = weighed.get(token, 0.0) + weight * count
    # questions ask for phrases in scripts beyond ASCII alone
    return weighed, tuple((weight, field) for weight, field in fields if not field.isascii())


def score(terms: Sequence[WeighedTerm], node: ScoredText) -> float:
    """BM25F of a node."""
    total, saturation = 0.0, node.saturation
    known, fields = node.look()
    for term in terms:
        words, weighed = term.term, 0.0
        if known is not None and len(words) == 1:
            weighed = known.get(words[0], 0.0)
        else:
            pattern = term.pattern
            for weight, field in fields:
                weighed += weight * field.count(pattern)
        if weighed:
            total += term.idf * weighed / (weighed + saturation)
    return total


def moments(terms: Sequence[WeighedTerm], corpus: Corpus) -> tuple[float, float]:
    """Mean and deviation of a question's scores over all nodes, without reading them.

    A node holds a term with chance p = n / N, one term apart from another. Where it does,
    t / (t + k1) is taken to be 0.5 on average and its square 0.28. So mean = Σ 0.5 · idf · p and
    variance = Σ idf² · (0.28 · p - 0.25 · p²). The deviation is at least a thirtieth of what lies
    between the mean and the best conceivable score, Σ idf, because relevance cannot tell apart
    what lies further out.
    """
    mean = variance = best = 0.0
    for term in terms:
        chance = term.nodes / corpus.nodes
        mean += _GAIN * term.idf * chance
        variance += term.idf**2 * (_GAIN_SQUARED * chance - (_GAIN * chance) ** 2)
        best += term.idf
    return mean, max(math.sqrt(variance), (best - mean) / _CEILING)
