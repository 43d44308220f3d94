"""`acms assemble` and `acms explain`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

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
from acms_adapters.cli.tables import explanation, many, unknown_focus, what_failed
from acms_adapters.models import ContextPayload, ContextRequest

QuestionArgument = Annotated[str, typer.Argument(help="What the context is for.")]


def _tokens(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise typer.BadParameter(f"{value!r} is no whole number of tokens") from None


BudgetOption = Annotated[
    int | None,
    typer.Option(
        "--budget", parser=_tokens, metavar="N", help="Tokens; the configuration's by default."
    ),
]
FocusOption = Annotated[
    list[str] | None, typer.Option("--focus", help="URI to start from; may be repeated.")
]
StrategyOption = Annotated[str | None, typer.Option("--strategy", help="Run this strategy alone.")]
TokenizerOption = Annotated[
    str | None, typer.Option("--tokenizer", help="Encoding or model whose tokens are counted.")
]


def command(show: Callable[[ContextPayload], None]) -> Callable[..., int]:
    """A command that assembles the context for a question, and shows it as `show` does."""

    def run(
        question: QuestionArgument,
        *,
        budget: BudgetOption = None,
        focus: FocusOption = None,
        strategy: StrategyOption = None,
        tokenizer: TokenizerOption = None,
        store: StoreOption = DEFAULT_STORE,
        trust: TrustOption = False,
        json: JsonOption = False,
    ) -> int:
        request = ContextRequest(query=question, focus_nodes=focus or None, tokenizer=tokenizer)
        configuration = settings(trust=trust)
        with open_to_read(store) as source:
            pipeline = source.pipeline(configuration)
            payload = pipeline.assemble(request, budget=budget, strategy=strategy)
        if json:
            print_json(payload.model_dump(mode="json"))
        else:
            show(payload)
        stderr.print(figures(payload))
        return 0 if payload.fragments else FOUND_NOTHING

    run.__doc__ = show.__doc__
    return run


def assemble(payload: ContextPayload) -> None:
    """Print the context for a question as a model would read it; figures go to stderr."""
    if payload.fragments:
        stdout.print(payload.render())


def explain(payload: ContextPayload) -> None:
    """Show what went in, what stayed out and why, and where the tokens went."""
    for table in explanation(payload):
        stdout.print(table)


def figures(payload: ContextPayload) -> str:
    """One line on what was assembled."""
    failures = "; ".join(what_failed(payload))
    failed = f", failed: {failures}" if failures else ""
    unknown = ", ".join(unknown_focus(payload))
    failed += f", not known: {unknown}" if unknown else ""
    return (
        f"{many(len(payload.fragments), 'fragment')}, {payload.rendered_tokens} of "
        f"{payload.available_tokens} tokens, {len(payload.ledger)} left out, "
        f"{payload.metrics['assembly_time_ms']:.0f} ms{failed}"
    )
