"""What a store answers depends on what it holds, not on how it came to hold it (rulings B3, T1)."""

from __future__ import annotations

import random
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from acms_adapters import ACMSPipeline
from acms_adapters.backends import chroma, vectors
from acms_adapters.indexing import ContextStore

CHARACTERS = "character-frequency-v1"
BUILT_IN = ("arce", "breadth-depth-navigator", "semantic-embedding", "simple-keyword")
PATIENT = {"context": {"strategies": {name: {"timeout_seconds": 600.0} for name in BUILT_IN}}}
"""On a busy machine a strategy may take long; what it finds is to be the same."""

QUESTIONS = (
    "who locks the folder",
    "what is a crowd of equal vectors",
    "similarity_search top_k",
    "Scan.nearest and who calls it",
    "a sample of the index",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for package in (chroma, vectors):
        source = Path(str(package.__file__)).parent
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, tmp_path / "code" / source.name, ignore=ignored)
    return tmp_path / "code"


def answers(store: ContextStore) -> list[str]:
    pipeline = ACMSPipeline(
        PATIENT, backends=store.backends(), clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)
    )
    return [pipeline.assemble(question, budget=1_500).context_hash for question in QUESTIONS]


@pytest.mark.parametrize("seed", [1, 2])
def test_files_added_one_by_one_removed_and_added_again_give_the_same_answers(
    folder: Path, seed: int
) -> None:
    """B8.order."""
    files = sorted(folder.rglob("*.py"))
    random.Random(seed).shuffle(files)
    with (
        ContextStore.in_memory(embedder=CHARACTERS) as at_once,
        ContextStore.in_memory(embedder=CHARACTERS) as by_and_by,
    ):
        at_once.add_path(folder, name="p")
        by_and_by.add_path(folder, name="p", include=[files[0].name])
        for file in files:
            by_and_by.add_path(file)
        for file in files[::3]:
            by_and_by.remove(file)
        by_and_by.add_path(folder)
        assert by_and_by.stats().nodes == at_once.stats().nodes
        assert by_and_by.stats().edges == at_once.stats().edges
        assert answers(by_and_by) == answers(at_once)
        assert len(set(answers(at_once))) == len(QUESTIONS)
