"""The block of a payload that fits where it will stand (ruling A3)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from acms_adapters.models import ContextFragment, ContextPayload
from acms_adapters.models.layout import render
from acms_adapters.pipeline.fencing import fenced
from acms_adapters.pipeline.fusion import FusionEngine
from acms_adapters.pipeline.fusion_config import FusionConfig
from acms_adapters.pipeline.ranking import place
from acms_adapters.protocols import RenderingSource, TokenCounter

logger = logging.getLogger(__name__)

_TRIES = 8


def fence_tokens(counter: TokenCounter) -> int:
    """About what a block costs before anything is in it."""
    return counter.count(f"\n\n{fenced('')}")


def fit_block(
    payload: ContextPayload,
    tokens: int | None,
    *,
    counter: TokenCounter,
    cost: Callable[[str], int] | None = None,
    around: Sequence[str] = (),
    renderings: RenderingSource | None = None,
) -> str | None:
    """The block of a payload, of fewer fragments where it is too large; None if none of it fits.

    Args:
        payload: What is to be read.
        tokens: Most that the block may cost, its fence included; None for no bound.
        counter: Counts the texts.
        cost: What a block costs where it will stand; left out, its tokens.
        around: Tags between which it will stand.
        renderings: Where lower depths of a node come from.
    """
    if not payload.fragments:
        return None
    block = fenced(payload.render(), around=around)
    if tokens is None:
        return block
    charge = cost or counter.count
    engine = FusionEngine(FusionConfig(order="as-given"))
    over = charge(block) - tokens
    room = tokens - charge(fenced("", around=around))
    kept: Sequence[ContextFragment] = payload.fragments
    for _ in range(_TRIES):
        if over <= 0:
            _note(payload, kept, tokens)
            return block
        if room < 1:
            break
        kept = engine.fuse(
            payload.fragments, room, counter=counter, renderings=renderings, layout=payload.layout
        ).fragments
        text = render(kept, layout=payload.layout)
        if not text:
            break
        block = fenced(text, around=around)
        over = charge(block) - tokens
        # marks on what imitates the fence are not known before the block is there
        room = min(room, counter.count(text)) - over
    _note(payload, (), tokens)
    return None


def _note(payload: ContextPayload, kept: Sequence[ContextFragment], tokens: int) -> None:
    """Say what is not read, which the ledger of the payload cannot know."""
    read = {place(fragment) for fragment in kept}
    missing = [fragment.uko_node for fragment in payload.fragments if place(fragment) not in read]
    if missing:
        logger.info(
            "only %d tokens are left for context, so %d of its %d fragments are not read: %s",
            tokens,
            len(missing),
            len(payload.fragments),
            ", ".join(missing),
        )
