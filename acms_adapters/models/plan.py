"""Plans and their decisions (ruling M5)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from acms_adapters.models.base import FrozenModel, Metadata, Text, UtcDatetime, now_utc
from acms_adapters.models.fragment import Score
from acms_adapters.models.payload import ContextPayload, SkeletonMetadata
from acms_adapters.models.plan_context import PlanContext
from acms_adapters.models.request import ContextRequest
from acms_adapters.models.ulids import new_id

PlanStatus = Literal["active", "completed"]


class Decision(FrozenModel):
    """A decision taken in a plan.

    Attributes:
        plan_id: The plan it belongs to.
        text: What was decided and why.
        title: Short name.
        decision_id: ULID; made when left out.
        nodes: Nodes it is about.
        supersedes: Id of the decision it replaces.
        decided_at: When, in UTC.
        metadata: Anything else.
    """

    plan_id: str = Field(min_length=1)
    text: Text = Field(min_length=1)
    title: Text = ""
    decision_id: str = Field(default_factory=new_id, min_length=1)
    nodes: tuple[str, ...] = ()
    supersedes: str | None = None
    decided_at: UtcDatetime = Field(default_factory=now_utc)
    metadata: Metadata = Field(default_factory=dict)


class Plan(FrozenModel):
    """A unit of work with a context of its own.

    Attributes:
        title: What it is about.
        plan_id: ULID; made when left out.
        parent: Id of the parent plan.
        status: ``active`` or ``completed``.
        focus_nodes: Nodes it works on.
        context_payload: Its current context.
        context_hash: Hash of that context; derived from the payload when left out.
        skeleton_metadata: Receipt of the context it inherited; left out, that of the payload.
        skeleton_ratio: Fraction to remove from the context it inherits, 0 to 1; for children that
            have none, from its own.
        decisions: What was decided in it, in order.
        created_at: When, in UTC.
    """

    title: Text = ""
    plan_id: str = Field(default_factory=new_id, min_length=1)
    parent: str | None = None
    status: PlanStatus = "active"
    focus_nodes: tuple[str, ...] = ()
    context_payload: ContextPayload | None = None
    context_hash: str | None = None
    skeleton_metadata: SkeletonMetadata | None = None
    skeleton_ratio: Score | None = None
    decisions: tuple[Decision, ...] = ()
    created_at: UtcDatetime = Field(default_factory=now_utc)

    @model_validator(mode="after")
    def _derive_from_payload(self) -> Self:
        if (payload := self.context_payload) is not None:
            for name in ("context_hash", "skeleton_metadata"):
                if getattr(self, name) is None:
                    object.__setattr__(self, name, getattr(payload, name))
        return self

    def record_decision(
        self,
        text: str,
        *,
        title: str = "",
        nodes: tuple[str, ...] = (),
        supersedes: str | None = None,
        decided_at: datetime | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Plan:
        """Give a plan that holds one more decision; this one stays as it is."""
        times = {} if decided_at is None else {"decided_at": decided_at}
        decision = Decision(
            plan_id=self.plan_id,
            text=text,
            title=title,
            nodes=nodes,
            supersedes=supersedes,
            metadata=metadata or {},
            **times,
        )
        return self.model_copy(update={"decisions": (*self.decisions, decision)})

    def context(self, ancestors: tuple[str, ...] = ()) -> PlanContext:
        """What strategies are told of this plan."""
        return PlanContext(
            plan_id=self.plan_id,
            parent_id=self.parent,
            ancestors=ancestors or ((self.parent,) if self.parent else ()),
            title=self.title,
            focus_nodes=self.focus_nodes,
            skeleton_ratio=self.skeleton_ratio,
        )

    def request(self, query: str | None = None, **fields: Any) -> ContextRequest:
        """Ask for this plan's context: its title and focus, unless `fields` say otherwise."""
        asked: dict[str, Any] = {
            "query": query or self.title or None,
            "plan_id": self.plan_id,
            "plan_context": self.context(),
            "focus_nodes": self.focus_nodes or None,
        }
        return ContextRequest(**{**asked, **fields})

    def as_cli_dict(self) -> dict[str, Any]:
        """A JSON-able summary for the command line; `skeleton` is None before any compression."""
        payload = self.context_payload
        return {
            "plan_id": self.plan_id,
            "title": self.title,
            "parent": self.parent,
            "status": self.status,
            "focus_nodes": list(self.focus_nodes),
            "decisions": len(self.decisions),
            "context_hash": self.context_hash,
            "context_tokens": payload.total_tokens if payload else None,
            "skeleton": (
                self.skeleton_metadata.model_dump(mode="json") if self.skeleton_metadata else None
            ),
            "created_at": self.created_at.isoformat(),
        }
