"""Scoring fragments by relevance, tier, recency and nearness to a plan (ruling F2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from acms_adapters.models import ContextFragment, ContextRequest, PlanContext, Tier
from acms_adapters.models.base import FrozenModel, as_utc
from acms_adapters.models.fragment import as_fragments
from acms_adapters.pipeline.ranking import Scored, packing_order

TIER_VALUES: Mapping[Tier, float] = {"hot": 1.0, "warm": 0.5, "cold": 0.0}
HALF_LIFE_DAYS = 30.0
PLAN_STEP = 0.5
"""What a step of distance between plans leaves of the plan value."""

_PLACES = 6
_DAY = 86_400.0

Weight = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class ScorerWeights(FrozenModel):
    """How much each factor counts; only their ratios matter, and one must be above 0.

    Attributes:
        relevance: What the strategy said.
        tier: 1 for hot, 0.5 for warm, 0 for cold.
        recency: Halves every 30 days of age.
        plan: 1 for a focus node and for the plan's own fragments (`metadata["plan_id"]`), halved
            by each step up to an ancestor.
        resource: 1 for a kind of resource the request names.
    """

    relevance: Weight = 0.4
    tier: Weight = 0.3
    recency: Weight = 0.2
    plan: Weight = 0.1
    resource: Weight = 0.0

    @model_validator(mode="after")
    def _weigh_something(self) -> Self:
        if not self.total > 0.0:
            raise ValueError("one of the scorer's weights must be above 0")
        return self

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return self.relevance + self.tier + self.recency + self.plan + self.resource


class FragmentScorer:
    """Scores fragments against each other.

    Args:
        weights: How much each factor counts.
    """

    def __init__(self, weights: ScorerWeights | None = None) -> None:
        self._weights = weights or ScorerWeights()

    def score(
        self,
        fragments: Iterable[ContextFragment],
        plan_context: PlanContext | Mapping[str, Any] | None = None,
        request: ContextRequest | Mapping[str, Any] | None = None,
    ) -> list[Scored]:
        """Fragments with scores in [0, 1], the best one 1, in descending order.

        Age is measured from the request's `as_of`, else from the newest fragment.
        """
        found = as_fragments(fragments)
        scores = score(
            found,
            self._weights,
            plan_context=read_plan(plan_context),
            request=ContextRequest.of(request),
        )
        return [(found[place], scores[place]) for place in packing_order(found, scores)]


def read_plan(value: PlanContext | Mapping[str, Any] | None) -> PlanContext | None:
    """Read a plan context: itself, a mapping of its fields (ruling M5), or none."""
    return None if value is None else PlanContext.of(value)


def score(
    fragments: tuple[ContextFragment, ...],
    weights: ScorerWeights | None,
    *,
    plan_context: PlanContext | None = None,
    request: ContextRequest | None = None,
    now: datetime | None = None,
) -> list[float]:
    """Scores of fragments, in the order given.

    Args:
        fragments: What to score.
        weights: How much each factor counts; None for relevance alone, as it is.
        plan_context: The plan; left out, that of the request.
        request: Names focus nodes, kinds of resource and `as_of`.
        now: No fragment counts as newer than this, where the request has no `as_of`.

    Age is measured from `as_of`, else from the newest fragment, so that equal fragments score
    equally at any time.
    """
    if weights is None:
        return [fragment.relevance_score for fragment in fragments]
    asked = request or ContextRequest()
    values = _Values(
        weights,
        plan=plan_context or asked.plan_context or PlanContext(),
        request=asked,
        now=asked.as_of or _newest(fragments, now),
    )
    raw = [values.of(fragment) for fragment in fragments]
    # normalised before rounding, so that a set of small scores keeps its order
    best = max(raw, default=0.0) or 1.0
    return [round(value / best, _PLACES) for value in raw]


def _newest(fragments: Iterable[ContextFragment], now: datetime | None) -> datetime | None:
    newest = max((fragment.created_at for fragment in fragments), default=None)
    return newest if now is None or newest is None else min(newest, as_utc(now))


class _Values:
    """Weighted sums for one request; factors without weight are not computed."""

    def __init__(
        self,
        weights: ScorerWeights,
        *,
        plan: PlanContext,
        request: ContextRequest,
        now: datetime | None,
    ) -> None:
        total = weights.total
        self._relevance = weights.relevance / total
        self._tiers = {tier: weights.tier / total * v for tier, v in TIER_VALUES.items()}
        self._recency = weights.recency / total
        self._plan = weights.plan / total
        self._resource = weights.resource / total
        self._context = plan
        self._focus = frozenset((*plan.focus_nodes, *(request.focus_nodes or ())))
        self._types = frozenset(request.resource_types or ())
        self._now = as_utc(now).timestamp() if now else 0.0

    def of(self, fragment: ContextFragment) -> float:
        """The weighted sum for one fragment, before it is normalised."""
        value = self._relevance * fragment.relevance_score + self._tiers[fragment.tier]
        if self._recency:
            age = max(0.0, self._now - fragment.created_at.timestamp()) / _DAY
            value += self._recency * 0.5 ** (age / HALF_LIFE_DAYS)
        if self._plan:
            value += self._plan * self._nearness(fragment)
        if self._resource and _resource_type(fragment) in self._types:
            value += self._resource
        return value

    def _nearness(self, fragment: ContextFragment) -> float:
        if fragment.uko_node in self._focus:
            return 1.0
        plan_id = fragment.metadata.get("plan_id")
        steps = self._context.distance(plan_id) if isinstance(plan_id, str) else None
        return 0.0 if steps is None else PLAN_STEP**steps


def _resource_type(fragment: ContextFragment) -> str:
    known = fragment.provenance.resource_type or fragment.metadata.get("resource_type")
    return known if isinstance(known, str) else ""
