"""Pages that are written from the code are up to date."""

import runpy
from pathlib import Path

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"


def test_s7_the_configuration_page_is_what_the_code_says() -> None:
    """S7.names."""
    made = runpy.run_path(str(REFERENCE / "generate.py"))
    written = (REFERENCE / "configuration.md").read_text(encoding="utf-8")
    assert made["page"]() == written, "run python docs/reference/generate.py"


def test_the_page_of_requirements_is_what_the_tests_list() -> None:
    made = runpy.run_path(str(REFERENCE / "generate.py"))
    written = (REFERENCE / "requirements.md").read_text(encoding="utf-8")
    assert made["requirements_page"]() == written, "run python docs/reference/generate.py"


def test_every_key_is_described() -> None:
    written = (REFERENCE / "configuration.md").read_text(encoding="utf-8")
    assert [line for line in written.splitlines() if line.endswith("|  |")] == []
