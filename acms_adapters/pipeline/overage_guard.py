"""The last check that a text is within its budget; it should never find anything to do."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from acms_adapters.models import ContextFragment, LedgerEntry, LeftOut
from acms_adapters.pipeline.outcome import Outcome
from acms_adapters.pipeline.pricing import Pricing
from acms_adapters.pipeline.ranking import preference

logger = logging.getLogger("acms_adapters")


def guard_overage(
    fragments: Iterable[ContextFragment],
    available: int,
    *,
    pricing: Pricing | None = None,
    rendered_tokens: int | None = None,
) -> Outcome:
    """Drop the least relevant fragments until the larger of both counts is within the budget.

    Each drop is a warning on the `acms_adapters` logger, with its numbers as fields of the record.

    Args:
        fragments: In reading order, which stays.
        available: Tokens there are.
        pricing: Counts the text that is read; left out, declared tokens are summed.
        rendered_tokens: Tokens of that text where they are known already.
    """
    pricing = pricing or Pricing()
    kept = list(fragments)
    left_out: list[LedgerEntry] = []
    rendered = pricing.rendered(tuple(kept)) if rendered_tokens is None else rendered_tokens
    declared = sum(fragment.token_count for fragment in kept)
    while kept and (tokens := max(declared, rendered)) > available:
        weakest = max(range(len(kept)), key=lambda index: preference(kept[index]))
        dropped = kept.pop(weakest)
        left_out.append(LedgerEntry.of(dropped, LeftOut.GUARD, needed=tokens, had=available))
        _warn(dropped, tokens, available)
        declared -= dropped.token_count
        rendered = pricing.rendered(tuple(kept))
    return Outcome(tuple(kept), tuple(left_out))


def _warn(fragment: ContextFragment, tokens: int, available: int) -> None:
    logger.warning(
        "dropped fragment %s of %s: %d tokens would be read and %d are available",
        fragment.fragment_id,
        fragment.uko_node,
        tokens,
        available,
        extra={
            "event": "overage_guard_drop",
            "fragment_id": fragment.fragment_id,
            "uko_node": fragment.uko_node,
            "relevance_score": fragment.relevance_score,
            "token_count": fragment.token_count,
            "tokens": tokens,
            "available_tokens": available,
        },
    )
