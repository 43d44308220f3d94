"""Payloads as tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from acms_adapters.models import TIERS, ContextFragment, ContextPayload

LEFT_OUT_ROWS = 30
_NAME_WIDTH = 40
"""Characters up to which a name stands in one line."""


def explanation(payload: ContextPayload) -> Iterator[Table]:
    """What went in; what stayed out and why; tokens by strategy and tier; what failed, if any."""
    yield _went_in(payload)
    if payload.ledger.entries:
        yield _left_out(payload)
    yield _spent(payload)
    if failed := what_failed(payload):
        table = Table("what", title="Failed", title_justify="left")
        for what in failed:
            table.add_row(Text(what))
        yield table


def _went_in(payload: ContextPayload) -> Table:
    table = Table(title=f"In: {many(len(payload.fragments), 'fragment')}", title_justify="left")
    for name in ("node", "place", "found by"):
        table.add_column(name, overflow="fold")
    for name in ("depth", "tokens", "relevance", "tier"):
        table.add_column(name, justify="right")
    for fragment in payload.fragments:
        table.add_row(
            Text(fragment.uko_node),
            Text(fragment.provenance.location),
            Text(", ".join(found_by(fragment))),
            str(fragment.detail_depth),
            str(fragment.token_count),
            f"{fragment.relevance_score:.2f}",
            fragment.tier,
        )
    return table


def _left_out(payload: ContextPayload) -> Table:
    entries = payload.ledger.entries
    reasons = ", ".join(f"{n} {reason.value}" for reason, n in payload.ledger.by_reason().items())
    table = Table(title=f"Out: {many(len(entries), 'candidate')} ({reasons})", title_justify="left")
    table.add_column("node", overflow="fold")
    for name in ("depth", "tokens", "relevance"):
        table.add_column(name, justify="right")
    table.add_column("why", overflow="fold")
    names = {fragment.fragment_id: fragment.uko_node for fragment in payload.fragments}
    names.update((entry.fragment_id, entry.uko_node) for entry in entries)
    # that a node was found twice is least of what somebody who looks for it wants to know
    twice = {e.fragment_id for e in entries if names.get(e.other or "") == e.uko_node}
    for entry in sorted(entries, key=lambda e: e.fragment_id in twice)[:LEFT_OUT_ROWS]:
        why = entry.explain()
        if entry.fragment_id in twice:
            why = f"{entry.reason.value}: the same node, found once more"
        elif entry.other:
            why = why.replace(entry.other, names.get(entry.other, entry.other))
        table.add_row(
            Text(entry.uko_node),
            str(entry.detail_depth),
            str(entry.token_count),
            f"{entry.relevance_score:.2f}",
            Text(why),
        )
    if len(entries) > LEFT_OUT_ROWS:
        table.add_row(f"… and {len(entries) - LEFT_OUT_ROWS} more (--json shows all)")
    gap = payload.ledger.tokens_to_admit_next
    if gap is not None:
        table.caption = f"{gap} more tokens of budget would admit the next one"
    return table


def _spent(payload: ContextPayload) -> Table:
    table = Table(title="Tokens by strategy and tier", title_justify="left")
    table.add_column("strategy")
    for name in (*TIERS, "all"):
        table.add_column(name, justify="right")
    spent: Counter[tuple[str, str]] = Counter()
    for fragment in payload.fragments:
        # a fragment that several strategies found counts for the one that ranked it highest
        spent[found_by(fragment)[0], fragment.tier] += fragment.token_count
    for strategy in sorted({name for name, _ in spent}):
        by_tier = [spent[strategy, tier] for tier in TIERS]
        table.add_row(Text(strategy), *map(str, by_tier), str(sum(by_tier)))
    return table


def what_failed(payload: ContextPayload) -> list[str]:
    """Strategies that did not answer, and searches that others had to do without."""
    searches = (
        f"{name}: {search}"
        for name, stats in payload.strategy_stats.items()
        for search in stats.get("failed_searches", ())
    )
    return [*map(str, payload.failures), *searches]


def unknown_focus(payload: ContextPayload) -> list[str]:
    """Nodes of the focus that no strategy knows."""
    stats = payload.strategy_stats.values()
    return sorted({str(node) for found in stats for node in found.get("ignored", ())})


def found_by(fragment: ContextFragment) -> tuple[str, ...]:
    """Names of the strategies that found a fragment, the one that kept it first."""
    sources = (fragment.provenance, *fragment.provenance.merged)
    names = dict.fromkeys(source.strategy for source in sources if source.strategy)
    return tuple(names) or ("given",)


def many(number: int, noun: str) -> str:
    """A number of things, for people."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def strategies_tables(rows: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """A row for each strategy, and one for what it does, which is too long to stand beside."""
    table = Table(title="Strategies", title_justify="left")
    for name in ("name", "enabled", "quality", "needs"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(
            Text(row["name"]),
            "yes" if row["enabled"] else "no",
            f"{row['quality']:g}",
            ", ".join(row["needs"]),
        )
    yield table
    explained = {row["name"]: row["explanation"] for row in rows}
    yield pairs(explained, title="What they do")


def pairs(values: Mapping[str, Any], *, title: str) -> Table:
    """Names and values; a value that is a mapping itself is shown as JSON."""
    table = Table(title=Text(title), title_justify="left", show_header=False)
    table.add_column(no_wrap=max(map(len, values), default=0) <= _NAME_WIDTH, overflow="fold")
    table.add_column(overflow="fold")
    for name, value in values.items():
        shown = value if isinstance(value, str) else json.dumps(value, default=str)
        table.add_row(Text(name), Text(shown))
    return table
