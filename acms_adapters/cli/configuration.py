"""`acms strategies`, `acms project context set|list` and `acms plan status`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from acms_adapters.cli.console import FOUND_NOTHING, print_json, stderr, stdout
from acms_adapters.cli.store import (
    DEFAULT_STORE,
    JsonOption,
    StoreOption,
    TrustOption,
    open_to_read,
    settings,
)
from acms_adapters.cli.tables import pairs, strategies_tables
from acms_adapters.config import set_project
from acms_adapters.errors import RequestError
from acms_adapters.pipeline import SpecStrategyAdapter
from acms_adapters.registry import StrategyRegistry

project = typer.Typer(help="A project's own settings.", no_args_is_help=True)
context = typer.Typer(help="How context is assembled in this project.", no_args_is_help=True)
project.add_typer(context, name="context")
plan = typer.Typer(help="Plans and the context they inherit.", no_args_is_help=True)


def strategies(*, trust: TrustOption = False, json: JsonOption = False) -> int:
    """List the strategies there are, what they need, and whether they are enabled."""
    registry = StrategyRegistry(settings(trust=trust), adapt=SpecStrategyAdapter.bridge)
    enabled = {strategy.name for strategy in registry.enabled()}
    rows = [
        {
            "name": strategy.name,
            "enabled": strategy.name in enabled,
            "quality": strategy.capabilities.quality_score,
            "needs": list(strategy.capabilities.needs),
            "source": registry.source(strategy.name),
            "explanation": strategy.explain(),
        }
        for strategy in registry.all()
    ]
    if json:
        print_json({"strategies": rows, "problems": [str(p) for p in registry.problems]})
    else:
        for table in strategies_tables(rows):
            stdout.print(table)
        for problem in registry.problems:
            stderr.print(f"warning: {problem}")
    return 0


@context.command("set")
def set_context(
    *,
    strategy: Annotated[
        list[str] | None,
        typer.Option(help="Enable this strategy; may be repeated; replaces the whole list."),
    ] = None,
    skeleton_ratio: Annotated[
        float | None, typer.Option(help="Fraction of a parent's context to remove, 0 to 1.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="All tokens of a context.")] = None,
    reserved_tokens: Annotated[int | None, typer.Option(help="Tokens kept for other text.")] = None,
    profile: Annotated[str | None, typer.Option(help="spec or tuned.")] = None,
    default_strategy: Annotated[
        str | None, typer.Option(help="The one that runs when no other qualifies.")
    ] = None,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> int:
    """Set settings in .acms/config.toml of the current folder; the rest of it stays."""
    given: dict[str, Any] = {
        "enabled": strategy or None,
        "skeleton_ratio": skeleton_ratio,
        "max_tokens": max_tokens,
        "reserved_tokens": reserved_tokens,
        "profile": profile,
        "default_strategy": default_strategy,
    }
    values = {key: value for key, value in given.items() if value is not None}
    if not values:
        raise RequestError("nothing to set: name a setting, such as --skeleton-ratio 0.5")
    if named := [*values.get("enabled", ()), *filter(None, [default_strategy])]:
        registry = StrategyRegistry(settings(trust=trust), adapt=SpecStrategyAdapter.bridge)
        for name in named:
            registry.get(name)
    stderr.print(f"wrote {set_project(Path.cwd(), values)}")
    if json:
        print_json(values)
    return 0


@context.command("list")
def list_context(*, trust: TrustOption = False, json: JsonOption = False) -> int:
    """Show the settings that hold in the current folder."""
    values = settings(trust=trust).model_dump(mode="json")
    if json:
        print_json(values)
    else:
        stdout.print(pairs(values, title="Settings"))
    return 0


@plan.command("status")
def plan_status(
    plan_id: Annotated[str, typer.Argument(help="Id of the plan.")],
    *,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> int:
    """Show a recorded plan: its status, its decisions, and what it inherited."""
    with open_to_read(store) as source:
        temporal = source.backends().temporal
        found = temporal.plan(plan_id) if temporal else None
    if found is None:
        stderr.print(f"acms: there is no plan {plan_id!r} in {str(store)!r}")
        return FOUND_NOTHING
    if json:
        print_json(found.as_cli_dict())
    else:
        stdout.print(pairs(found.as_cli_dict(), title=f"Plan {plan_id}"))
    return 0
