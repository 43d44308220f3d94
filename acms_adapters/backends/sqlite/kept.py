"""What was read of nodes, kept until somebody writes.

Questions to one store meet the same nodes again and again. What is kept holds for one generation of
one file, whoever wrote it, and is bounded whatever the store grows to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from acms_adapters.backends.analysis import Term
from acms_adapters.backends.sqlite.ranking import Corpus, ScoredText, WeighedTerm
from acms_adapters.models import Edge, Rendering, SearchHit

MOST_CHARS = 40_000_000
"""Characters that are kept, about; then all is forgotten and begins anew."""

MOST_QUESTIONS = 16
"""Questions whose scores are kept: those that are being asked."""

_OF_AN_ENTRY = 200  # what an object takes beside its text

Found = tuple[SearchHit, bytes | None]
"""A node without its metadata, and these as they are written: each hit gets its own."""

EdgeKey = tuple[str, str, tuple[str, ...], int | None]
"""A node, the direction, the relations and the limit."""


@dataclass(slots=True)
class Question:
    """What is known of the scores of a question.

    Attributes:
        terms: Its terms that stand in the index.
        raw: Scores before they are calibrated, by URI, of the nodes that were looked at.
    """

    terms: list[WeighedTerm]
    raw: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Kept:
    """What is known of nodes at one generation; shared by threads, which add what they read.

    Anything in it may be gone at the next look.

    Attributes:
        version: The file and its generation; None for what nobody else is to see.
        hits: Nodes as they are found.
        numbers: Numbers of nodes with tokens, by URI.
        tokens: What is scored, by the number of the node.
        renderings: All renderings of a node, ascending.
        edges: Edges as they are answered.
        names: Numbers of the rare names in a node.
        holders: Nodes that hold a name.
        corpus: Sizes of the index.
        questions: The last ones.
    """

    version: dict[str, Any] | None = None
    hits: dict[str, Found] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    tokens: dict[int, tuple[str, ScoredText]] = field(default_factory=dict)
    renderings: dict[str, tuple[Rendering, ...]] = field(default_factory=dict)
    edges: dict[EdgeKey, tuple[Edge, ...]] = field(default_factory=dict)
    names: dict[str, tuple[int, ...]] = field(default_factory=dict)
    holders: dict[int, tuple[str, ...]] = field(default_factory=dict)
    corpus: Corpus | None = None
    questions: dict[tuple[Term, ...], Question] = field(default_factory=dict)
    _chars: int = 0

    def charge(self, chars: int, entries: int = 1) -> None:
        """Count what is about to be added; where that is too much, forget everything else."""
        self._chars += chars + _OF_AN_ENTRY * entries
        if self._chars > MOST_CHARS:
            for known in (self.hits, self.numbers, self.tokens, self.renderings, self.edges):
                known.clear()
            self.names.clear()
            self.holders.clear()
            self._chars = chars + _OF_AN_ENTRY * entries

    def question(self, terms: tuple[Term, ...]) -> Question | None:
        """What is known of a question."""
        return self.questions.get(terms)

    def note(self, terms: tuple[Term, ...], question: Question) -> Question:
        """Keep what is known of a question, in place of an older one."""
        if len(self.questions) >= MOST_QUESTIONS:
            self.questions.clear()
        self.questions[terms] = question
        return question
