"""Versions of plans and decisions: each holds from one moment to another (ruling T2)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import quote

from acms_adapters.backends.sqlite.codec import from_micros, load_json
from acms_adapters.backends.sqlite.filters import Condition
from acms_adapters.models import FragmentProvenance, SearchHit, Tier
from acms_adapters.models.fragment import MAX_DEPTH

Kind = Literal["plan", "decision"]

_COLUMNS = "kind, id, plan_id, sequence, parent, supersedes, tier, moment, valid_from, data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A plan or a decision as it stood from `valid_from` on; times in microseconds.

    Attributes:
        sequence: Place in the order in which ids were first recorded.
        parent: Plan above a plan.
        supersedes: Decision that a decision replaces.
        moment: When the plan was made or the decision taken.
        data: Its fields as JSON.
    """

    kind: Kind
    id: str
    plan_id: str
    sequence: int = 0
    parent: str | None = None
    supersedes: str | None = None
    tier: Tier
    moment: int
    valid_from: int = 0
    data: bytes

    @property
    def plan_uri(self) -> str:
        """The node of its plan."""
        return f"plan://{_quoted(self.plan_id)}"

    @property
    def uri(self) -> str:
        """Its node: decisions lie under their plan."""
        return self.plan_uri if self.kind == "plan" else f"{self.plan_uri}#{_quoted(self.id)}"

    @property
    def fields(self) -> dict[str, Any]:
        """Its fields, read anew."""
        return load_json(self.data)

    @property
    def nodes(self) -> list[str]:
        """Nodes it is about."""
        return list(self.fields["focus_nodes" if self.kind == "plan" else "nodes"])

    @property
    def content(self) -> str:
        """What is read of it."""
        fields = self.fields
        if self.kind == "decision":
            return str(fields["text"])
        focus = ", ".join(fields["focus_nodes"])
        return (fields["title"] or self.id) + (f"\nFocus: {focus}" if focus else "")

    @property
    def metadata(self) -> dict[str, Any]:
        """Its own metadata, and what it is known by."""
        fields = self.fields
        known = {"plan_id": self.plan_id, "nodes": self.nodes}
        if self.kind == "plan":
            title, status = fields["title"], fields["status"]
            return {**known, "title": title, "status": status, "parent": self.parent}
        named = {"title": fields["title"], "supersedes": self.supersedes}
        kept = {key: value for key, value in named.items() if value}
        return {**kept, **fields["metadata"], **known, "decision_id": self.id}

    def hit(self) -> SearchHit:
        """The record as an answer."""
        return SearchHit(
            uko_node=self.uri,
            content=self.content,
            detail_depth=MAX_DEPTH,
            metadata=self.metadata,
            provenance=FragmentProvenance(resource_uri=self.plan_uri, resource_type=self.kind),
            tier=self.tier,
            created_at=from_micros(self.moment),
        )


def _quoted(name: str) -> str:
    return quote(name, safe="", errors="replace")


def visible(at: int | None) -> Condition:
    """Versions that hold at a moment, or now, and that no decision supersedes by then.

    The row is called ``r``.
    """
    superseded = _holds("s", at)
    return _holds("r", at) & Condition(
        "NOT EXISTS (SELECT 1 FROM records s WHERE s.supersedes = r.id AND s.kind = 'decision'"
        f" AND r.kind = 'decision' AND s.id <> r.id AND {superseded.sql})",
        superseded.params,
    )


def _holds(row: str, at: int | None) -> Condition:
    if at is None:
        return Condition(f"{row}.valid_to IS NULL")
    return Condition(
        f"{row}.valid_from <= ? AND ({row}.valid_to IS NULL OR {row}.valid_to > ?)", (at, at)
    )


def find(
    connection: sqlite3.Connection, chosen: Condition, *, order: str = "r.sequence"
) -> Iterator[Record]:
    """Records that fulfil a condition on ``r``."""
    columns = ", ".join(f"r.{column}" for column in _COLUMNS.split(", "))
    rows = connection.execute(
        f"SELECT {columns} FROM records r WHERE {chosen.sql} ORDER BY {order}", chosen.params
    )
    return map(_read, rows)


def latest(connection: sqlite3.Connection, kind: Kind, id_: str) -> Record | None:
    """The version that holds now, superseded or not."""
    chosen = Condition("r.kind = ? AND r.id = ? AND r.valid_to IS NULL", (kind, id_))
    return next(find(connection, chosen), None)


def put(connection: sqlite3.Connection, record: Record, *, now: int) -> bool:
    """Write a version that takes the place of the one that holds; False if nothing changed.

    The first version holds from the record's own moment, a later one from its own where that lies
    between, else from now.
    """
    before = latest(connection, record.kind, record.id)
    start, sequence = min(record.moment, now), 0
    if before is not None:
        record = replace(record, sequence=before.sequence, valid_from=before.valid_from)
        if record == before:
            return False
        is_later = before.moment < record.moment <= now
        start = max(record.moment if is_later else now, before.valid_from)
        sequence = before.sequence
        connection.execute(
            "UPDATE records SET valid_to = ? WHERE kind = ? AND id = ? AND valid_to IS NULL",
            (start, record.kind, record.id),
        )
    else:
        row = connection.execute("SELECT coalesce(max(sequence), 0) + 1 FROM records").fetchone()
        sequence = row[0]
    written = replace(record, sequence=sequence, valid_from=start)
    connection.execute(
        f"INSERT INTO records ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [getattr(written, column) for column in _COLUMNS.split(", ")],
    )
    return True


def _read(row: Sequence[Any]) -> Record:
    return Record(**dict(zip(_COLUMNS.split(", "), row, strict=True)))
