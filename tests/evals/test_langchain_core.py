"""Questions about an installed code base, each answered by a known function or class."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from acms_adapters import ACMSPipeline, ContextPayload, ContextStore

TABLE = Path(__file__).with_name("langchain_core.jsonl")
QUESTIONS = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
BUDGET = 2_000
PREFIX = "project://langchain_core/"


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ACMSPipeline]:
    spec = importlib.util.find_spec("langchain_core")
    assert spec is not None
    assert spec.origin is not None
    with ContextStore.open(tmp_path_factory.mktemp("langchain_core")) as store:
        store.add_path(Path(spec.origin).parent)
        yield store.pipeline()


def read_whole(payload: ContextPayload, answers: list[str]) -> bool:
    """Whether the text of one of the answers is in the context, whole."""
    wanted = {PREFIX + answer for answer in answers}
    return any(f.uko_node in wanted and f.detail_depth >= 4 for f in payload.fragments)


def test_the_answer_is_in_the_context_for_at_least_four_questions_of_five(
    pipeline: ACMSPipeline,
) -> None:
    assert len(QUESTIONS) >= 20
    missed = [
        entry["question"]
        for entry in QUESTIONS
        if not read_whole(pipeline.assemble(entry["question"], budget=BUDGET), entry["answers"])
    ]
    assert len(missed) <= len(QUESTIONS) // 5, missed


def test_no_context_holds_the_same_text_twice_f9(pipeline: ACMSPipeline) -> None:
    for entry in QUESTIONS:
        payload = pipeline.assemble(entry["question"], budget=BUDGET)
        texts = [(f.provenance.resource_uri, f.content) for f in payload.fragments]
        for place, (resource, text) in enumerate(texts):
            for other, content in texts[:place] + texts[place + 1 :]:
                assert resource != other or text.strip() not in content, entry["question"]
