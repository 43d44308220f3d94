"""What the debug log tells of each strategy."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from acms_adapters.models import TIERS, StrategyResult

logger = logging.getLogger("acms_adapters")


def log_results(results: Iterable[StrategyResult], available_tokens: int) -> None:
    """Write a block of figures for each strategy that ran, at level DEBUG."""
    if logger.isEnabledFor(logging.DEBUG):
        for result in results:
            logger.debug("%s", describe(result, available_tokens))


def describe(result: StrategyResult, available_tokens: int) -> str:
    """The figures of one strategy, a line each."""
    found = result.fragments
    relevance = sum(f.relevance_score for f in found) / len(found) if found else 0.0
    tiers = ", ".join(f"{tier}={sum(f.tier == tier for f in found)}" for tier in TIERS)
    lines = [
        f"Strategy: {result.strategy_name}",
        f"Execution Time: {result.execution_time_ms:.0f}ms",
        f"Fragments: {len(found)}",
        f"Tokens: {result.tokens_used}",
        f"Budget Used: {result.tokens_used / available_tokens:.0%}",
        f"Avg Relevance: {relevance:.2f}",
        f"Tier Distribution: {tiers}",
        *(f"Failure: {error}" for error in result.errors),
    ]
    return "\n  ".join(lines)
