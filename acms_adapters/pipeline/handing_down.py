"""Compressing a context for a child with a task (rulings K1 to K4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from acms_adapters.errors import RequestError
from acms_adapters.models import ContextFragment, ContextPayload, Ledger
from acms_adapters.models.layout import render
from acms_adapters.pipeline.bounds import whole
from acms_adapters.pipeline.candidates import searchable
from acms_adapters.pipeline.shortening import shorten
from acms_adapters.pipeline.skeleton_compressor import SkeletonCompressor
from acms_adapters.pipeline.skeleton_service import DEFAULT_SKELETON_RATIO, exact_ratio, receipt
from acms_adapters.protocols import BackendSet, TokenCounter
from acms_adapters.tokens import token_counter

_WORTH_READING = 16
"""Tokens below which a part of a fragment is not worth reading."""


def hand_down(
    context: ContextPayload,
    task: str = "",
    *,
    ratio: float | None = None,
    tokens: int | None = None,
    focus_nodes: Sequence[str] = (),
    backends: BackendSet | Mapping[str, Any] | None = None,
) -> ContextPayload:
    """Compress a context for a child with a task.

    Decisions come first, then the hot tier, then what lies near the focus: `focus_nodes` and
    whatever holds words of the task, which is rated by how well it answers to them. Where not one
    fragment fits whole, a part of the first one is handed down.

    Args:
        context: The parent's; it stays as it is.
        task: What the child is to do, in words.
        ratio: Fraction to remove; left out with `tokens`, `DEFAULT_SKELETON_RATIO`.
        tokens: Most tokens that are kept, instead of a ratio.
        focus_nodes: Nodes that the child works on.
        backends: Its counter counts; its renderings and its graph help where they are there.

    Returns:
        A payload with the ids of the parent's fragments and a receipt, `skeleton_metadata`.

    Raises:
        ValueError: No payload, both a ratio and tokens, or one that is out of its range.
    """
    if not isinstance(context, ContextPayload):
        raise RequestError(f"context must be a ContextPayload, not {context!r:.80}")
    check_size(ratio, tokens)
    found = _relevance(context.fragments, task)
    near = (f.uko_node for f in context.fragments if f.fragment_id in found)
    compress = partial(
        SkeletonCompressor().compress,
        _rated(context, found),
        tuple(dict.fromkeys((*focus_nodes, *near))),
        backends=backends,
    )
    counter = token_counter(BackendSet.of(backends).counter)
    if tokens is not None:
        skeleton = compress(tokens)
        ratio = skeleton.skeleton_metadata.ratio if skeleton.skeleton_metadata else 0.0
    else:
        share = 1 - exact_ratio(DEFAULT_SKELETON_RATIO if ratio is None else ratio)
        ratio, tokens = float(1 - share), math.floor(context.total_tokens * share)
        skeleton = _by_share(context, share, compress, counter)
    if not skeleton.fragments and tokens:
        skeleton = _part(context, skeleton, compress, task=task, tokens=tokens, counter=counter)
    metadata = receipt(skeleton.fragments, ratio=ratio, original_tokens=context.total_tokens)
    return skeleton.model_copy(update={"plan_id": context.plan_id, "skeleton_metadata": metadata})


def check_size(ratio: float | None, tokens: int | None) -> None:
    """Refuse what is no size of a skeleton.

    Raises:
        ValueError: Both a ratio and tokens, or one that is out of its range.
    """
    if ratio is not None and tokens is not None:
        raise RequestError(f"name a ratio or tokens, not both: {ratio!r} and {tokens!r}")
    if ratio is not None:
        exact_ratio(ratio)
    if tokens is not None:
        whole(tokens, "tokens")


def _by_share(
    context: ContextPayload,
    share: Fraction,
    compress: Callable[[int], ContextPayload],
    counter: TokenCounter,
) -> ContextPayload:
    """Compress to a share of the tokens, as declared and as read alike (ruling S4).

    A whole context has headers and blank lines as well, so a bound on what is read that came from
    declared tokens alone would always drop something, even at a share of 1.
    """
    read = counter.count(render(context.fragments, layout=context.layout))
    declared = math.floor(context.total_tokens * share)
    tokens = math.floor(max(read, context.total_tokens) * share)
    skeleton = compress(tokens)
    while skeleton.total_tokens > declared:
        tokens -= skeleton.total_tokens - declared
        skeleton = compress(max(0, tokens))
    return skeleton


def _part(
    context: ContextPayload,
    skeleton: ContextPayload,
    compress: Callable[[int], ContextPayload],
    *,
    task: str,
    tokens: int,
    counter: TokenCounter,
) -> ContextPayload:
    """As many sentences of the most important fragment as fit, instead of nothing."""
    everything = compress(2 * sum(f.token_count + len(f.content) for f in context.fragments))
    if not everything.fragments:
        return skeleton
    first = everything.fragments[0].model_copy(update={"detail_depth": 0})

    def count(text: str) -> int:
        part = first.model_copy(update={"content": text})
        return counter.count(render([part], layout=context.layout))

    excerpt = shorten(first.content, tokens, count=count, query=task)
    used = counter.count(excerpt.text) if excerpt else 0
    if excerpt is None or used < _WORTH_READING:
        return skeleton
    entries = (e for e in skeleton.ledger.entries if e.fragment_id != first.fragment_id)
    return ContextPayload(
        fragments=(first.model_copy(update={"content": excerpt.text, "token_count": used}),),
        budget=skeleton.budget,
        rendered_tokens=excerpt.tokens,
        strategies_used=skeleton.strategies_used,
        layout=skeleton.layout,
        assembled_at=skeleton.assembled_at,
        ledger=Ledger(entries=tuple(entries)),
        skeleton_ids=(first.fragment_id,),
    )


def _rated(context: ContextPayload, found: Mapping[str, float]) -> ContextPayload:
    """A context with the relevance that its fragments have for a task; the others come after."""
    if not found:
        return context
    rated = (
        (f, 0.5 + 0.5 * found[f.fragment_id])
        if f.fragment_id in found
        else (f, 0.5 * f.relevance_score)
        for f in context.fragments
    )
    fragments = tuple(f.model_copy(update={"relevance_score": score}) for f, score in rated)
    return context.model_copy(update={"fragments": fragments})


def _relevance(fragments: tuple[ContextFragment, ...], task: str) -> dict[str, float]:
    """How well fragments answer to the words of a task, for those that hold any."""
    if not task.strip() or not fragments:
        return {}
    with searchable(fragments, base=BackendSet(), embedder=None) as candidates:
        text = candidates.backends.text
        hits = text.search(task, max_results=len(fragments)) if text is not None else ()
        return {
            member.fragment_id: hit.score
            for hit in hits
            for member in candidates.groups.get(hit.uko_node, ())
        }
