"""Run a plan with two subplans: each has its own focus and inherits a skeleton of its parent's.

The subplans do not see each other's context, and the parent's stays as it was.
"""

from __future__ import annotations

from worked_code_base import PROJECT, console, indexed_code_base, show, title

from acms_adapters import ContextBudget, Plan
from acms_adapters.pipeline import PlanLifecycle


def main() -> None:
    """Run the example."""
    with indexed_code_base() as store:
        lifecycle = PlanLifecycle(store.pipeline())
        title("Parent: refactor")
        parent = lifecycle.create(
            Plan(plan_id="plan-refactor", title="Refactor", focus_nodes=(PROJECT,)),
            breadth=2,
            depth=2,
            detail_level=2,
            budget=ContextBudget(max_tokens=4096, reserved_tokens=512),
            strategy="arce",
        )
        before = describe(parent)

        for name, focus in (("auth", "auth/__init__.py"), ("db", "db/impl/sqlite.py")):
            title(f"Subplan: refactor {name}")
            subplan = lifecycle.spawn(
                parent,
                Plan(
                    plan_id=f"plan-refactor-{name}",
                    title=f"Refactor {name}",
                    focus_nodes=(f"{PROJECT}/{focus}",),
                ),
                inherit_strategy="skeleton",
                breadth=2,
                depth=3,
                detail_level=4,
                budget=ContextBudget(max_tokens=3584, reserved_tokens=512),
                strategy="breadth-depth-navigator",
            )
            describe(subplan)
            lifecycle.complete(subplan)

        title("Afterwards")
        temporal = store.backends().temporal
        assert temporal is not None
        kept = temporal.plan(parent.plan_id)
        unchanged = kept is not None and kept.context_hash == before
        console.print(f"The parent's context is {'unchanged' if unchanged else 'another one'}")
        for name in ("auth", "db"):
            recorded = temporal.plan(f"plan-refactor-{name}")
            assert recorded is not None
            console.print(f"{recorded.title}: {recorded.status}, child of {recorded.parent}")


def describe(plan: Plan) -> str:
    """Show a plan's context and what of it was inherited, and give its hash."""
    payload = plan.context_payload
    assert payload is not None
    show(payload, most=8)
    if (skeleton := plan.as_cli_dict()["skeleton"]) is not None:
        console.print(
            f"Inherited: {len(payload.skeleton_fragments)} fragments, "
            f"{skeleton['compressed_tokens']} of {skeleton['original_tokens']} tokens "
            f"at ratio {skeleton['ratio']:.2f}"
        )
    return payload.context_hash


if __name__ == "__main__":
    main()
