"""Plans and decisions over time (rulings M5, T1 to T3)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from acms_adapters.backends.sqlite.codec import dump_json, to_micros
from acms_adapters.backends.sqlite.database import Database
from acms_adapters.backends.sqlite.filters import Condition, one_of, strings
from acms_adapters.backends.sqlite.mirror import mirror
from acms_adapters.backends.sqlite.records import Record, find, latest, put, visible
from acms_adapters.errors import RequestError
from acms_adapters.models import TIERS, Decision, Plan, SearchHit, Tier
from acms_adapters.models.base import repair_text
from acms_adapters.models.matching import in_scope
from acms_adapters.models.window import window_start

_NEWEST_FIRST = "r.moment DESC, r.sequence DESC"


class SQLiteTemporalBackend:
    """Remembers plans and decisions, and what held when.

    Decisions of living plans are warm, those of completed plans cold. A record holds from its own
    moment on, until another version or a superseding decision takes its place.

    Args:
        clock: Tells the time; read once for each call.
    """

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

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
        """Plans and decisions of a tier, newest first, by when they were made or taken.

        A decision lies in a scope with its plan or with a node that it is about, or that its plan
        is about where it names none.

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
        since = to_micros(window_start(window, as_of or self._clock())) if window else None
        chosen = Condition("r.tier = ?", (tier,)) & visible(to_micros(as_of))
        if since is not None:
            chosen &= Condition("r.moment >= ?", (since,))
        if plan_ids is not None:
            chosen &= one_of("r.plan_id", strings("plan_ids", plan_ids))
        if kinds := strings("resource_types", resource_types):
            chosen &= one_of("r.kind", kinds)
        prefixes = strings("scope", scope)
        with self._database.reading() as connection:
            records = find(connection, chosen, order=_NEWEST_FIRST)
            inside = (r for r in records if not prefixes or _lies_in(connection, r, prefixes))
            return [record.hit() for record in islice(inside, limit)]

    def record(self, item: Plan | Decision) -> None:
        """Keep a plan with its decisions, or a decision; what its id said before is history."""
        now = to_micros(self._clock()) or 0
        with self._database.writing() as connection:
            if isinstance(item, Decision):
                _put_decision(connection, item, now=now)
                return
            _put(connection, _plan_record(item), now=now)
            for decision in item.decisions:
                _put_decision(connection, decision, now=now)
            _move(connection, item.plan_id, _tier_of(item), now=now)

    def archive(self, plan_id: str) -> int:
        """Complete a plan; how many records moved to the cold tier, the plan included."""
        now = to_micros(self._clock()) or 0
        with self._database.writing() as connection:
            plan = self._load(connection, repair_text(plan_id), None)
            moved = 0
            if plan is not None:
                done = plan.model_copy(update={"status": "completed"})
                moved += _put(connection, _plan_record(done), now=now)
            return moved + _move(connection, repair_text(plan_id), "cold", now=now)

    def plan(self, plan_id: str, *, as_of: datetime | None = None) -> Plan | None:
        """A plan with the decisions that hold, in the order they were recorded, or None."""
        with self._database.reading() as connection:
            return self._load(connection, repair_text(plan_id), to_micros(as_of))

    def ancestors(self, plan_id: str) -> list[str]:
        """Ids of a plan's ancestors, nearest first; ends on a cycle."""
        line: dict[str, None] = {repair_text(plan_id): None}
        with self._database.reading() as connection:
            while (plan := latest(connection, "plan", next(reversed(line)))) is not None:
                if plan.parent is None or plan.parent in line:
                    break
                line[plan.parent] = None
        return list(line)[1:]

    @staticmethod
    def _load(connection: sqlite3.Connection, plan_id: str, at: int | None) -> Plan | None:
        named = Condition("r.plan_id = ?", (plan_id,)) & visible(at)
        plan = next(find(connection, named & Condition("r.kind = 'plan'")), None)
        if plan is None:
            return None
        decisions = find(connection, named & Condition("r.kind = 'decision'"))
        return Plan.model_validate({**plan.fields, "decisions": [d.fields for d in decisions]})


def _tier_of(plan: Plan) -> Tier:
    return "cold" if plan.status == "completed" else "warm"


def _plan_record(plan: Plan) -> Record:
    plan_id = repair_text(plan.plan_id)
    return Record(
        kind="plan",
        id=plan_id,
        plan_id=plan_id,
        parent=None if plan.parent is None else repair_text(plan.parent),
        tier=_tier_of(plan),
        moment=to_micros(plan.created_at) or 0,
        data=dump_json(plan.model_dump(exclude={"decisions"})),
    )


def _put_decision(connection: sqlite3.Connection, decision: Decision, *, now: int) -> None:
    plan_id = repair_text(decision.plan_id)
    plan = latest(connection, "plan", plan_id)
    record = Record(
        kind="decision",
        id=repair_text(decision.decision_id),
        plan_id=plan_id,
        supersedes=None if decision.supersedes is None else repair_text(decision.supersedes),
        tier="warm" if plan is None else plan.tier,
        moment=to_micros(decision.decided_at) or 0,
        data=dump_json(decision.model_dump()),
    )
    _put(connection, record, now=now)


def _put(connection: sqlite3.Connection, record: Record, *, now: int) -> bool:
    before = latest(connection, record.kind, record.id)
    if not put(connection, record, now=now):
        return False
    mirror(connection, record, before)
    return True


def _move(connection: sqlite3.Connection, plan_id: str, tier: Tier, *, now: int) -> int:
    """Move the decisions of a plan to a tier; how many were elsewhere."""
    elsewhere = Condition(
        "r.plan_id = ? AND r.kind = 'decision' AND r.valid_to IS NULL AND r.tier <> ?",
        (plan_id, tier),
    )
    records = list(find(connection, elsewhere))
    return sum(_put(connection, replace(record, tier=tier), now=now) for record in records)


def _lies_in(connection: sqlite3.Connection, record: Record, scope: Sequence[str]) -> bool:
    return any(in_scope(place, scope) for place in _places(connection, record))


def _places(connection: sqlite3.Connection, record: Record) -> Iterator[str]:
    yield record.uri
    nodes = record.nodes
    if not nodes and record.kind == "decision":
        plan = latest(connection, "plan", record.plan_id)
        nodes = plan.nodes if plan is not None else []
    yield from nodes
