"""Evidence by budget on data sets in the BEIR layout, ours beside other libraries.

Usage: python tests/benchmarks/bench_evidence.py DATASET… [--split report] [--out FOLDER]

Every system has the same passages, vectors, tokenizer and budgets. Results go to one JSON file and
two plots for each data set. Without a data set it takes the project's own questions, with vectors
of the installed embedder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from peers.arms import Arms
from peers.systems import (
    Astromesh,
    BM25Alone,
    Ceiling,
    LangChainEnsemble,
    LlamaIndexFusion,
    Peer,
    Texts,
    VectorsAlone,
    acms_postprocessor,
    trimwise,
)

from acms_adapters.backends.embedders import default_embedder
from acms_adapters.evaluation import (
    BUDGETS,
    BudgetResult,
    Dataset,
    EvaluationResult,
    Question,
    difference,
    evaluate,
    read_dataset,
)
from acms_adapters.evaluation.judge import Judge
from acms_adapters.evaluation.plot import plot
from acms_adapters.evaluation.run import chosen_questions

OURS = ("acms tuned", "acms spec")
SPENT = ("LlamaIndex QueryFusionRetriever", "trimwise", "ACMSNodePostprocessor")
"""Systems that were given one fused list and only spend a budget on it."""


def with_vectors(dataset: Dataset) -> Dataset:
    """The set, with the vectors of the installed embedder if it brings none."""
    if dataset.passage_vectors is not None:
        return dataset
    embedder = default_embedder()
    if embedder is None:
        raise SystemExit(f"{dataset.name!r} has no vectors and no embedder is installed")
    texts = [passage.whole for passage in dataset.passages]
    return replace(
        dataset,
        passage_vectors=np.asarray(embedder.embed_documents(texts), dtype=np.float32),
        question_vectors=np.asarray(
            [embedder.embed_query(question.text) for question in dataset.questions],
            dtype=np.float32,
        ),
    )


def peers_of(arms: Arms, asked: Sequence[Question]) -> list[Peer]:
    """Everybody else, and what only spends the budget."""
    texts = Texts(arms)
    fusion = LlamaIndexFusion(texts, asked)
    return [
        BM25Alone(texts),
        VectorsAlone(texts),
        LangChainEnsemble(texts, asked),
        fusion,
        Astromesh(texts),
        trimwise(fusion),
        acms_postprocessor(fusion),
        Ceiling(texts),
    ]


def measure(
    peer: Peer, dataset: Dataset, asked: Sequence[Question], budgets: Sequence[int]
) -> EvaluationResult:
    """A peer's figures; what it reads is counted as the sum of its texts."""
    judge, rows = Judge(dataset), {budget: [] for budget in budgets}
    for question in asked:
        ranking = peer.ranking(question)
        for budget in budgets:
            texts = peer.read(question, budget)
            tokens = sum(text.tokens for text in texts)
            rows[budget].append(judge.row(question, texts, tokens=tokens, ranking=ranking))
    return EvaluationResult(
        system=peer.name,
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        passages=len(dataset.passages),
        questions=len(asked),
        budgets=tuple(BudgetResult.of(budget, rows[budget]) for budget in budgets),
    )


def run(
    dataset: Dataset, arguments: argparse.Namespace, budgets: Sequence[int]
) -> Iterator[EvaluationResult]:
    """All systems on one data set."""
    asked = chosen_questions(dataset, split=arguments.split, limit=arguments.limit)
    for name in OURS:
        result = evaluate(
            dataset,
            {"context": {"profile": name.removeprefix("acms ")}},
            budgets=budgets,
            split=arguments.split,
            limit=arguments.limit,
        )
        yield result.model_copy(update={"system": name})
    for peer in peers_of(Arms(dataset, asked), asked):
        yield measure(peer, dataset, asked, budgets)


def show(results: Sequence[EvaluationResult], budgets: Sequence[int]) -> None:
    """A table for each measure, then ours against the best peer."""
    for name, title in (
        ("read", "evidence read whole"),
        ("located", "evidence located"),
        ("answered", "answer in context"),
    ):
        if getattr(results[0].budgets[0], name) is None:
            continue
        print(f"\n{title:34s}" + "".join(f"{budget:>20,}" for budget in budgets))
        for result in results:
            cells = (getattr(result.at(budget), name) for budget in budgets)
            print(f"{result.system:34s}" + "".join(f"{_cell(cell):>20s}" for cell in cells))
    by_name = {result.system: result for result in results}
    ours, last = by_name[OURS[0]], by_name[SPENT[-1]]
    rivals = [r for r in results if r.system not in (*OURS, "ceiling", SPENT[-1])]
    _compare("read", ours, rivals, budgets)
    _compare("located", ours, rivals, budgets)
    _compare("read", last, [by_name[name] for name in SPENT[:-1]], budgets)


def _compare(
    name: str,
    ours: EvaluationResult,
    rivals: Sequence[EvaluationResult],
    budgets: Sequence[int],
) -> None:
    """Ours minus the best rival, at the same and at double budget."""
    print(f"\n{ours.system} minus the best of the others, {name}, paired 95 % interval")
    for budget in budgets:
        for other in (budget, 2 * budget):
            if other in budgets:
                best = max(rivals, key=lambda r: getattr(r.at(other), name).mean)
                more = difference(ours.at(budget), best.at(other), name)
                sign = f"{more.mean:+.3f} [{more.low:+.3f}, {more.high:+.3f}]"
                print(f"  {budget:>6,} against {other:>6,}: {sign} ({best.system})")


def _cell(figure) -> str:
    return f"{figure.mean:.3f} [{figure.low:.2f}, {figure.high:.2f}]"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", type=Path)
    parser.add_argument("--budget", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--split", default="all", choices=("all", "tune", "report"))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, help="folder for JSON and plots")
    arguments = parser.parse_args()
    budgets = [int(part) for part in arguments.budget.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.datasets or [own_questions(Path(folder))]:
            dataset = with_vectors(read_dataset(path))
            results = list(run(dataset, arguments, budgets))
            print(f"\n{dataset.name}: {results[0].questions} questions")
            show(results, budgets)
            if arguments.out is not None:
                write(results, arguments.out)


def own_questions(folder: Path) -> Path:
    """The project's own questions as a data set."""
    script = Path(__file__).parent.parent / "evals" / "make_dataset.py"
    made = folder / "own_questions"
    subprocess.run([sys.executable, script, made], check=True)
    return made


def write(results: Sequence[EvaluationResult], folder: Path) -> None:
    """JSON and plots."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / results[0].dataset
    data = [result.model_dump(mode="json") for result in results]
    stem.with_suffix(".json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    for suffix in (".png", ".svg"):
        plot(results, stem.with_suffix(suffix))


if __name__ == "__main__":
    main()
