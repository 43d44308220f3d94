"""Filling a number of tokens with fragments that repeat nothing (rulings K1 and K3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from acms_adapters.models import ContextFragment, Layout, LedgerEntry, LeftOut
from acms_adapters.models.fragment import detached
from acms_adapters.models.layout import SEPARATOR, render, render_fragment
from acms_adapters.pipeline.renderings import rerendered
from acms_adapters.pipeline.repetition import Readings
from acms_adapters.protocols import BackendSet, RenderingSource, TokenCounter
from acms_adapters.tokens import token_counter


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What fits, most important first.

    Attributes:
        kept: Copies of the fragments that fit, some at a lower depth.
        left_out: The others.
        rendered_tokens: Tokens of the kept fragments as they will be read.
        squeezed: Whether anything was lowered or left out for want of tokens.
    """

    kept: tuple[ContextFragment, ...] = ()
    left_out: tuple[LedgerEntry, ...] = ()
    rendered_tokens: int = 0
    squeezed: bool = False


def is_decision(fragment: ContextFragment) -> bool:
    """Whether a fragment tells of a decision."""
    kinds = (fragment.provenance.resource_type, fragment.metadata.get("resource_type"))
    return bool(fragment.metadata.get("decision_id")) or "decision" in kinds


@dataclass(frozen=True, slots=True)
class _Price:
    """Tokens as declared, and as counted where the text is read; both have to fit (ruling S4)."""

    declared: int
    rendered: int

    def __add__(self, other: _Price) -> _Price:
        return _Price(self.declared + other.declared, self.rendered + other.rendered)

    def without(self, others: Iterable[_Price]) -> _Price:
        declared, rendered = self.declared, self.rendered
        for other in others:
            declared -= other.declared
            rendered -= other.rendered
        return _Price(declared, rendered)

    def over(self, tokens: int) -> int:
        return max(self.declared, self.rendered) - tokens


class Fitting:
    """Fills a number of tokens, one node after the other."""

    def __init__(
        self,
        tokens: int,
        *,
        backends: BackendSet,
        layout: Layout,
        read: Sequence[ContextFragment],
    ) -> None:
        self._counter: TokenCounter = token_counter(backends.counter)
        self._tokens = tokens
        self._separator = self._counter.count(SEPARATOR)
        # every price includes a separator, but there is one fewer than fragments
        self._spent = _Price(0, -self._separator)
        self._renderings: RenderingSource | None = backends.renderings
        self._layout: Layout = layout
        self._read = Readings(read, twins=True)
        self._kept_texts = Readings()
        self._kept: dict[str, tuple[ContextFragment, _Price]] = {}
        self._whole: int | None = None
        self._left_out: list[LedgerEntry] = []
        self._squeezed = False

    def offer(self, group: Sequence[ContextFragment]) -> None:
        """Take the deepest rendering that fits and repeats nothing.

        Args:
            group: The renderings of one node that there are, deepest first.
        """
        repeats: tuple[LeftOut, str | None] | None = None
        missing: int | None = None
        for option in self._options(group):
            verdict = self._repetition(option)
            if verdict is not None:
                repeats = repeats or verdict
                continue
            price = self._price(option)
            swallowed = self._kept_texts.inside(option)
            spent = self._spent.without(self._kept[name][1] for name in swallowed)
            if self._fits(option, spent + price, swallowed):
                self._admit(option, price, swallowed)
                self._superseded(group, option)
                return
            self._squeezed = True
            over = (spent + price).over(self._tokens)
            missing = over if missing is None else min(missing, over)
        had = max(0, -self._spent.over(self._tokens))
        for fragment in group:
            if missing is not None:
                self._leave_out(fragment, LeftOut.OVER_BUDGET, needed=had + missing, had=had)
            elif repeats is not None:
                self._leave_out(fragment, repeats[0], other=repeats[1])

    def result(self) -> Skeleton:
        """What was kept; its whole text is counted once more."""
        kept = list(self._kept.values())
        while kept:
            rendered = self._count(*(fragment for fragment, _ in kept))
            if rendered <= self._tokens:
                break
            self._squeezed = True
            dropped, _ = kept.pop()
            self._leave_out(dropped, LeftOut.OVER_BUDGET, needed=rendered, had=self._tokens)
        return Skeleton(
            tuple(detached(fragment) for fragment, _ in kept),
            tuple(self._left_out),
            rendered if kept else 0,
            self._squeezed,
        )

    def _options(self, group: Sequence[ContextFragment]) -> Iterator[ContextFragment]:
        deepest, own = group[0], {fragment.detail_depth: fragment for fragment in group}
        source = self._renderings
        depths = set(own)
        if source is not None:
            known = source.depths(deepest.uko_node)
            depths.update(depth for depth in known if depth < deepest.detail_depth)
        for depth in sorted(depths, reverse=True):
            if depth in own:
                yield own[depth]
            elif source is not None and (rendering := source.at(deepest.uko_node, depth)):
                yield rerendered(deepest, rendering, count=self._counter.count)

    def _repetition(self, option: ContextFragment) -> tuple[LeftOut, str | None] | None:
        if not option.content.strip():
            return LeftOut.EMPTY, None
        if option.fragment_id in self._kept:
            return LeftOut.DUPLICATE, option.fragment_id
        verdict = self._read.repeated_by(option) or self._kept_texts.repeated_by(option)
        if verdict is not None:
            return verdict
        # a decision is not given up for the text around it
        kept = self._kept_texts.inside(option)
        decisions = [name for name in kept if is_decision(self._kept[name][0])]
        inside = [*self._read.inside(option), *decisions]
        return (LeftOut.CONTAINED, inside[0]) if inside else None

    def _price(self, fragment: ContextFragment) -> _Price:
        counted = self._counter.count(render_fragment(fragment, self._layout))
        return _Price(fragment.token_count, counted + self._separator)

    def _fits(self, option: ContextFragment, spent: _Price, swallowed: Sequence[str]) -> bool:
        over = spent.over(self._tokens)
        if over <= 0:
            return True
        # pieces counted one by one are up to a token each above the text that they make
        if spent.declared > self._tokens or over > 1 + len(self._kept):
            return False
        return self._together(option, swallowed) <= self._tokens

    def _together(self, option: ContextFragment, swallowed: Sequence[str]) -> int:
        """Tokens of one text of all that is kept and an option.

        What is kept is counted once: where an option makes the text longer, only the join with the
        last one has to be looked at. `result` does not rely on that.
        """
        if swallowed:
            kept = (f for name, (f, _) in self._kept.items() if name not in swallowed)
            return self._count(*kept, option)
        if not self._kept:
            return self._count(option)
        if self._whole is None:
            self._whole = self._count(*(fragment for fragment, _ in self._kept.values()))
        last, _ = self._kept[next(reversed(self._kept))]
        return self._whole + self._count(last, option) - self._count(last)

    def _count(self, *fragments: ContextFragment) -> int:
        return self._counter.count(render(fragments, layout=self._layout))

    def _admit(self, fragment: ContextFragment, price: _Price, swallowed: Sequence[str]) -> None:
        known = self._whole is not None and not swallowed
        self._whole = self._together(fragment, swallowed) if known else None
        for name in swallowed:
            inner, freed = self._kept.pop(name)
            self._spent = self._spent.without([freed])
            self._kept_texts.discard(inner)
            self._leave_out(inner, LeftOut.CONTAINED, other=fragment.fragment_id)
        self._spent += price
        self._kept[fragment.fragment_id] = (fragment, price)
        self._kept_texts.add(fragment)

    def _superseded(self, group: Sequence[ContextFragment], kept: ContextFragment) -> None:
        for fragment in group:
            if fragment.fragment_id != kept.fragment_id:
                self._leave_out(fragment, LeftOut.SUPERSEDED_DEPTH, other=kept.fragment_id)

    def _leave_out(
        self,
        fragment: ContextFragment,
        reason: LeftOut,
        *,
        other: str | None = None,
        needed: int | None = None,
        had: int | None = None,
    ) -> None:
        self._left_out.append(LedgerEntry.of(fragment, reason, other=other, needed=needed, had=had))
