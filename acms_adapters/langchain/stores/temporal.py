"""A LangGraph store as a temporal backend."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from langgraph.store.base import BaseStore

from acms_adapters.backends.sqlite.codec import to_micros
from acms_adapters.backends.sqlite.records import Record
from acms_adapters.errors import RequestError
from acms_adapters.langchain.stores import history
from acms_adapters.langchain.stores.namespaces import items_below, label
from acms_adapters.models import TIERS, Decision, Plan, SearchHit, Tier
from acms_adapters.models.base import now_utc
from acms_adapters.models.matching import in_scope
from acms_adapters.models.window import window_start


class LangGraphTemporalBackend:
    """Remembers plans and decisions in a LangGraph store, and what held when (rulings T1 to T3).

    Every record is read for a question, which suits what agents leave behind: hundreds of turns
    and thousands of decisions. Threads of one process may write at the same time; processes may
    not write the same plan at the same time, because a store has no transactions.

    Args:
        store: The store; it needs no index.
        namespace: Where in it the records lie.
        clock: Tells the time; read once for each call.
    """

    def __init__(
        self,
        store: BaseStore,
        *,
        namespace: Sequence[str] = ("acms",),
        clock: Callable[[], datetime] = now_utc,
    ) -> None:
        self._store = store
        self._plans = (*map(label, namespace), "plans")
        self._decisions = (*map(label, namespace), "decisions")
        self._clock = clock
        self._turn = threading.RLock()

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
        """Plans and decisions of a tier, newest first.

        Args:
            window: How far back from `as_of` or now, such as ``7d``.
            as_of: Answer as the store stood then.

        Raises:
            RequestError: An unknown tier or window, or a negative limit.
        """
        if tier not in TIERS:
            raise RequestError(f"tier must be one of {', '.join(TIERS)}, not {tier!r}")
        if limit is not None and limit < 0:
            raise RequestError(f"limit must be >= 0 or None, not {limit!r}")
        start = window_start(window, as_of or self._clock()) if window else None
        since = to_micros(start)
        records = [
            record
            for record in self._held(plan_ids, to_micros(as_of))
            if record.tier == tier
            and (since is None or record.moment >= since)
            and (not resource_types or record.kind in resource_types)
            and any(in_scope(place, scope) for place in (record.uri, *record.nodes))
        ]
        records.sort(key=lambda record: (-record.moment, -record.sequence, record.id))
        return [record.hit() for record in records[:limit]]

    def record(self, item: Plan | Decision) -> None:
        """Keep a plan with its decisions, or a decision; what its id said before is history."""
        now = self._now()
        with self._turn:
            if isinstance(item, Decision):
                self._put_decision(item, now)
                return
            self._put(history.record_of(item, _tier_of(item)), now)
            for decision in item.decisions:
                self._put_decision(decision, now)
            self._move(item.plan_id, _tier_of(item), now)

    def archive(self, plan_id: str) -> int:
        """Complete a plan; how many records moved to the cold tier, the plan included."""
        now = self._now()
        with self._turn:
            plan = self._plan_record(plan_id)
            moved = 0
            if plan is not None:
                done = Plan.model_validate({**plan.fields, "status": "completed"})
                moved += self._put(history.record_of(done, "cold"), now)
            return moved + self._move(plan_id, "cold", now)

    def plan(self, plan_id: str, *, as_of: datetime | None = None) -> Plan | None:
        """A plan with the decisions that hold, in the order they were recorded, or None."""
        moment = to_micros(as_of)
        plan = self._plan_record(plan_id, moment)
        if plan is None:
            return None
        held = sorted(self._decisions_of(plan_id, moment), key=lambda record: record.sequence)
        decisions = [record.fields for record in held]
        return Plan.model_validate({**plan.fields, "decisions": decisions})

    def ancestors(self, plan_id: str) -> list[str]:
        """Ids of a plan's ancestors, nearest first; ends on a cycle."""
        line = [plan_id]
        while (plan := self._plan_record(line[-1])) is not None:
            if plan.parent is None or plan.parent in line:
                break
            line.append(plan.parent)
        return line[1:]

    def _now(self) -> int:
        return to_micros(self._clock()) or 0

    def _held(self, plan_ids: Sequence[str] | None, moment: int | None) -> Iterator[Record]:
        if plan_ids is not None:
            for plan_id in dict.fromkeys(plan_ids):
                if (plan := self._plan_record(plan_id, moment)) is not None:
                    yield plan
                yield from self._decisions_of(plan_id, moment)
            return
        for namespace in (self._plans, self._decisions):
            items = items_below(self._store, namespace)
            yield from filter(None, (_held_by(item.value, moment) for item in items))

    def _plan_record(self, plan_id: str, moment: int | None = None) -> Record | None:
        item = self._store.get(self._plans, label(plan_id))
        return _held_by(item.value, moment) if item is not None else None

    def _decisions_of(self, plan_id: str, moment: int | None = None) -> Iterator[Record]:
        items = items_below(self._store, (*self._decisions, label(plan_id)))
        return filter(None, (_held_by(item.value, moment) for item in items))

    def _put_decision(self, decision: Decision, now: int) -> None:
        plan = self._plan_record(decision.plan_id)
        self._put(history.record_of(decision, "warm" if plan is None else plan.tier), now)
        if decision.supersedes is not None and decision.supersedes != decision.decision_id:
            self._end(decision.supersedes, now)

    def _put(self, record: Record, now: int) -> bool:
        """Keep a version; False if it holds already."""
        is_plan = record.kind == "plan"
        namespace = self._plans if is_plan else (*self._decisions, label(record.plan_id))
        before = self._store.get(namespace, label(record.id))
        sequence = 0
        if before is None and not is_plan:  # what is there already keeps its place
            sequence = sum(1 for _ in items_below(self._store, namespace))
        value = history.with_version(
            before.value if before is not None else None, record, now=now, sequence=sequence
        )
        if value is not None:
            self._store.put(namespace, label(record.id), value, index=False)
        return value is not None

    def _end(self, decision_id: str, now: int) -> None:
        for item in items_below(self._store, self._decisions):
            if item.key == label(decision_id) and history.current(item.value) is not None:
                value = history.ended_at(item.value, now)
                self._store.put(tuple(item.namespace), item.key, value, index=False)

    def _move(self, plan_id: str, tier: Tier, now: int) -> int:
        elsewhere = [record for record in self._decisions_of(plan_id) if record.tier != tier]
        return sum(
            self._put(replace(record, tier=tier, valid_from=0, sequence=0), now)
            for record in elsewhere
        )


def _held_by(value: dict[str, Any], moment: int | None) -> Record | None:
    return history.current(value) if moment is None else history.at(value, moment)


def _tier_of(plan: Plan) -> Tier:
    return "cold" if plan.status == "completed" else "warm"
