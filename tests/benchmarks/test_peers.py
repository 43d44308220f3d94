"""The peers of the benchmark get what they should: the same candidates, and their own rules."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acms_adapters.evaluation import Dataset, Passage, Question

for name in (
    "bm25s",
    "astromesh_context",
    "langchain_classic",
    "llama_index.postprocessor.trimwise",
):
    pytest.importorskip(name, reason="the bench extra is not installed")

WORDS = ["amber", "basalt", "chalk", "dolomite", "emerald", "flint", "granite", "halite"]


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return importlib.import_module("peers.systems")


@pytest.fixture
def dataset() -> Dataset:
    passages = [
        Passage(id=word, title=word.title(), text=f"{word} lies under {WORDS[place - 1]}. " * place)
        for place, word in enumerate(WORDS, start=1)
        for place in [place % len(WORDS) + 1]
    ]
    questions = [
        Question(id=f"q-{word}", text=f"Where is {word}?", evidence={word: 1}) for word in WORDS
    ]
    vectors = np.random.default_rng(5).normal(size=(2, len(WORDS), 16)).astype(np.float32)
    return Dataset(
        name="stones",
        fingerprint="0",
        passages=tuple(passages),
        questions=tuple(questions),
        passage_vectors=vectors[0],
        question_vectors=vectors[1],
    )


@pytest.fixture
def texts(systems: Any, dataset: Dataset) -> Any:
    return systems.Texts(systems.Arms(dataset, dataset.questions))


def test_both_frameworks_fuse_the_same_lists_to_the_same_scores(
    systems: Any, texts: Any, dataset: Dataset
) -> None:
    chain = systems.LangChainEnsemble(texts, dataset.questions)
    index = systems.LlamaIndexFusion(texts, dataset.questions)
    for question in dataset.questions:
        fused = texts.arms.fused(question.id)
        scores = dict(zip(fused.places, fused.scores, strict=True))
        for peer in (chain, index):
            places = peer.places(question)
            assert sorted(places) == sorted(fused.places)
            assert [scores[place] for place in places] == sorted(scores.values(), reverse=True)


def test_a_list_is_cut_by_skipping_what_does_not_fit(systems: Any, texts: Any) -> None:
    small, large = sorted(range(len(WORDS)), key=texts.tokens.__getitem__)[:: len(WORDS) - 1]
    room = texts.tokens[small]
    assert [text.passage for text in texts.cut([large, small], room)] == [WORDS[small]]


def test_no_peer_reads_more_than_the_budget_or_what_was_not_a_candidate(
    systems: Any, texts: Any, dataset: Dataset
) -> None:
    fusion = systems.LlamaIndexFusion(texts, dataset.questions)
    peers = [
        systems.BM25Alone(texts),
        systems.VectorsAlone(texts),
        fusion,
        systems.LangChainEnsemble(texts, dataset.questions),
        systems.Astromesh(texts),
        systems.trimwise(fusion),
        systems.acms_postprocessor(fusion),
        systems.Ceiling(texts),
    ]
    for peer in peers:
        for question in dataset.questions[:3]:
            read = peer.read(question, 40)
            assert sum(text.tokens for text in read) <= 40, peer.name
            assert {text.passage for text in read} <= set(peer.ranking(question)), peer.name


def test_identifiers_are_split_words_stemmed_and_stop_words_left_out(systems: Any) -> None:
    words = importlib.import_module("peers.words")
    assert words.tokens("the parseHTTPResponse of max_retries") == [
        "pars",
        "http",
        "respons",
        "max",
        "retri",
    ]


def test_the_benchmark_prints_every_system_and_writes_json_and_plots(
    systems: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    folder = tmp_path / "stones"
    folder.mkdir()
    rows = [{"_id": word, "title": word, "text": f"{word} is a stone."} for word in WORDS]
    asked = [{"_id": f"q-{word}", "text": f"Where is {word}?"} for word in WORDS]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    (folder / "qrels.tsv").write_text("\n".join(f"q-{word}\t{word}\t1" for word in WORDS))
    np.savez(folder / "minilm.npz", D=np.eye(8), Q=np.eye(8))
    bench = importlib.import_module("bench_evidence")
    out = tmp_path / "out"
    monkeypatch.setattr(
        "sys.argv", ["bench", str(folder), "--budget", "20,40", "--limit", "3", "--out", str(out)]
    )
    bench.main()
    printed = capsys.readouterr().out
    for name in (*bench.OURS, *bench.SPENT, "BM25", "vectors", "astromesh-context", "ceiling"):
        assert f"\n{name}" in printed
    assert "paired 95 % interval" in printed
    results = json.loads((out / "stones.json").read_text())
    assert {len(result["budgets"]) for result in results} == {2}
    assert (out / "stones.png").exists()
    assert (out / "stones.svg").exists()
