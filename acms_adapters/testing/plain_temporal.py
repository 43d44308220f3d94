"""A temporal backend as plain as can be: every version of every record in a list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from acms_adapters.models import Decision, FragmentProvenance, Plan, SearchHit, Tier
from acms_adapters.models.base import as_utc, now_utc
from acms_adapters.models.matching import in_scope
from acms_adapters.models.window import window_start


@dataclass(slots=True)
class _Version:
    """A record as it was from a moment until it was replaced, superseded or moved."""

    item: Plan | Decision
    tier: Tier
    start: datetime
    end: datetime | None = None

    @property
    def key(self) -> tuple[type, str]:
        item = self.item
        return type(item), item.plan_id if isinstance(item, Plan) else item.decision_id

    def lives(self, moment: datetime) -> bool:
        return self.start <= moment and (self.end is None or moment < self.end)


class PlainTemporal:
    """Keeps plans and decisions with the time in which each was so.

    Args:
        clock: Gives the present.
    """

    def __init__(self, clock: Callable[[], datetime] = now_utc) -> None:
        self._clock = clock
        self._versions: list[_Version] = []
        self._lock = threading.RLock()

    def query_by_tier(
        self,
        tier: Tier,
        *,
        window: str | None = None,
        plan_ids: Sequence[str] | None = None,
        as_of: datetime | None = None,
        limit: int | None = None,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
    ) -> list[SearchHit]:
        """Decisions of a tier inside a window that ends at `as_of` or now, newest first."""
        moment = self._moment(as_of)
        earliest = window_start(window, moment)
        if resource_types and "decision" not in resource_types:
            return []
        found = [
            (version.item, version.tier)
            for version in self._living(moment)
            if isinstance(version.item, Decision)
            and version.tier == tier
            and (earliest is None or version.item.decided_at >= earliest)
            and (plan_ids is None or version.item.plan_id in plan_ids)
            and in_scope(_uri(version.item), scope)
        ]
        found.sort(key=lambda pair: (-pair[0].decided_at.timestamp(), pair[0].decision_id))
        return [_hit(decision, its_tier) for decision, its_tier in found[:limit]]

    def record(self, item: Plan | Decision) -> None:
        """Keep a plan or a decision; the same id replaces what was recorded."""
        with self._lock:
            now = self._moment(None)
            if isinstance(item, Plan):
                self._replace(_Version(item.model_copy(update={"decisions": ()}), "warm", now))
                for decision in item.decisions:
                    self.record(decision)
                return
            if item.supersedes:
                self._end((Decision, item.supersedes), now)
            plan = self._current(Plan, item.plan_id)
            done = isinstance(plan, Plan) and plan.status == "completed"
            self._replace(_Version(item, "cold" if done else "warm", now))

    def archive(self, plan_id: str) -> int:
        """Complete a plan and move its records to the cold tier; how many were moved."""
        with self._lock:
            plan = self._current(Plan, plan_id)
            if not isinstance(plan, Plan) or plan.status == "completed":
                return 0
            now = self._moment(None)
            moved = self._decisions(plan_id, now)
            self._replace(_Version(plan.model_copy(update={"status": "completed"}), "cold", now))
            for decision in moved:
                self._replace(_Version(decision, "cold", now))
            return len(moved) + 1

    def plan(self, plan_id: str, *, as_of: datetime | None = None) -> Plan | None:
        """A recorded plan with its decisions, or None."""
        moment = self._moment(as_of)
        for version in self._living(moment):
            if isinstance(version.item, Plan) and version.item.plan_id == plan_id:
                decisions = tuple(self._decisions(plan_id, moment))
                return version.item.model_copy(update={"decisions": decisions})
        return None

    def ancestors(self, plan_id: str) -> list[str]:
        """Ids of a plan's ancestors, nearest first; ends on a cycle."""
        line = [plan_id]
        while isinstance(plan := self._current(Plan, line[-1]), Plan):
            if plan.parent is None or plan.parent in line:
                break
            line.append(plan.parent)
        return line[1:]

    def _moment(self, as_of: datetime | None) -> datetime:
        return as_utc(self._clock() if as_of is None else as_of)

    def _living(self, moment: datetime) -> list[_Version]:
        with self._lock:
            return [version for version in self._versions if version.lives(moment)]

    def _current(self, kind: type, key: str) -> Plan | Decision | None:
        living = self._living(self._moment(None))
        return next((version.item for version in living if version.key == (kind, key)), None)

    def _decisions(self, plan_id: str, moment: datetime) -> list[Decision]:
        items: list[Any] = [version.item for version in self._living(moment)]
        own = [item for item in items if isinstance(item, Decision) and item.plan_id == plan_id]
        return sorted(own, key=lambda decision: decision.decided_at)

    def _end(self, key: tuple[type, str], now: datetime) -> None:
        for version in self._versions:
            if version.end is None and version.key == key:
                version.end = now

    def _replace(self, version: _Version) -> None:
        self._end(version.key, version.start)
        self._versions.append(version)


def _uri(decision: Decision) -> str:
    return f"decision://{decision.plan_id}/{decision.decision_id}"


def _hit(decision: Decision, tier: Tier) -> SearchHit:
    metadata = {
        **decision.metadata,
        "decision_id": decision.decision_id,
        "plan_id": decision.plan_id,
        "title": decision.title,
        "nodes": list(decision.nodes),
    }
    return SearchHit(
        uko_node=_uri(decision),
        content=decision.text,
        metadata=metadata,
        provenance=FragmentProvenance(resource_uri=_uri(decision), resource_type="decision"),
        tier=tier,
        created_at=decision.decided_at,
    )
