"""Review a change: the changed files first, then what the graph links to them, and their tests."""

from __future__ import annotations

from worked_code_base import PROJECT, console, indexed_code_base, line, short, show, title

from acms_adapters import ContextBudget, ContextPayload, ContextRequest, ContextStore, Plan

CHANGED = (
    f"{PROJECT}/auth/__init__.py",
    f"{PROJECT}/auth/simple_rbac_authz/__init__.py",
    f"{PROJECT}/test/auth/test_rbac_authz.py",
)


def main() -> None:
    """Run the example."""
    with indexed_code_base() as store:
        remember(store)
        title("Assemble")
        request = ContextRequest(
            focus_nodes=CHANGED,
            breadth=1,
            depth=4,
            resource_types=("source_file", "decision", "test"),
            detail_level=5,
            strategy_hints=("breadth-depth-navigator",),
        )
        payload = store.pipeline().assemble(
            request,
            plan="plan-review-pr",
            budget=ContextBudget(max_tokens=8192, reserved_tokens=512),
            strategy="breadth-depth-navigator",
        )
        show(payload)
        review(payload)


def review(payload: ContextPayload) -> None:
    """What a reviewer wants to know of it."""
    kinds = {
        "Related decisions": "decision",
        "Related tests": "test",
        "Related code": "source_file",
    }
    title("Review")
    console.print(f"Changed files: {', '.join(map(short, CHANGED))}")
    for name, kind in kinds.items():
        of_kind = [f for f in payload.fragments if f.provenance.resource_type == kind]
        console.print(f"{name}: {len(of_kind)}")
        for fragment in of_kind[:5]:
            console.print(f"  {line(fragment)}")


def remember(store: ContextStore) -> None:
    """Record what was decided about the rules of access."""
    temporal = store.backends().temporal
    assert temporal is not None
    temporal.record(
        Plan(plan_id="plan-access", title="Rules of access").record_decision(
            "Who a user is and what a user may do are asked of two providers, so that either can "
            "be replaced alone.",
            title="Authentication and authorization are apart",
            nodes=(CHANGED[0], CHANGED[1]),
        )
    )


if __name__ == "__main__":
    main()
