"""Implement a new feature: let the database of a real code base be used asynchronously.

Decisions of earlier plans are part of what is read: the store keeps them beside the code.
"""

from __future__ import annotations

from worked_code_base import PROJECT, console, indexed_code_base, show, title

from acms_adapters import ContextBudget, ContextRequest, ContextStore, Plan

FOCUS = (f"{PROJECT}/db/impl/sqlite.py", f"{PROJECT}/db/impl/sqlite_pool.py")


def main() -> None:
    """Run the example."""
    with indexed_code_base() as store:
        remember(store)
        title("Assemble")
        request = ContextRequest(
            focus_nodes=FOCUS,
            keywords=("async", "io", "performance"),
            breadth=2,
            depth=3,
            resource_types=("source_file", "decision"),
            detail_level=4,
        )
        payload = store.pipeline().assemble(
            request,
            plan="plan-async-io",
            budget=ContextBudget(max_tokens=4096, reserved_tokens=512),
            strategy="arce",
        )
        show(payload)

        title("Use it in a plan")
        plan = Plan(
            plan_id="plan-async-io",
            title="Implement async I/O",
            context_payload=payload,
            context_hash=payload.context_hash,
        )
        console.print(f"Plan: {plan.title}, reads context {plan.context_hash}")
        title("The first it reads")
        console.print(payload.render()[:1000])


def remember(store: ContextStore) -> None:
    """Record what was decided about the database before."""
    temporal = store.backends().temporal
    assert temporal is not None
    temporal.record(
        Plan(plan_id="plan-pool", title="Pool connections").record_decision(
            "Each thread has its own connection, because SQLite's are not safe to share. "
            "Async I/O needs a pool of its own: a coroutine has no thread to keep one for.",
            title="One connection per thread",
            nodes=FOCUS,
        )
    )


if __name__ == "__main__":
    main()
