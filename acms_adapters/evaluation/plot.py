"""A plot of what is read against the tokens it costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acms_adapters.errors import MissingExtraError
from acms_adapters.evaluation.result import EvaluationResult, Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")

_NAMES: dict[str, str] = {
    "read": "evidence read whole",
    "located": "evidence located at any depth",
    "all_read": "questions with all evidence read",
    "answered": "answer in the context",
    "precision": "tokens that are of evidence",
    "ndcg_10": "nDCG@10",
}
_MARKERS = "osD^vPX*<>"


def plot(
    results: Sequence[EvaluationResult],
    path: str | Path,
    *,
    measures: Sequence[Measure] = ("read", "located"),
) -> None:
    """Draw one panel for each measure, one line with its 95 % intervals for each result.

    Args:
        results: Systems measured on one data set.
        path: A file that ends in ``.png`` or ``.svg``.
        measures: What to draw; a measure that no result knows is left out.

    Raises:
        MissingExtraError: matplotlib is not installed.
        ValueError: The file ends otherwise, or there is nothing to draw.
    """
    path = Path(path)
    check_plot(path)
    shown = [name for name in measures if any(_points(result, name) for result in results)]
    if not shown:
        raise ValueError(f"nothing to plot: no result has any of {tuple(measures)!r}")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * len(shown), 4.2), layout="constrained")
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, name in zip(panels, shown, strict=True):
        _draw(axes, results, name)
    panels[0].legend(fontsize="small")
    figure.suptitle(", ".join(dict.fromkeys(result.dataset for result in results)))
    # without these an SVG would differ at every run
    steady: dict[str, Any] = {"Date": None} if path.suffix == ".svg" else {}
    with mpl.rc_context({"svg.hashsalt": "acms"}):
        figure.savefig(path, dpi=150, metadata=steady)


def check_plot(path: str | Path) -> None:
    """Refuse early what could not be drawn after a long run; errors as for `plot`."""
    if Path(path).suffix not in SUFFIXES:
        raise ValueError(f"a plot is written as {' or '.join(SUFFIXES)}, not {str(path)!r}")
    try:
        import matplotlib.figure  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError("a plot", extra="eval", package="matplotlib") from error


def _draw(axes: Axes, results: Sequence[EvaluationResult], name: Measure) -> None:
    for place, result in enumerate(results):
        points = _points(result, name)
        if not points:
            continue
        tokens, means, below, above = zip(*points, strict=True)
        axes.errorbar(
            tokens,
            means,
            yerr=(below, above),
            label=result.system,
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=5,
            linewidth=1.5,
            elinewidth=0.8,
            capsize=2,
        )
    budgets = sorted({budget.budget for result in results for budget in result.budgets})
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, labels=[f"{budget:,}" for budget in budgets])
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel("budget in tokens")
    axes.set_ylabel(_NAMES[name])
    axes.grid(visible=True, linewidth=0.4)


def _points(result: EvaluationResult, name: Measure) -> list[tuple[int, float, float, float]]:
    """Budget, mean, and how far the interval reaches below and above it."""
    found = []
    for budget in result.budgets:
        figure = getattr(budget, name)
        if figure is not None:
            low, high = figure.mean - figure.low, figure.high - figure.mean
            found.append((budget.budget, figure.mean, max(0.0, low), max(0.0, high)))
    return found
