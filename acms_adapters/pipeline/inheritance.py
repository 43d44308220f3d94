"""What a child plan inherits of its parent's context (ruling K4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    Layout,
    LedgerEntry,
    SkeletonMetadata,
)
from acms_adapters.models.request import InheritStrategy
from acms_adapters.pipeline.request_filter import wanted
from acms_adapters.pipeline.skeleton_compressor import SkeletonCompressor
from acms_adapters.pipeline.skeleton_service import DEFAULT_SKELETON_RATIO, exact_ratio, receipt
from acms_adapters.protocols import BackendSet

CHILD_SHARE = Fraction(15, 100)
"""Most of a child's available tokens that a skeleton may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inheritance:
    """What a child inherits.

    Attributes:
        strategy: What was done: ``full`` only when everything fitted.
        fragments: Copies of the inherited fragments, most important first.
        metadata: Receipt for the child's plan; None when there was nothing to inherit from.
        left_out: Every other fragment of the parent's context; none where nothing was wanted.
        rendered_tokens: Tokens to keep free for the fragments: as they will be read, or as they
            declare where that is more (ruling S4).
    """

    strategy: InheritStrategy = "none"
    fragments: tuple[ContextFragment, ...] = ()
    metadata: SkeletonMetadata | None = None
    left_out: tuple[LedgerEntry, ...] = ()
    rendered_tokens: int = 0


def wanted_strategy(request: ContextRequest) -> InheritStrategy:
    """How a request inherits: as it says, else by skeleton where there is a parent's context."""
    if request.parent_context is None:
        return "none"
    return request.inherit_strategy or "skeleton"


def resolve_ratio(request: ContextRequest, project_ratio: float | None = None) -> Fraction:
    """The ratio of the request, else of its plan, else of the project, else the default.

    Raises:
        ValueError: A ratio outside [0, 1].
    """
    plan = request.plan_context
    for ratio in (request.skeleton_ratio, plan.skeleton_ratio if plan else None, project_ratio):
        if ratio is not None:
            return exact_ratio(ratio)
    return exact_ratio(DEFAULT_SKELETON_RATIO)


def skeleton_allowance(
    request: ContextRequest, budget: ContextBudget | int, project_ratio: float | None = None
) -> int:
    """Most tokens that a skeleton may take of a child's budget.

    min(15 % of the available tokens, the parent's tokens x (1 - ratio)), rounded down.
    """
    if request.parent_context is None:
        return 0
    share = CHILD_SHARE * ContextBudget.of(budget).available_tokens
    left = request.parent_context.total_tokens * (1 - resolve_ratio(request, project_ratio))
    return math.floor(min(share, left))


def inherit(
    request: ContextRequest,
    budget: ContextBudget | int,
    *,
    fetched: Sequence[ContextFragment] = (),
    project_ratio: float | None = None,
    limit: int | None = None,
    backends: BackendSet | None = None,
    layout: Layout = "payload",
    compressor: SkeletonCompressor | None = None,
) -> Inheritance:
    """Decide what a child reads of its parent's context.

    ``full`` inherits everything that the child did not fetch itself, if that fits; else it does
    as ``skeleton``, which compresses the context into `skeleton_allowance`.

    Args:
        request: The child's request, with the parent's context.
        budget: The child's budget.
        fetched: What the child reads of its own; nothing inherited repeats it.
        project_ratio: Fraction to remove, where neither the request nor its plan says.
        limit: Tokens of the budget that are free; all, when left out.
        backends: Counter, renderings and graph; see `SkeletonCompressor.compress`.
        layout: How the text will be read.
        compressor: Compresses; None is one with its defaults.

    Raises:
        ValueError: A ratio, budget or limit outside its range.
    """
    parent, strategy = request.parent_context, wanted_strategy(request)
    if parent is None or strategy == "none":
        return Inheritance()
    available = ContextBudget.of(budget).available_tokens
    room = available if limit is None else min(available, max(0, limit))
    ratio = float(resolve_ratio(request, project_ratio))
    allowance = skeleton_allowance(request, budget, project_ratio)
    meant = wanted(parent.fragments, request)
    fit = partial(
        (compressor or SkeletonCompressor()).fit,
        meant.kept,
        child_focus=_focus(request),
        backends=backends,
        layout=layout,
        read=fetched,
    )
    skeleton = fit(room if strategy == "full" else min(allowance, room))
    if strategy == "full":
        if skeleton.squeezed:
            strategy, skeleton = "skeleton", fit(min(allowance, room))
        else:
            ratio = 0.0
    metadata = receipt(skeleton.kept, ratio=ratio, original_tokens=parent.total_tokens)
    return Inheritance(
        strategy=strategy,
        fragments=skeleton.kept,
        metadata=metadata,
        left_out=(*meant.left_out, *skeleton.left_out),
        rendered_tokens=max(skeleton.rendered_tokens, metadata.compressed_tokens),
    )


def _focus(request: ContextRequest) -> tuple[str, ...]:
    plan = request.plan_context
    return request.focus_nodes or (plan.focus_nodes if plan else ())
