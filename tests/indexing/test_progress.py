"""How far a call is: told to a function, shown on a terminal, else nobody's business."""

import importlib.util
import io
import sys

import pytest

from acms_adapters.indexing.progress import showing


class Terminal(io.StringIO):
    """A stderr that a person looks at."""

    def isatty(self) -> bool:
        return True


def test_a_function_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    with showing(lambda *said: told.append(said)) as progress:
        progress("reading", 1, 2)
    assert told == [("reading", 1, 2)]


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with showing(None) as progress:
        progress("reading", 1, 2)
        progress("embedding", 5, 5)
        progress("reading", 2, 2)
    assert "reading" in terminal.getvalue()
    assert "5/5" in terminal.getvalue()


def test_a_file_or_pipe_stays_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    with showing(None) as progress:
        progress("reading", 1, 2)
    assert quiet.getvalue() == ""


def test_without_rich_a_terminal_stays_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, find = Terminal(), importlib.util.find_spec
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "rich" else find(name)
    )
    with showing(None) as progress:
        progress("reading", 1, 2)
    assert terminal.getvalue() == ""
