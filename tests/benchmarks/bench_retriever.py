"""Time and memory of a LangChain retriever: ours, and two ensembles of BM25 and Chroma.

Usage: python tests/benchmarks/bench_retriever.py [SIZE…], 1,000 and 10,000 fragments by default.

All have the same fragments of installed source code, of about 1,000 characters, the same embedder,
and 100 candidates of each search. One ensemble searches words by bm25s, which is fast, the other
by LangChain's own `BM25Retriever`, which its documentation shows. Each runs in a process of its
own: the first question is cold, the median of the others is warm, CPU is the processor time of a
warm one on all threads, and memory is the most that the process ever took.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever

from acms_adapters.backends.embedders import as_embedder

SIZES = (1_000, 10_000)
CANDIDATES = 100
CHARS = 1_000
BUDGET = 2_048
PACKAGES = ("langchain_core", "pydantic", "chromadb", "llama_index.core", "langchain", "langgraph")
TABLES = Path(__file__).parent.parent / "evals"


class WordVectors(Embeddings):
    """The embedder that every system shares."""

    def __init__(self) -> None:
        self._embedder = as_embedder("wordllama")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of texts."""
        return [list(row) for row in self._embedder.embed_documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return list(self._embedder.embed_query(text))


def fragments() -> Iterator[Document]:
    """Runs of lines of installed packages; numbered copies once these are used up."""
    number = 0
    while True:
        for package in PACKAGES:
            spec = importlib.util.find_spec(package)
            if spec is None or not spec.submodule_search_locations:
                continue
            for path in sorted(Path(spec.submodule_search_locations[0]).rglob("*.py")):
                for text in _pieces(path.read_text(encoding="utf-8", errors="replace")):
                    number += 1
                    yield Document(id=str(number), page_content=f"# {number}\n{text}")


def _pieces(text: str) -> Iterator[str]:
    piece: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        piece.append(line)
        size += len(line)
        if size >= CHARS:
            yield "".join(piece)
            piece, size = [], 0


def questions() -> list[str]:
    """The project's own questions."""
    lines = [line for path in sorted(TABLES.glob("*.jsonl")) for line in path.open()]
    return [json.loads(line)["question"] for line in lines]


def ours(documents: list[Document]) -> BaseRetriever:
    """Our retriever with its defaults."""
    from acms_adapters.langchain import ACMSRetriever

    return ACMSRetriever.from_documents(documents, embedder=WordVectors(), max_tokens=BUDGET)


def fast_ensemble(documents: list[Document]) -> BaseRetriever:
    """BM25 by bm25s and Chroma in memory, fused by LangChain."""
    import bm25s
    import numpy as np
    from peers.words import tokens

    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index([tokens(document.page_content) for document in documents], show_progress=False)

    class Words(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            known = [token for token in tokens(query) if token in index.vocab_dict]
            scores = index.get_scores(known) if known else np.zeros(len(documents))
            best = np.argpartition(-scores, CANDIDATES - 1)[:CANDIDATES]
            return [documents[place] for place in best[np.argsort(-scores[best])]]

    return _beside_chroma(Words(), documents)


def documented_ensemble(documents: list[Document]) -> BaseRetriever:
    """LangChain's own BM25 and Chroma in memory, fused by LangChain."""
    from langchain_community.retrievers import BM25Retriever

    return _beside_chroma(BM25Retriever.from_documents(documents, k=CANDIDATES), documents)


def _beside_chroma(words: BaseRetriever, documents: list[Document]) -> BaseRetriever:
    from langchain_chroma import Chroma
    from langchain_classic.retrievers import EnsembleRetriever

    near = Chroma(collection_name="fragments", embedding_function=WordVectors())
    for start in range(0, len(documents), 5_000):
        near.add_documents(documents[start : start + 5_000])
    arms = [words, near.as_retriever(search_kwargs={"k": CANDIDATES})]
    return EnsembleRetriever(retrievers=arms, weights=[0.5, 0.5])


OURS = "ACMSRetriever"
SYSTEMS: dict[str, Callable[[list[Document]], BaseRetriever]] = {
    OURS: ours,
    "ensemble (bm25s)": fast_ensemble,
    "ensemble (rank_bm25)": documented_ensemble,
}


def measure(system: str, size: int) -> dict[str, float]:
    """Seconds to build, milliseconds cold, warm and of the processor, megabytes."""
    documents = list(islice(fragments(), size))
    started = time.perf_counter()
    retriever = SYSTEMS[system](documents)
    built = time.perf_counter() - started
    times, works = [], []
    for question in questions():
        started, worked = time.perf_counter(), time.process_time()
        retriever.invoke(question)
        works.append((time.process_time() - worked) * 1000.0)
        times.append((time.perf_counter() - started) * 1000.0)
    warm = sorted(times[1:])
    return {
        "build_s": built,
        "cold_ms": times[0],
        "warm_ms": statistics.median(warm),
        "p95_ms": warm[int(0.95 * len(warm))],
        "cpu_ms": statistics.median(works[1:]),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
    }


def main() -> None:
    """Measure every system at every size, each in its own process, and print ratios."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
        return
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    columns = ("build s", "cold ms", "warm ms", "p95 ms", "CPU ms", "memory MB")
    print(f"{'':20s}{'fragments':>10s}" + "".join(f"{name:>12s}" for name in columns))
    for size in sizes:
        found = {}
        for system in SYSTEMS:
            command = [sys.executable, __file__, "--one", system, str(size)]
            ran = subprocess.run(command, check=True, stdout=subprocess.PIPE)
            found[system] = json.loads(ran.stdout.splitlines()[-1])
            cells = "".join(f"{value:>12,.1f}" for value in found[system].values())
            print(f"{system:20s}{size:>10,}{cells}", flush=True)
        for system in list(SYSTEMS)[1:]:
            wall, work = (found[OURS][kind] / found[system][kind] for kind in ("warm_ms", "cpu_ms"))
            print(f"{'':20s}ours over {system}: warm {wall:.2f}, CPU {work:.2f}")


if __name__ == "__main__":
    main()
