"""Measuring what a pipeline finds: data sets, measures, results; see docs/reference/measures.md."""

from acms_adapters.evaluation.dataset import Dataset, Passage, Question, read_dataset
from acms_adapters.evaluation.index import open_store
from acms_adapters.evaluation.result import (
    BudgetResult,
    EvaluationResult,
    Figure,
    Row,
    difference,
)
from acms_adapters.evaluation.run import BUDGETS, evaluate

__all__ = [
    "BUDGETS",
    "BudgetResult",
    "Dataset",
    "EvaluationResult",
    "Figure",
    "Passage",
    "Question",
    "Row",
    "difference",
    "evaluate",
    "open_store",
    "read_dataset",
]
