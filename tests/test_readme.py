"""Every Python example of the README and the guides runs as it is printed."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
EXAMPLES = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    )
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_printed_example_runs(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "store.md").write_text("# Store\n\nSQLite is the truth: vectors can be made anew.\n")
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")


def test_the_readme_opens_with_the_two_commands() -> None:
    opening = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1]
    assert [line.split("#")[0].strip() for line in opening.strip().splitlines()] == [
        "make demo",
        "make test",
    ]
