"""What is kept of the answers, at the same budget and from the same nodes, and in what time.

The nodes are chunks of an installed code base, the questions are the project's own, and an answer
is the definition of a function or class. Postprocessors without a budget get one here: of what
they return, nodes are read from the first on, those that do not fit are passed over.
"""

from __future__ import annotations

import ast
import gc
import importlib.util
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tiktoken
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.postprocessor import (
    LongContextReorder,
    SentenceEmbeddingOptimizer,
    SimilarityPostprocessor,
)
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.postprocessor.trimwise import TrimwiseNodePostprocessor

from acms_adapters.backends.embedders import as_embedder
from acms_adapters.llamaindex import ACMSNodePostprocessor, DocstoreBackends
from acms_adapters.tokens import CallableCounter, token_counter

TABLE = Path(__file__).parent.parent / "evals" / "langchain_core.jsonl"
BUDGETS = (512, 2_048)
CANDIDATES = 200
LINES = 30
TIMED = 5
REPEATS = 2


@dataclass(frozen=True)
class Answer:
    """A definition: the file it stands in and its lines, without blank ones."""

    file: str
    lines: tuple[str, ...]

    def share(self, nodes: Sequence[NodeWithScore]) -> float:
        """How much of it stands in nodes of that file."""
        there = {
            line.strip()
            for node in nodes
            if node.node.metadata["file"] == self.file
            for line in node.node.get_content(metadata_mode=MetadataMode.NONE).splitlines()
        }
        return sum(line in there for line in self.lines) / len(self.lines)


@dataclass(frozen=True)
class Question:
    """A question, its answers, each of which will do, and what a search found for it."""

    text: str
    answers: tuple[Answer, ...]
    found: tuple[NodeWithScore, ...]

    def nodes(self) -> list[NodeWithScore]:
        """What was found, for a postprocessor to do with as it likes."""
        return [
            NodeWithScore(node=found.node.model_copy(), score=found.score) for found in self.found
        ]

    def kept(self, nodes: Sequence[NodeWithScore]) -> float:
        """Share of the best kept answer."""
        return max(answer.share(nodes) for answer in self.answers)


def root() -> Path:
    """The code base."""
    spec = importlib.util.find_spec("langchain_core")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def answer(name: str) -> Answer:
    """The definition that is written as file#Qualified.name."""
    file, _, qualified = name.partition("#")
    text = (root() / file).read_text(encoding="utf-8")
    found: ast.AST = ast.parse(text)
    for part in qualified.split("."):
        found = next(one for one in ast.walk(found) if getattr(one, "name", None) == part)
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    lines = text.splitlines()[found.lineno - 1 : found.end_lineno]
    return Answer(file, tuple(line.strip() for line in lines if line.strip()))


def nodes() -> Iterator[TextNode]:
    """The code base in pieces of so many lines, with the names of their files."""
    for file in sorted(root().rglob("*.py")):
        name = file.relative_to(root()).as_posix()
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        for start in range(0, len(lines), LINES):
            text = "".join(lines[start : start + LINES])
            yield TextNode(id_=f"{name}:{start}", text=text, metadata={"file": name})


def questions() -> list[Question]:
    """The project's questions, with the best nodes that words find."""
    docstore = SimpleDocumentStore()
    docstore.add_documents([*nodes()])
    asked = []
    with DocstoreBackends(docstore) as backends:
        for line in TABLE.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            hits = backends.text.search(entry["question"], max_results=CANDIDATES)
            found = [
                NodeWithScore(node=docstore.get_node(hit.uko_node), score=hit.score) for hit in hits
            ]
            answers = tuple(answer(name) for name in entry["answers"])
            asked.append(Question(entry["question"], answers, tuple(found)))
    return asked


@cache
def encoding() -> tiktoken.Encoding:
    """The vocabulary that everybody counts by; nobody remembers a text that was counted."""
    for name in ("cl100k_base", "o200k_base"):  # trimwise ranks by the second
        token_counter(name)  # finds it without a network
    return tiktoken.get_encoding("cl100k_base")


def count(text: str) -> int:
    """Tokens of a text."""
    return len(encoding().encode_ordinary(text))


def read(nodes: Sequence[NodeWithScore]) -> str:
    """The text that a model reads."""
    return "\n\n".join(node.node.get_content(metadata_mode=MetadataMode.LLM) for node in nodes)


class SmallEmbedding(BaseEmbedding):
    """The small model that the library uses when nothing else is given."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [[float(x) for x in row] for row in _embedder().embed_documents(texts)]

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


@cache
def _embedder():  # type: ignore[no-untyped-def]
    return as_embedder("wordllama")


Fit = Callable[[list[NodeWithScore], str], list[NodeWithScore]]


def fitting(budget: int) -> dict[str, Fit]:
    """Those that know a budget."""
    encoding()
    own = ACMSNodePostprocessor(max_tokens=budget, tokenizer=CallableCounter(count))
    by_scores = own.model_copy(update={"ranking": "given"})
    trimwise = TrimwiseNodePostprocessor(limit=budget, token_counter=count)
    return {
        "ACMSNodePostprocessor": _run(own),
        "the same by scores alone": _run(by_scores),
        "trimwise": _run(trimwise),
    }


def others() -> dict[str, Fit]:
    """Those that know none."""
    similarity = SimilarityPostprocessor(similarity_cutoff=0.5)
    sentences = SentenceEmbeddingOptimizer(embed_model=SmallEmbedding(), percentile_cutoff=0.5)
    return {
        "none": lambda nodes, _: nodes,
        "SimilarityPostprocessor": _run(similarity),
        "LongContextReorder": _run(LongContextReorder()),
        "SentenceEmbeddingOptimizer": _run(sentences),
    }


def _run(postprocessor: BaseNodePostprocessor) -> Fit:
    return lambda nodes, asked: postprocessor.postprocess_nodes(nodes, query_str=asked)


def cut(nodes: Sequence[NodeWithScore], budget: int) -> list[NodeWithScore]:
    """The nodes that fit, from the first on."""
    kept: list[NodeWithScore] = []
    spent = 0
    for node in nodes:
        tokens = count(read([node])) + 1
        if spent + tokens <= budget:
            kept.append(node)
            spent += tokens
    return kept


def milliseconds(fit: Fit, asked: Sequence[Question]) -> float:
    """Median processor time for one question, the best of some runs of each."""
    times = []
    gc.disable()
    for question in asked[:TIMED]:
        best = float("inf")
        for _ in range(REPEATS):
            nodes = question.nodes()
            started = time.process_time()
            fit(nodes, question.text)
            best = min(best, time.process_time() - started)
        times.append(best * 1e3)
    gc.enable()
    return statistics.median(times)


def main() -> None:
    """Print a table for each budget."""
    asked = questions()
    counting = milliseconds(
        lambda nodes, _: [one for one in nodes if not count(read([one]))], asked
    )
    print(
        f"{len(asked)} questions, {CANDIDATES} nodes of {LINES} lines each; counting their tokens "
        f"takes {counting:.1f} ms",
        flush=True,
    )
    whole = {
        name: ([fit(one.nodes(), one.text) for one in asked], milliseconds(fit, asked) / counting)
        for name, fit in others().items()
    }
    for budget in BUDGETS:
        print(
            f"\n| {budget:,} tokens | answer's lines kept | beside the first | tokens read "
            "| over budget | time / counting |\n|---|---:|---:|---:|---:|---:|"
        )
        rows = [
            (
                name,
                [fit(one.nodes(), one.text) for one in asked],
                milliseconds(fit, asked) / counting,
            )
            for name, fit in fitting(budget).items()
        ]
        for name, (found, ratio) in whole.items():
            rows.append((f"{name}, then cut", [cut(nodes, budget) for nodes in found], ratio))
        first = kept(asked, rows[0][1])
        for name, found, ratio in rows:
            sizes = [count(read(nodes)) for nodes in found]
            share = kept(asked, found)
            print(
                f"| {name} | {share:.3f} | {share / first:.2f} | {statistics.mean(sizes):,.0f} "
                f"| {sum(size > budget for size in sizes)} | {ratio:.2f} |",
                flush=True,
            )


def kept(asked: Sequence[Question], found: Sequence[Sequence[NodeWithScore]]) -> float:
    """Mean share of the best kept answer."""
    return statistics.mean(one.kept(nodes) for one, nodes in zip(asked, found, strict=True))


if __name__ == "__main__":
    main()
