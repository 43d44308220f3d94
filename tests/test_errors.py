"""Errors on their way between processes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from acms_adapters import (
    ACMSError,
    BudgetError,
    EmbedderMismatchError,
    MissingExtraError,
    NothingAnsweredError,
    RequestError,
    StrategyFailure,
    UnknownNameError,
    WindowError,
)

ERRORS = [
    BudgetError("too small", needed=3, available=2),
    WindowError("too long", needed=3, available=2),
    RequestError("an empty question"),
    UnknownNameError("strategy", "keyword", ["simple-keyword", "arce"]),
    NothingAnsweredError([StrategyFailure(strategy="arce", kind="error", message="down")]),
    MissingExtraError("the agent", extra="agents", package="langgraph"),
    EmbedderMismatchError("3 dimensions met 2"),
]


def pickled(error: ACMSError) -> ACMSError:
    twin: ACMSError = pickle.loads(pickle.dumps(error))
    return twin


@pytest.mark.parametrize("twin_of", [pickled, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_comes_out_of_another_process_with_its_message_and_its_data(
    error: ACMSError, twin_of: Callable[[ACMSError], ACMSError]
) -> None:
    twin = twin_of(error)
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert vars(twin) == vars(error)
    assert getattr(twin, "name", None) == getattr(error, "name", None)
