"""`acms eval`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from acms_adapters.cli.console import stderr, stdout
from acms_adapters.cli.store import TrustOption, settings

if TYPE_CHECKING:
    from acms_adapters.evaluation import EvaluationResult, Figure

ROWS = {
    "read": "evidence read whole",
    "located": "evidence located",
    "all_read": "all evidence read",
    "answered": "answer in context",
    "precision": "precision per token",
    "ndcg_10": "nDCG@10",
}


def evaluate(
    dataset: Annotated[
        Path, typer.Argument(help="Folder with corpus.jsonl, queries.jsonl and qrels.tsv.")
    ],
    *,
    store: Annotated[
        Path | None, typer.Option(help="Folder that keeps the indexed texts for the next run.")
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="N,N,…", help="Budgets in tokens.", show_default=True)
    ] = "512,1024,2048",
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write everything as JSON.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw recall against tokens, as .png or .svg."),
    ] = None,
    split: Annotated[
        Literal["all", "tune", "report"],
        typer.Option(help="All questions, or one of two halves: to choose by, or to tell."),
    ] = "all",
    limit: Annotated[int | None, typer.Option(help="Ask only the first so many.")] = None,
    profile: Annotated[
        Literal["spec", "tuned"] | None, typer.Option(help="In place of the configuration's.")
    ] = None,
    strategies: Annotated[
        str | None,
        typer.Option(metavar="NAME,…", help="Strategies to ask, in place of those enabled."),
    ] = None,
    trust: TrustOption = False,
) -> int:
    """Measure how much of the evidence a data set names is in the context, by budget."""
    from acms_adapters import evaluation
    from acms_adapters.evaluation.plot import check_plot
    from acms_adapters.evaluation.plot import plot as draw

    budgets = _budgets(budget)
    # a long run should not end with a file that cannot be written
    for file in filter(None, (json, plot)):
        if not file.parent.is_dir():
            raise typer.BadParameter(f"there is no folder {str(file.parent)!r} for {file.name!r}")
    if plot is not None:
        check_plot(plot)
    result = evaluation.evaluate(
        dataset,
        settings(trust=trust, over=_over(profile, strategies)),
        budgets=budgets,
        split=split,
        limit=limit,
        store=store,
    )
    stdout.print(figures_table(result))
    for name, times in result.failures.items():
        stderr.print(f"warning: {name} failed {times} times")
    if json is not None:
        json.write_text(result.model_dump_json(indent=2) + "\n", encoding="utf-8")
    if plot is not None:
        draw([result], plot)
    return 0


def figures_table(result: EvaluationResult) -> Table:
    """One column for each budget."""
    half = "" if result.split == "all" else f", half {result.split!r}"
    table = Table(
        title=f"{result.dataset}: {result.questions} questions{half}, {result.passages} passages",
        caption="mean and 95 % interval over the questions",
        title_justify="left",
        caption_justify="left",
        padding=(0, 0, 0, 1),
    )
    table.add_column("budget in tokens", no_wrap=True)
    for budget in result.budgets:
        table.add_column(str(budget.budget), justify="right")
    table.add_row("tokens used", *(f"{budget.tokens.mean:.0f}" for budget in result.budgets))
    for name, title in ROWS.items():
        cells = [_cell(getattr(budget, name)) for budget in result.budgets]
        if any(cells):
            table.add_row(title, *cells)
    times = (result.times[budget.budget]["median"] for budget in result.budgets)
    table.add_row("median ms a question", *(f"{time:.0f}" for time in times))
    return table


def _cell(figure: Figure | None) -> str:
    """Short enough for three budgets on a narrow terminal."""
    if figure is None:
        return ""
    low, high = (f"{end:.2f}".removeprefix("0") for end in (figure.low, figure.high))
    return f"{figure.mean:.3f} [{low} {high}]"


def _budgets(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no list of whole numbers such as 512,1024") from None


def _over(profile: str | None, strategies: str | None) -> dict[str, Any]:
    """What the options set, as a file would say it."""
    context: dict[str, Any] = {} if profile is None else {"profile": profile}
    if strategies is not None:
        names = [name.strip() for name in strategies.split(",") if name.strip()]
        context["strategies"] = {"enabled": names}
    return {"context": context} if context else {}
