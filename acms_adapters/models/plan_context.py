"""What strategies are told of the plan they work for (ruling M5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from acms_adapters.errors import RequestError
from acms_adapters.models.base import FrozenModel, Metadata, Text
from acms_adapters.models.fragment import Score


class PlanContext(FrozenModel):
    """The plan for which context is assembled; every field is optional.

    Attributes:
        plan_id: The plan.
        parent_id: Its parent.
        ancestors: Ids of its ancestors, nearest first, the parent included.
        title: What it is about.
        focus_nodes: Nodes it works on.
        skeleton_ratio: Fraction to remove from a parent's context, 0 to 1.
        metadata: Anything else.
    """

    plan_id: str | None = None
    parent_id: str | None = None
    ancestors: tuple[str, ...] = ()
    title: Text = ""
    focus_nodes: tuple[str, ...] = ()
    skeleton_ratio: Score | None = None
    metadata: Metadata = Field(default_factory=dict)

    @classmethod
    def of(cls, value: PlanContext | Mapping[str, Any]) -> PlanContext:
        """Read a plan context: itself or a mapping of its fields.

        Raises:
            RequestError: It is neither.
            ValueError: A field is unknown or outside its range.
        """
        if isinstance(value, PlanContext):
            return value
        if not isinstance(value, Mapping):
            raise RequestError(f"a plan context is a PlanContext or a mapping, not {value!r:.200}")
        return cls(**value)

    def distance(self, plan_id: str | None) -> int | None:
        """Steps from this plan up to `plan_id`: 0 for itself; None if it is no ancestor."""
        if plan_id is None:
            return None
        if plan_id == self.plan_id:
            return 0
        line = self.ancestors or ((self.parent_id,) if self.parent_id else ())
        return line.index(plan_id) + 1 if plan_id in line else None
