"""Plans and decisions in a LangGraph store, each with all that it ever said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from acms_adapters.backends.sqlite.codec import dump_json, to_micros
from acms_adapters.backends.sqlite.records import Record
from acms_adapters.models import Decision, Plan, Tier

Kind = Literal["plan", "decision"]


def record_of(item: Plan | Decision, tier: Tier) -> Record:
    """A plan, without its decisions, or a decision as a record."""
    if isinstance(item, Plan):
        return Record(
            kind="plan",
            id=item.plan_id,
            plan_id=item.plan_id,
            parent=item.parent,
            tier=tier,
            moment=to_micros(item.created_at) or 0,
            data=dump_json(item.model_dump(exclude={"decisions"})),
        )
    return Record(
        kind="decision",
        id=item.decision_id,
        plan_id=item.plan_id,
        supersedes=item.supersedes,
        tier=tier,
        moment=to_micros(item.decided_at) or 0,
        data=dump_json(item.model_dump()),
    )


def current(value: Mapping[str, Any]) -> Record | None:
    """The version that holds now."""
    return _read(value["versions"][-1]) if value["versions"][-1]["until"] is None else None


def at(value: Mapping[str, Any], moment: int) -> Record | None:
    """The version that held at a moment, in microseconds."""
    for version in value["versions"]:
        until = version["until"]
        if version["from"] <= moment and (until is None or moment < until):
            return _read(version)
    return None


def with_version(
    value: Mapping[str, Any] | None, record: Record, *, now: int, sequence: int
) -> dict[str, Any] | None:
    """What is kept once `record` holds; None if it holds already.

    The first version holds from the record's own moment, a later one from now.
    """
    if value is None:
        start = min(record.moment, now)
        return {"versions": [_written(replace(record, valid_from=start, sequence=sequence))]}
    before = current(value)
    if before is not None and record == replace(before, valid_from=0, sequence=0):
        return None
    first = _read(value["versions"][0])
    ended = ended_at(value, now)
    latest = replace(record, valid_from=now, sequence=first.sequence)
    return {"versions": [*ended["versions"], _written(latest)]}


def ended_at(value: Mapping[str, Any], now: int) -> dict[str, Any]:
    """What is kept once nothing of it holds any more."""
    *past, latest = value["versions"]
    until = now if latest["until"] is None else latest["until"]
    return {"versions": [*past, {**latest, "until": until}]}


def _written(record: Record) -> dict[str, Any]:
    return {
        "kind": record.kind,
        "id": record.id,
        "plan_id": record.plan_id,
        "sequence": record.sequence,
        "parent": record.parent,
        "supersedes": record.supersedes,
        "tier": record.tier,
        "moment": record.moment,
        "from": record.valid_from,
        "until": None,
        "data": record.data.decode("utf-8", "surrogatepass"),
    }


def _read(version: Mapping[str, Any]) -> Record:
    known = {name: version[name] for name in version if name not in ("from", "until", "data")}
    return Record(
        **known,
        valid_from=version["from"],
        data=version["data"].encode("utf-8", "surrogatepass"),
    )
