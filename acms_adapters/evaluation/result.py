"""What an evaluation found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self

from pydantic import Field

from acms_adapters.evaluation.measures import interval
from acms_adapters.models.base import FrozenModel

Split = Literal["all", "tune", "report"]
Measure = Literal["read", "located", "all_read", "answered", "precision", "tokens", "ndcg_10"]

_DIGITS = 6


class Figure(FrozenModel):
    """A mean over questions.

    Attributes:
        mean: The mean.
        low: Lower end of its 95 % interval.
        high: Upper end.
        questions: How many questions it is over.
    """

    mean: float
    low: float
    high: float
    questions: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Self | None:
        """Mean and interval of the values that are there; None if there are none."""
        there = [value for value in values if value is not None]
        if not there:
            return None
        low, high = interval(there)
        return cls(
            mean=round(sum(there) / len(there), _DIGITS),
            low=round(low, _DIGITS),
            high=round(high, _DIGITS),
            questions=len(there),
        )


class Row(FrozenModel):
    """What was measured of one question at one budget; fractions from 0 to 1.

    Attributes:
        question: Its id.
        read: Evidence that is in the context whole.
        located: Evidence of which anything is in the context.
        all_read: 1 when all evidence is read, else 0.
        answered: 1 when an answer stands in the context, else 0; None where none is known.
        precision: Tokens that are of evidence.
        tokens: Tokens of the text that is read.
        ndcg_10: nDCG of the ranking's first ten passages.
    """

    question: str
    read: float
    located: float
    all_read: float
    answered: float | None
    precision: float
    tokens: int
    ndcg_10: float


class BudgetResult(FrozenModel):
    """Everything at one budget.

    Attributes:
        budget: Tokens that were allowed.
        rows: By question, in the order of the data set.
    """

    budget: int
    read: Figure
    located: Figure
    all_read: Figure
    answered: Figure | None
    precision: Figure
    tokens: Figure
    ndcg_10: Figure
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, budget: int, rows: Sequence[Row]) -> Self:
        """Put rows together."""
        names = [name for name in Row.model_fields if name != "question"]
        figures = {name: Figure.of(getattr(row, name) for row in rows) for name in names}
        return cls(budget=budget, rows=tuple(rows), **figures)


class EvaluationResult(FrozenModel):
    """A system measured on a data set. Two runs are equal but for `times`.

    Attributes:
        system: What was measured.
        dataset: Name of the data set.
        fingerprint: Hash of its files.
        passages: How many there are.
        questions: How many were asked.
        unjudged: How many were left out, because the set names no evidence for them.
        split: Which of the questions were asked.
        embedder: Whose vectors were used.
        tokenizer: What tokens were counted by.
        settings: The configuration, where there is one.
        failures: How often a part failed, by its name.
        budgets: Figures by budget, in the order that was asked for.
        times: Milliseconds of a question by budget: median and 95th percentile.
    """

    system: str
    dataset: str
    fingerprint: str
    passages: int
    questions: int
    unjudged: int = 0
    split: Split = "all"
    embedder: str | None = None
    tokenizer: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    failures: dict[str, int] = Field(default_factory=dict)
    budgets: tuple[BudgetResult, ...]
    times: dict[int, dict[str, float]] = Field(default_factory=dict)

    def at(self, budget: int) -> BudgetResult:
        """Figures at one budget.

        Raises:
            ValueError: It was not asked for.
        """
        for result in self.budgets:
            if result.budget == budget:
                return result
        asked = [result.budget for result in self.budgets]
        raise ValueError(f"nothing was measured at {budget!r} tokens, only at {asked}")


def difference(
    ours: BudgetResult, theirs: BudgetResult, measure: Measure = "read"
) -> Figure | None:
    """How much more `ours` has, with its paired interval; budgets may differ.

    Returns:
        None where the measure is not known for any question.

    Raises:
        ValueError: They are not over the same questions.
    """
    if [row.question for row in ours.rows] != [row.question for row in theirs.rows]:
        raise ValueError("only results over the same questions can be compared")
    pairs = [
        (getattr(one, measure), getattr(other, measure))
        for one, other in zip(ours.rows, theirs.rows, strict=True)
    ]
    return Figure.of(a - b if a is not None and b is not None else None for a, b in pairs)
