"""Compression to tokens: what a child plan reads of its parent's context (rulings K1 to K3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from acms_adapters.errors import BudgetError, RequestError
from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    Layout,
    Ledger,
    LedgerEntry,
    LeftOut,
)
from acms_adapters.pipeline.child_focus import FAR, ChildFocus, find_focus
from acms_adapters.pipeline.skeleton_fitting import Fitting, Skeleton, is_decision
from acms_adapters.pipeline.skeleton_service import (
    DEFAULT_SKELETON_RATIO,
    exact_ratio,
    receipt,
)
from acms_adapters.protocols import BackendSet

_DECISION, _HOT, _NEAR, _OTHER = range(4)


class SkeletonCompressor:
    """Compresses a parent's context for a child plan.

    Args:
        enabled: False never lowers or drops a part: the whole context is kept if it fits, else
            nothing.
        preserve_decisions: Keep decisions before anything else.
        preserve_hot_tier: Keep the hot tier before what is only near the child's focus.
    """

    def __init__(
        self,
        *,
        enabled: bool = True,
        preserve_decisions: bool = True,
        preserve_hot_tier: bool = True,
    ) -> None:
        self.enabled = enabled
        self.preserve_decisions = preserve_decisions
        self.preserve_hot_tier = preserve_hot_tier

    def compress(
        self,
        parent_context: ContextPayload,
        child_focus: Sequence[str] = (),
        skeleton_budget: int | None = None,
        *,
        backends: BackendSet | Mapping[str, Any] | None = None,
    ) -> ContextPayload:
        """Fit a parent's context into a number of tokens.

        Args:
            parent_context: The parent's context; it stays as it is.
            child_focus: Nodes the child plan works on.
            skeleton_budget: Most tokens that the rendered result may have, at least 0; None is
                the parent's tokens less `DEFAULT_SKELETON_RATIO`.
            backends: Its counter counts, its renderings give lower depths, its graph tells what
                is one hop from the focus; each may be missing.

        Returns:
            A payload with the kept fragments in the order of their importance.

        Raises:
            ValueError: A budget below 0, or an argument of another type.
        """
        if not isinstance(parent_context, ContextPayload):
            raise RequestError(f"parent_context must be a ContextPayload, not {parent_context!r}")
        original = parent_context.total_tokens
        if skeleton_budget is None:
            skeleton_budget = int(original * (1 - exact_ratio(DEFAULT_SKELETON_RATIO)))
        skeleton = self.fit(
            parent_context.fragments,
            skeleton_budget,
            child_focus=child_focus,
            backends=BackendSet.of(backends),
            layout=parent_context.layout,
        )
        ratio = max(0.0, 1.0 - skeleton_budget / original) if original else 0.0
        return ContextPayload(
            fragments=skeleton.kept,
            # a budget of nothing cannot be written down; nothing is kept within it all the same
            budget=ContextBudget(max_tokens=max(1, skeleton_budget)),
            rendered_tokens=skeleton.rendered_tokens,
            strategies_used=parent_context.strategies_used,
            layout=parent_context.layout,
            assembled_at=parent_context.assembled_at,
            ledger=Ledger(entries=skeleton.left_out),
            skeleton_ids=tuple(fragment.fragment_id for fragment in skeleton.kept),
            skeleton_metadata=receipt(skeleton.kept, ratio=ratio, original_tokens=original),
        )

    def fit(
        self,
        fragments: Iterable[ContextFragment],
        tokens: int,
        *,
        child_focus: Sequence[str] = (),
        backends: BackendSet | None = None,
        layout: Layout = "payload",
        read: Sequence[ContextFragment] = (),
    ) -> Skeleton:
        """Keep what matters most to a child within a number of tokens.

        Decisions come first, then the hot tier, then what is near the focus, then the rest by
        relevance. What does not fit is tried at its lower depths and then skipped.

        Args:
            fragments: The parent's context, in any order.
            tokens: Most tokens of the kept fragments, both as declared and as rendered.
            child_focus: Nodes the child plan works on.
            backends: See `compress`.
            layout: How the text will be read.
            read: What the child reads anyway; nothing kept repeats it.
        """
        if type(tokens) is not int or tokens < 0:
            raise BudgetError(f"a skeleton's budget is a whole number >= 0, not {tokens!r}")
        backends = BackendSet.of(backends)
        pool = tuple(fragments)
        focus = find_focus(child_focus, known=(*pool, *read), graph=backends.graph)
        fitting = Fitting(tokens, backends=backends, layout=layout, read=read)
        ranked = sorted(pool, key=lambda fragment: self._rank(fragment, focus))
        for group in _grouped(ranked):
            fitting.offer(group)
        skeleton = fitting.result()
        return skeleton if self.enabled or not skeleton.squeezed else _nothing(ranked, tokens)

    def _rank(self, fragment: ContextFragment, focus: ChildFocus) -> tuple[Any, ...]:
        distance = focus.distance(fragment)
        kind = _NEAR if distance < FAR else _OTHER
        if self.preserve_hot_tier and fragment.tier == "hot":
            kind = _HOT
        if self.preserve_decisions and is_decision(fragment):
            kind = _DECISION
        return (
            kind,
            distance,
            -fragment.relevance_score,
            -fragment.detail_depth,
            *fragment.key,
            fragment.fragment_id,
        )


def _nothing(fragments: Sequence[ContextFragment], tokens: int) -> Skeleton:
    needed = max(tokens + 1, sum(fragment.token_count for fragment in fragments))
    left_out = tuple(
        LedgerEntry.of(fragment, LeftOut.OVER_BUDGET, needed=needed, had=tokens)
        for fragment in fragments
    )
    return Skeleton(left_out=left_out, squeezed=True)


def _grouped(ranked: Iterable[ContextFragment]) -> list[list[ContextFragment]]:
    """Bring the depths of one node at one place together, deepest first (ruling F8)."""
    groups: dict[tuple[Any, ...], dict[int, ContextFragment]] = {}
    for fragment in ranked:
        place: tuple[Any, ...] = (fragment.uko_node, fragment.provenance.location)
        if fragment.detail_depth in groups.get(place, {}):
            # two texts at one depth are two things, or one thing twice
            place = (*place, len(groups))
        groups.setdefault(place, {})[fragment.detail_depth] = fragment
    return [[group[depth] for depth in sorted(group, reverse=True)] for group in groups.values()]
