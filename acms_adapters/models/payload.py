"""What the model reads, and the account of how it came about."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    computed_field,
    field_validator,
    model_validator,
)

from acms_adapters.models import layout as layouts
from acms_adapters.models.base import (
    TIERS,
    FrozenModel,
    Metadata,
    Text,
    UtcDatetime,
    build_from_dump,
    now_utc,
)
from acms_adapters.models.budget import ContextBudget
from acms_adapters.models.fragment import ContextFragment, FragmentProvenance
from acms_adapters.models.layout import Layout
from acms_adapters.models.ledger import Ledger
from acms_adapters.models.strategy import StrategyFailure
from acms_adapters.models.ulids import new_id

_USED_TOLERANCE = 0.01  # a fraction printed with two places still agrees


class SkeletonMetadata(FrozenModel):
    """Receipt of one compression.

    Attributes:
        ratio: The fraction that was to be removed, 0 to 1.
        original_tokens: Tokens before.
        compressed_tokens: Tokens after.
        source_decision_ids: Decisions among the kept fragments, in their order.
    """

    ratio: float = Field(ge=0.0, le=1.0, allow_inf_nan=False)
    original_tokens: int = Field(ge=0)
    compressed_tokens: int = Field(ge=0)
    source_decision_ids: tuple[str, ...] = ()


class ContextPayload(FrozenModel):
    """The assembled context. Only `fragments` is required; the rest is derived (ruling M10).

    Attributes:
        fragments: What is read, in reading order, inherited fragments included.
        payload_id: ULID.
        plan_id: The plan it was assembled for.
        total_tokens: Sum of the fragments' token counts.
        rendered_tokens: Tokens of the rendered text as one string; left out, `total_tokens`.
        budget: What was available; left out, exactly what is used.
        budget_used: `total_tokens` / available tokens.
        strategies_used: Strategies that contributed, best first.
        context_hash: SHA-256 over what would be read and the budget (ruling M9).
        preamble: Summary in front of the fragments; empty for none.
        provenance_map: Fragment id to provenance.
        assembled_at: When, in UTC.
        layout: How the text is rendered.
        ledger: What was left out, and why.
        failures: Strategies that did not answer.
        strategy_stats: Each strategy's own figures, by its name, such as `ignored`, the focus nodes
            that nobody knew, or `failed_searches`, what it had to do without.
        degraded: True when every strategy failed: what is here was inherited or read before, or
            nothing is here and an empty result was asked for.
        skeleton_ids: Ids of the fragments that were inherited from a parent.
        skeleton_metadata: Receipt of that compression.
        metrics: Figures of the assembly.
        tokenizer: Name of the encoding or model that the request counted by; None where it named
            none.
    """

    fragments: tuple[ContextFragment, ...]
    payload_id: str = Field(default_factory=new_id)
    plan_id: str | None = None
    total_tokens: int = Field(default=-1, ge=0)
    rendered_tokens: int = Field(default=-1, ge=0)
    budget: ContextBudget = Field(default_factory=lambda data: _exactly(data.get("fragments", ())))
    budget_used: float = Field(default=-1.0, ge=0.0, allow_inf_nan=False)
    strategies_used: tuple[str, ...] = ()
    context_hash: str = ""
    preamble: Text = ""
    provenance_map: dict[str, FragmentProvenance] = Field(default_factory=dict)
    assembled_at: UtcDatetime = Field(default_factory=now_utc)
    layout: Layout = "payload"
    ledger: Ledger = Field(default_factory=Ledger)
    failures: tuple[StrategyFailure, ...] = ()
    strategy_stats: dict[str, Metadata] = Field(default_factory=dict)
    degraded: bool = False
    skeleton_ids: tuple[str, ...] = ()
    skeleton_metadata: SkeletonMetadata | None = None
    metrics: Metadata = Field(default_factory=dict)
    tokenizer: str | None = None

    @field_validator("budget", mode="before")
    @classmethod
    def _accept_number(cls, value: object) -> object:
        return ContextBudget.of(value) if isinstance(value, int) else value

    @model_validator(mode="wrap")
    @classmethod
    def _accept_dump(cls, data: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        return build_from_dump(data, build, derived=cls.model_computed_fields)

    @model_validator(mode="after")
    def _derive(self) -> Self:
        total = sum(fragment.token_count for fragment in self.fragments)
        self._agree("total_tokens", total, given=self.total_tokens >= 0)
        if self.rendered_tokens < 0:
            self._set("rendered_tokens", total)
        used = total / self.available_tokens
        if self.budget_used >= 0 and abs(self.budget_used - used) > _USED_TOLERANCE:
            raise ValueError(
                f"budget_used is {used:.4f} for these fragments, not {self.budget_used!r}"
            )
        self._set("budget_used", used)
        provenance = {f.fragment_id: f.provenance for f in self.fragments}
        self._agree("provenance_map", provenance, given=bool(self.provenance_map))
        unknown = set(self.skeleton_ids) - provenance.keys()
        if unknown:
            raise ValueError(f"skeleton_ids names fragments that are not there: {sorted(unknown)}")
        self._agree("context_hash", self._hash(), given=bool(self.context_hash))
        if not self.metrics:
            self._set("metrics", payload_metrics(self))
        return self

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _agree(self, name: str, derived: object, *, given: bool) -> None:
        if given and getattr(self, name) != derived:
            raise ValueError(
                f"{name} is {derived!r} for these fragments, not {getattr(self, name)!r}"
            )
        self._set(name, derived)

    def _hash(self) -> str:
        read = [self.render(), self.budget.max_tokens, self.budget.reserved_tokens]
        return hashlib.sha256(json.dumps(read).encode()).hexdigest()

    def render(self) -> str:
        """The text that the model reads, in this payload's layout."""
        return layouts.render(self.fragments, preamble=self.preamble, layout=self.layout)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def available_tokens(self) -> int:
        """Tokens that were available."""
        return self.budget.available_tokens

    @computed_field  # type: ignore[prop-decorator]
    @property
    def remaining_tokens(self) -> int:
        """Tokens left, by the larger of the two counts."""
        return self.available_tokens - max(self.total_tokens, self.rendered_tokens)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_within_budget(self) -> bool:
        """Whether both counts are within the budget."""
        return self.remaining_tokens >= 0

    @property
    def skeleton_fragments(self) -> tuple[ContextFragment, ...]:
        """The fragments that were inherited from a parent (ruling K4)."""
        inherited = set(self.skeleton_ids)
        return tuple(f for f in self.fragments if f.fragment_id in inherited)


def _exactly(fragments: tuple[ContextFragment, ...]) -> ContextBudget:
    return ContextBudget(max_tokens=max(1, sum(f.token_count for f in fragments)))


def payload_metrics(
    payload: ContextPayload,
    *,
    fragments_total: int | None = None,
    duplicates: int = 0,
    assembly_time_ms: float = 0.0,
    strategy_success_rate: float = 0.0,
) -> dict[str, Any]:
    """Figures of an assembled payload, each once, 0.0 where nothing was selected (ruling M10).

    Args:
        payload: The payload.
        fragments_total: Candidates there were; left out, those selected and those left out.
        duplicates: Candidates that were duplicates.
        assembly_time_ms: Wall-clock milliseconds of the whole assembly.
        strategy_success_rate: Fraction of the strategies run that answered.
    """
    chosen = payload.fragments
    count = len(chosen)
    total = count + len(payload.ledger) if fragments_total is None else fragments_total
    return {
        "payload_id": payload.payload_id,
        "plan_id": payload.plan_id,
        "assembly_time_ms": assembly_time_ms,
        "fragments_selected": count,
        "fragments_total": total,
        "coverage": count / total if total else 0.0,
        "tokens_used": payload.total_tokens,
        "budget_used": payload.budget_used,
        "remaining_tokens": payload.remaining_tokens,
        "strategies_used": list(payload.strategies_used),
        "avg_fragment_tokens": payload.total_tokens / count if count else 0.0,
        "avg_relevance": sum(f.relevance_score for f in chosen) / count if count else 0.0,
        "strategy_success_rate": strategy_success_rate,
        "dedup_ratio": duplicates / total if total else 0.0,
        "tier_distribution": {tier: sum(f.tier == tier for f in chosen) for tier in TIERS},
    }
