"""Windows of time (ruling T1)."""

from datetime import UTC, datetime, timedelta

import pytest

from acms_adapters.errors import RequestError
from acms_adapters.models.window import parse_window, window_start

NOW = datetime(2024, 4, 19, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("window", "days"),
    [
        ("1d", 1),
        ("7d", 7),
        ("30d", 30),
        ("90d", 90),
        ("1y", 365),
        ("2w", 14),
        ("3m", 90),
        ("7D", 7),
        ("1Y", 365),
        (" 7d ", 7),
        ("400d", 400),
    ],
)
def test_t1_a_window_is_a_number_of_days_weeks_months_or_years(window: str, days: int) -> None:
    assert parse_window(window) == timedelta(days=days)
    assert window_start(window, NOW) == NOW - timedelta(days=days)


@pytest.mark.parametrize("window", ["all", "ALL", " All "])
def test_t1_all_has_no_start(window: str) -> None:
    assert parse_window(window) is None
    assert window_start(window, NOW) is None


@pytest.mark.parametrize(
    "window", ["", " ", "7", "d", "0d", "-7d", "7h", "7 d", "1.5d", "d7", "7dd", "week", "9999999y"]
)
def test_t1_anything_else_is_refused_by_name_and_with_an_example(window: str) -> None:
    with pytest.raises(RequestError, match="such as '7d'") as caught:
        parse_window(window)
    assert repr(window) in str(caught.value)


def test_a_window_that_reaches_beyond_the_calendar_has_no_start() -> None:
    assert window_start("999999y", NOW) is None


def test_no_window_has_no_start() -> None:
    assert window_start(None, NOW) is None


def test_m8_a_naive_now_is_utc() -> None:
    assert window_start("1d", datetime(2024, 4, 19, 14, 30)) == NOW - timedelta(days=1)
