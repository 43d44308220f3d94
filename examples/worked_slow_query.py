"""Investigate slow database queries: dig out what was decided of them, and the code it led to.

Three plans were completed before. The request asks about the last thirty days, so the oldest of
them stays out. What was archived is in the cold tier, which comes after the rest; a quota for each
tier leaves it room.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from worked_code_base import PROJECT, console, indexed_code_base, line, show, title

from acms_adapters import ContextBudget, ContextRequest, ContextStore, Plan, Settings

QUOTAS = Settings(tier_budget={"hot": 1000, "warm": 2000, "cold": 584})
SEGMENT = f"{PROJECT}/segment/impl/metadata/sqlite.py"


def main() -> None:
    """Run the example."""
    with indexed_code_base() as store:
        remember(store)
        title("Assemble")
        request = ContextRequest(
            focus_nodes=(SEGMENT,),
            keywords=("query", "performance", "slow", "index"),
            breadth=3,
            depth=2,
            resource_types=("source_file", "decision", "test"),
            detail_level=2,
            temporal_window="30d",
        )
        payload = store.pipeline(QUOTAS).assemble(
            request,
            plan="plan-debug-perf",
            budget=ContextBudget(max_tokens=4096, reserved_tokens=512),
            strategy="temporal-archaeology",
        )
        show(payload)

        title("Analyse")
        hot = [fragment for fragment in payload.fragments if fragment.tier == "hot"]
        console.print(f"Hot tier fragments: {len(hot)}")
        decided = [f for f in payload.fragments if f.provenance.resource_type == "decision"]
        for fragment in sorted(decided, key=lambda f: f.created_at, reverse=True):
            console.print(f"{fragment.created_at:%Y-%m-%d} {fragment.metadata['title']}")
            console.print(f"  {fragment.content}")
        recent = sorted(payload.fragments, key=lambda f: f.created_at, reverse=True)[:5]
        console.print("Recent changes:")
        for fragment in recent:
            console.print(f"  {line(fragment)}")


def remember(store: ContextStore) -> None:
    """Record three completed plans and what was decided in them."""
    decide(
        store,
        days_ago=4,
        title="Metadata is filtered in SQL",
        text="A filter on metadata becomes one SQL query with an index on key and value; "
        "filtering in Python made queries slow for large collections.",
        node=f"{SEGMENT}#SqliteMetadataSegment._where_map_criterion",
    )
    decide(
        store,
        days_ago=20,
        title="Full text has its own table",
        text="Documents are searched through a full-text index, because LIKE reads every row.",
        node=f"{SEGMENT}#SqliteMetadataSegment._where_doc_criterion",
    )
    decide(
        store,
        days_ago=200,
        title="The log is purged",
        text="What every segment has read is removed from the log, so that queries stay fast.",
        node=f"{PROJECT}/db/mixins/embeddings_queue.py#SqlEmbeddingsQueue.purge_log",
    )


def decide(store: ContextStore, *, days_ago: int, title: str, text: str, node: str) -> None:
    """Record a plan with one decision, and complete it."""
    temporal = store.backends().temporal
    assert temporal is not None
    then = datetime.now(UTC) - timedelta(days=days_ago)
    plan = Plan(title=title, created_at=then).record_decision(
        text, title=title, nodes=(node,), decided_at=then
    )
    temporal.record(plan)
    temporal.archive(plan.plan_id)


if __name__ == "__main__":
    main()
