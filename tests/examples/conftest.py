"""Examples, run as scripts."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def examples() -> Path:
    """The folder of the examples."""
    return EXAMPLES


@pytest.fixture
def output(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """What an example prints that is run as a script without any key."""
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ACMS_EXAMPLE_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    for example in EXAMPLES.glob("*.py"):  # what another one imported
        monkeypatch.delitem(sys.modules, example.stem, raising=False)
    runpy.run_path(str(EXAMPLES / f"{request.param}.py"), run_name="__main__")
    return capsys.readouterr().out
