"""Time of a question, end to end and by part, and of the LlamaIndex postprocessor."""

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

from acms_adapters import (
    ACMSPipeline,
    ContextBudget,
    ContextRequest,
    ContextStore,
    PlanContext,
    token_counter,
)
from acms_adapters.langchain import ACMSRetriever
from acms_adapters.llamaindex import ACMSNodePostprocessor

TABLE = Path(__file__).parent.parent / "evals" / "langchain_core.jsonl"
BUDGET = 2_000


def median_ms(work: Callable[[str], Any], asked: list[str]) -> float:
    """Median of one call for each question, after one to warm up."""
    work(asked[0])
    times = []
    for question in asked:
        started = time.perf_counter()
        work(question)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000.0


def questions() -> list[str]:
    """The questions of the project's own table."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def strategy_rows(store: ContextStore, pipeline: ACMSPipeline) -> Iterator[tuple[str, float]]:
    """Each strategy alone."""
    backends, budget = store.backends(), ContextBudget(max_tokens=BUDGET)
    for strategy in pipeline.registry.enabled():

        def ask(question: str, strategy: Any = strategy) -> None:
            request = ContextRequest(query=question)
            list(strategy.assemble(request, backends, budget, PlanContext()))

        yield strategy.name, median_ms(ask, questions())


def postprocessor_row() -> tuple[float, float]:
    """Milliseconds to fit 200 nodes, and to count the tokens of the same nodes."""
    texts = [f"{n} " + "word number one of many " * 50 for n in range(200)]
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in texts]
    fit = ACMSNodePostprocessor(max_tokens=BUDGET)
    fit.postprocess_nodes(nodes[:2])
    started = time.perf_counter()
    fit.postprocess_nodes(nodes)
    fitted = time.perf_counter() - started
    counter = token_counter()
    fresh = [f"- {node.node.get_content(MetadataMode.LLM)}" for node in nodes]
    started = time.perf_counter()
    for text in fresh:
        counter.count(text)
    return fitted * 1000.0, (time.perf_counter() - started) * 1000.0


def import_ms(statement: str) -> float:
    """Median time of a statement in a fresh interpreter, the interpreter's own start left out."""
    code = f"import time; t=time.perf_counter(); {statement}; print(time.perf_counter()-t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    return statistics.median(runs) * 1000.0


def main() -> None:
    """Print the figures."""
    spec = importlib.util.find_spec("langchain_core")
    assert spec is not None
    assert spec.origin is not None
    with tempfile.TemporaryDirectory() as folder, ContextStore.open(folder) as store:
        store.add_path(Path(spec.origin).parent)
        pipeline = store.pipeline()
        for name, ms in strategy_rows(store, pipeline):
            print(f"{name:28s} {ms:8.1f} ms")
        whole = median_ms(lambda q: pipeline.assemble(q, budget=BUDGET), questions())
        print(f"{'assemble':28s} {whole:8.1f} ms")
        retriever = ACMSRetriever(pipeline=pipeline, max_tokens=BUDGET)
        print(f"{'ACMSRetriever.invoke':28s} {median_ms(retriever.invoke, questions()):8.1f} ms")
    fitted, counted = postprocessor_row()
    print(f"postprocessor on 200 nodes: {fitted:.1f} ms, {fitted / counted:.2f} x counting them")
    ours, base = import_ms("import acms_adapters"), import_ms("from pydantic import BaseModel")
    print(f"import acms_adapters: {ours:.0f} ms, {ours / base:.2f} x pydantic's BaseModel")


if __name__ == "__main__":
    main()
