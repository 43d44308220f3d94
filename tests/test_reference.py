"""Pages that are written from the code are up to date and complete."""

from __future__ import annotations

import inspect
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acms_adapters import errors, pipeline
from acms_adapters.config.profiles import PROFILES, REASONS
from acms_adapters.config.schema import Keys
from acms_adapters.models import LeftOut

DOCS = Path(__file__).parent.parent / "docs"
REFERENCE = DOCS / "reference"
GENERATED = (
    "command-line.md",
    "components.md",
    "configuration.md",
    "models.md",
    "profiles.md",
    "requirements.md",
    "strategies.md",
)

Generated = dict[str, Any]


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> Generated:
    monkeypatch.syspath_prepend(REFERENCE)
    return runpy.run_path(str(REFERENCE / "generate.py"))


@pytest.mark.parametrize("name", GENERATED)
def test_s7_a_page_is_what_the_code_says(name: str, generated: Generated) -> None:
    """S7.names."""
    pages: dict[Path, Callable[[], str]] = generated["PAGES"]
    made = {path.name: make for path, make in pages.items()}
    assert sorted(made) == sorted(GENERATED)
    written = (REFERENCE / name).read_text(encoding="utf-8")
    assert made[name]() == written, "run python docs/reference/generate.py"


@pytest.mark.parametrize("name", [name for name in GENERATED if name != "requirements.md"])
def test_every_key_and_every_option_is_described(name: str) -> None:
    written = (REFERENCE / name).read_text(encoding="utf-8")
    assert re.findall(r"^\| `.*\|  \|$", written, re.M) == []


def test_every_public_class_of_the_pipeline_has_its_section() -> None:
    written = (REFERENCE / "components.md").read_text(encoding="utf-8")
    classes = [n for n in pipeline.__all__ if inspect.isclass(getattr(pipeline, n))]
    told = set(re.findall(r"^### (\w+)", written, re.M)) | {"Inheritance", "SkeletonResult"}
    assert sorted(set(classes) - told) == []


def test_s7_every_key_of_a_file_is_an_option_of_a_component(generated: Generated) -> None:
    """S7.names."""
    told = set(re.findall(r"`(\w+)` \|", (REFERENCE / "components.md").read_text(encoding="utf-8")))
    elsewhere = {"profile", "max_tokens", "reserved_tokens", "skeleton_ratio", "enabled"}
    assert (
        set(Keys.model_fields) - told - elsewhere - {"custom", "tables", "packer_greedy"} == set()
    )


def test_c3_each_key_that_the_tuned_profile_changes_has_its_reason() -> None:
    assert sorted(REASONS) == sorted(PROFILES["tuned"])


def test_each_error_has_its_section_in_the_guide() -> None:
    written = (DOCS / "guides" / "troubleshooting.md").read_text(encoding="utf-8")
    kinds = [
        name
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.ACMSError)
    ]
    assert sorted(re.findall(r"^### (\w+)", written, re.M)) == sorted(set(kinds) - {"ACMSError"})


def test_f7_each_reason_of_the_ledger_is_told_in_the_guide() -> None:
    written = (DOCS / "guides" / "pipeline.md").read_text(encoding="utf-8")
    table = written[written.index("## The ledger") :]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == {str(reason) for reason in LeftOut}
