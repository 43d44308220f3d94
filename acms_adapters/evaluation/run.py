"""Asking every question of a data set at every budget."""

from __future__ import annotations

import hashlib
import math
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acms_adapters.config import Settings
from acms_adapters.evaluation.dataset import Dataset, Question, read_dataset
from acms_adapters.evaluation.index import open_store
from acms_adapters.evaluation.judge import Judge
from acms_adapters.evaluation.result import BudgetResult, EvaluationResult, Row, Split
from acms_adapters.indexing import ContextStore, Progress
from acms_adapters.indexing.progress import showing
from acms_adapters.indexing.vectors import AUTO
from acms_adapters.models import ContextPayload, ContextRequest
from acms_adapters.pipeline import ACMSPipeline
from acms_adapters.tokens import token_counter

BUDGETS = (512, 1024, 2048)


def evaluate(
    dataset: Dataset | str | Path,
    config: Settings | Mapping[str, Any] | None = None,
    *,
    budgets: Sequence[int] = BUDGETS,
    split: Split = "all",
    limit: int | None = None,
    strategy: str | None = None,
    store: str | Path | None = None,
    embedder: Any = AUTO,
    progress: Progress | None = None,
) -> EvaluationResult:
    """Measure a configuration of the pipeline on a data set.

    Args:
        dataset: What `read_dataset` gave, or its folder.
        config: Settings, a mapping of them, or None for the defaults.
        budgets: Tokens of the text that is read, each from 1.
        split: All questions, or one of two halves by the hash of their ids: ``tune`` to choose
            by, ``report`` to tell.
        limit: Ask only so many of them, the first ones.
        strategy: Run this strategy alone.
        store: Folder in which the indexed texts are kept for the next run.
        embedder: For a set without vectors; see `open_store`.
        progress: Told what is done, how much of it, and of how much; left out, a bar on a terminal.

    Raises:
        ValueError: A budget or limit below 1, no question left, or a data set that cannot be.
    """
    data = dataset if isinstance(dataset, Dataset) else read_dataset(dataset)
    settings = Settings.of(config)
    asked = chosen_questions(data, split=split, limit=limit)
    check_budgets(budgets)
    with (
        showing(progress) as told,
        open_store(data, store, embedder=embedder, progress=told) as source,
    ):
        vectors = source.backends().embedder
        judge = Judge(data, _resources(source, asked))
        runs = _ask_all(source.pipeline(settings), judge, asked, budgets, strategy, told)
    return EvaluationResult(
        system="acms" if strategy is None else f"acms {strategy}",
        dataset=data.name,
        fingerprint=data.fingerprint,
        passages=len(data.passages),
        questions=len(asked),
        unjudged=data.unjudged,
        split=split,
        embedder=vectors.name if vectors else None,
        tokenizer=token_counter().name,
        settings=settings.model_dump(mode="json"),
        failures=dict(sorted(runs.failures.items())),
        budgets=tuple(BudgetResult.of(budget, runs.rows[budget]) for budget in budgets),
        times={budget: time_figures(runs.times[budget]) for budget in budgets},
    )


def chosen_questions(
    dataset: Dataset, *, split: Split = "all", limit: int | None = None
) -> tuple[Question, ...]:
    """The questions of a half, at most `limit` of them.

    Raises:
        ValueError: The limit is below 1, or none is left.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be 1 or more, not {limit!r}")
    asked = [q for q in dataset.questions if split in ("all", half_of(q.id))][:limit]
    if not asked:
        raise ValueError(f"{dataset.name!r} has no question with evidence in its half {split!r}")
    return tuple(asked)


def half_of(question: str) -> Split:
    """The half that a question belongs to, by the hash of its id."""
    return "tune" if hashlib.sha256(question.encode()).digest()[0] % 2 == 0 else "report"


def check_budgets(budgets: Sequence[int]) -> None:
    """Refuse budgets that cannot be."""
    if not budgets or any(budget < 1 for budget in budgets) or len(set(budgets)) != len(budgets):
        raise ValueError(f"budgets must be different numbers from 1, not {tuple(budgets)!r}")


def time_figures(times: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile of milliseconds."""
    at = max(0, math.ceil(0.95 * len(times)) - 1)
    return {"median": round(statistics.median(times), 3), "p95": round(sorted(times)[at], 3)}


class _Runs:
    def __init__(self, budgets: Sequence[int]) -> None:
        self.rows: dict[int, list[Row]] = {budget: [] for budget in budgets}
        self.times: dict[int, list[float]] = {budget: [] for budget in budgets}
        self.failures: Counter[str] = Counter()


def _ask_all(
    pipeline: ACMSPipeline,
    judge: Judge,
    asked: Sequence[Question],
    budgets: Sequence[int],
    strategy: str | None,
    progress: Progress,
) -> _Runs:
    runs = _Runs(budgets)

    def ask(question: Question, budget: int) -> ContextPayload:
        return pipeline.assemble(
            request_of(question),
            budget=budget,
            strategy=strategy,
            layout="bare",
            on_failure="degrade",
        )

    ask(asked[0], budgets[0])  # what is made once is not counted
    for done, question in enumerate(asked, start=1):
        for budget in budgets:
            started = time.perf_counter()
            payload = ask(question, budget)
            runs.times[budget].append((time.perf_counter() - started) * 1000.0)
            runs.failures.update(failure.strategy for failure in payload.failures)
            runs.rows[budget].append(judge.payload_row(question, payload))
        progress("asking", done, len(asked))
    return runs


def _resources(store: ContextStore, asked: Sequence[Question]) -> dict[str, str]:
    """Where the store says that the evidence stands."""
    graph = store.backends().graph
    wanted = sorted({passage for question in asked for passage in question.evidence})
    hits = graph.get(wanted) if graph is not None else []
    return {hit.uko_node: hit.provenance.resource_uri for hit in hits if hit.provenance}


def request_of(question: Question) -> ContextRequest:
    """A question as a user asks it."""
    turns = tuple(text for _, text in question.history)
    return ContextRequest(query=question.text, history=turns or None)
