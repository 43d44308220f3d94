"""Nodes at less than their full depth: a sentence for its window, an excerpt for a long text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from acms_adapters.llamaindex.candidates import Candidate, Candidates
from acms_adapters.models import Rendering
from acms_adapters.models.fragment import MAX_DEPTH
from acms_adapters.pipeline.shortening import Excerpt, Shortening

SENTENCE_DEPTH = 4
"""Depth of a sentence whose full text is the window around it."""

_DEPTHS = tuple(range(MAX_DEPTH))
_MOST_SHORTENED = 8
"""Nodes of which a part is looked for; what ranks below them is hardly worth reading in part."""


@dataclass(eq=False)
class NodeDepths:
    """The way to a node's text at a depth (a `RenderingSource`).

    Below the full text, depth d keeps d + 1 tenths of its tokens; of a text larger than the
    budget, d + 1 ninths of the budget.

    Attributes:
        candidates: The nodes.
        available: Tokens of the budget.
        least: Tokens below which nothing is worth reading.
        query: The question that was asked.
    """

    candidates: Candidates
    available: int
    least: int
    query: str = ""
    _by_uri: dict[str, Candidate] = field(init=False)
    _excerpts: dict[tuple[str, int], Excerpt | None] = field(default_factory=dict)
    _shortenings: dict[str, Shortening] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index the candidates."""
        self._by_uri = {one.fragment.uko_node: one for one in self.candidates.all}

    def depths(self, node: str) -> Sequence[int]:
        """Depths there may be below the full one."""
        candidate = self._by_uri.get(node)
        if candidate is None or candidate.wording.before is None or candidate.holds_others:
            return ()
        return _DEPTHS if candidate.wording.window is None else (SENTENCE_DEPTH,)

    def at(self, node: str, depth: int) -> Rendering | None:
        """The text at that depth; None if the node cannot be rendered so."""
        candidate = self._by_uri.get(node)
        if candidate is None or depth not in self.depths(node):
            return None
        wording = candidate.wording
        if wording.window is not None:
            return Rendering(uko_node=node, detail_depth=depth, content=wording.text)
        if node not in self._shortenings and len(self._shortenings) >= _MOST_SHORTENED:
            return None
        excerpt = self.excerpt(node, depth)
        if excerpt is None:
            return None
        return Rendering(
            uko_node=node,
            detail_depth=depth,
            content=wording.saying(excerpt.text) + candidate.mark,
            token_count=excerpt.tokens,
        )

    def excerpt(self, node: str, depth: int) -> Excerpt | None:
        """What is kept of a node's content at a depth; None where that is nothing or all."""
        known = (node, depth)
        if known not in self._excerpts:
            self._excerpts[known] = self._shortened(self._by_uri[node], depth)
        return self._excerpts[known]

    def _shortened(self, candidate: Candidate, depth: int) -> Excerpt | None:
        tokens = candidate.fragment.token_count
        share = (depth + 1) / (10 if tokens <= self.available else MAX_DEPTH)
        target = share * min(tokens, self.available)
        if target < self.least:
            return None
        return self._shortening(candidate).within(target)

    def _shortening(self, candidate: Candidate) -> Shortening:
        """What shortens a node's content; it counts what stands around that as well."""
        node, wording = candidate.fragment.uko_node, candidate.wording
        if node not in self._shortenings:
            self._shortenings[node] = Shortening(
                wording.content,
                count=lambda text: self.candidates.counter.count(
                    wording.saying(text) + candidate.mark
                ),
                tokens=candidate.fragment.token_count,
                query=self.query,
            )
        return self._shortenings[node]
