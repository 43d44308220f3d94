"""What was left out, and why (ruling F7)."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from acms_adapters.models.base import FrozenModel, Tier
from acms_adapters.models.fragment import ContextFragment


class LeftOut(StrEnum):
    """Why a candidate did not reach the model."""

    DUPLICATE = "duplicate"
    CONTAINED = "contained"
    SUPERSEDED_DEPTH = "superseded_depth"
    BELOW_THRESHOLD = "below_threshold"
    EXCLUDED_TIER = "excluded_tier"
    OUT_OF_SCOPE = "out_of_scope"
    OVER_BUDGET = "over_budget"
    BEYOND_SHARE = "beyond_share"
    BEYOND_LIMIT = "beyond_limit"
    LATE = "late"
    UNMATCHED = "unmatched"
    EMPTY = "empty"
    GUARD = "guard"
    GONE = "gone"


class LedgerEntry(FrozenModel):
    """One candidate that was left out.

    Attributes:
        fragment_id: The candidate.
        uko_node: The node it renders.
        detail_depth: Its depth.
        token_count: Its declared tokens.
        relevance_score: Its relevance.
        tier: Its tier.
        strategy: The strategy that brought it, where one did.
        reason: Why it was left out.
        other: Fragment id of what it duplicates, lies in, or gave way to.
        needed: Tokens that would have been needed.
        had: Tokens that were left.
        value: What was compared with `threshold`.
        threshold: The bound it missed.
    """

    fragment_id: str
    uko_node: str
    detail_depth: int
    token_count: int
    relevance_score: float
    tier: Tier
    strategy: str | None = None
    reason: LeftOut
    other: str | None = None
    needed: int | None = None
    had: int | None = None
    value: float | None = None
    threshold: float | None = None

    @classmethod
    def of(
        cls,
        fragment: ContextFragment,
        reason: LeftOut,
        *,
        strategy: str | None = None,
        other: str | None = None,
        needed: int | None = None,
        had: int | None = None,
        value: float | None = None,
        threshold: float | None = None,
    ) -> LedgerEntry:
        """Write down why `fragment` was left out; without a strategy, that of its provenance."""
        # The parts were validated as a fragment. There can be 100,000 of these, and even
        # `model_construct` takes three times as long.
        entry = object.__new__(cls)
        values = {
            "fragment_id": fragment.fragment_id,
            "uko_node": fragment.uko_node,
            "detail_depth": fragment.detail_depth,
            "token_count": fragment.token_count,
            "relevance_score": fragment.relevance_score,
            "tier": fragment.tier,
            "strategy": fragment.provenance.strategy if strategy is None else strategy,
            "reason": reason,
            "other": other,
            "needed": needed,
            "had": had,
            "value": value,
            "threshold": threshold,
        }
        object.__setattr__(entry, "__dict__", values)
        object.__setattr__(entry, "__pydantic_fields_set__", _ENTRY_FIELDS)
        object.__setattr__(entry, "__pydantic_extra__", None)
        object.__setattr__(entry, "__pydantic_private__", None)
        return entry

    def explain(self) -> str:
        """The reason in words, with its numbers."""
        match self.reason:
            case LeftOut.OVER_BUDGET | LeftOut.GUARD | LeftOut.BEYOND_SHARE:
                return f"{self.reason.value}: needed {self.needed} tokens, had {self.had}"
            case LeftOut.DUPLICATE | LeftOut.CONTAINED | LeftOut.SUPERSEDED_DEPTH:
                return f"{self.reason.value}: see {self.other}"
            case LeftOut.BELOW_THRESHOLD:
                return f"{self.reason.value}: {self.value} is below {self.threshold}"
            case _:
                return self.reason.value


_ENTRY_FIELDS = set(LedgerEntry.model_fields)


class Ledger(FrozenModel):
    """All candidates that were left out, each once, in the order of the steps that did it.

    Attributes:
        entries: One for each candidate.
    """

    entries: tuple[LedgerEntry, ...] = Field(default=())

    def __len__(self) -> int:
        """Number of candidates left out."""
        return len(self.entries)

    def __bool__(self) -> bool:
        """Always true: an empty ledger is still a ledger."""
        return True

    def by_reason(self) -> dict[LeftOut, int]:
        """Count the entries of each reason that occurs."""
        counts: dict[LeftOut, int] = {}
        for entry in self.entries:
            counts[entry.reason] = counts.get(entry.reason, 0) + 1
        return counts

    @property
    def tokens_to_admit_next(self) -> int | None:
        """How many more tokens of budget would admit the next candidate; None if none waits."""
        gaps = [
            entry.needed - entry.had
            for entry in self.entries
            if entry.reason in (LeftOut.OVER_BUDGET, LeftOut.GUARD)
            and entry.needed is not None
            and entry.had is not None
        ]
        return max(1, min(gaps)) if gaps else None
