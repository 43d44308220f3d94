"""Index a real code base and ask it two questions, through LangChain and through LlamaIndex.

Runs offline: the code base is the installed `langchain_core`, the vectors come from a model inside
an installed package, and no language model is called. The index is kept in `.acms/demo`, so a
second run finds it unchanged.
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document, MetadataMode, NodeWithScore
from rich.console import Console
from rich.rule import Rule

from acms_adapters import ContextPayload, ContextStore, token_counter
from acms_adapters.cli.tables import explanation
from acms_adapters.langchain import ACMSRetriever
from acms_adapters.llamaindex import ACMSNodePostprocessor

BUDGET = 2_000
QUESTIONS = (
    "How can I drop the oldest chat messages so that a conversation stays below a token limit?",
    "Which class tries other runnables when the first one raises an exception?",
)
STORE = Path(__file__).parent.parent / ".acms" / "demo"

console = Console(soft_wrap=True, markup=False, highlight=False, emoji=False)


def main() -> None:
    """Run the demonstration."""
    source = package_folder("langchain_core")
    with ContextStore.open(STORE) as store:
        started = time.perf_counter()
        report = store.add_path(source)
        console.print(f"{report.summary()} ({time.perf_counter() - started:.1f} s)")

        retriever = ACMSRetriever(pipeline=store.pipeline(), max_tokens=BUDGET)
        for question in QUESTIONS:
            console.print(Rule(f"LangChain: {question}", align="left"))
            documents = retriever.invoke(question)
            read = "\n\n".join(document.page_content for document in documents)
            console.print(read)
            console.print(f"\n{len(documents)} documents, {tokens(read)} of {BUDGET} tokens\n")
        payload = retriever.assemble(QUESTIONS[0])
        for table in explanation(payload):
            console.print(table)

        files = files_of(payload, source)
    postprocess(QUESTIONS[0], files)


def postprocess(question: str, files: list[Path]) -> None:
    """Cut the files into LlamaIndex nodes and bring those down to the budget."""
    console.print(Rule(f"LlamaIndex: {question}", align="left"))
    documents = [
        Document(text=file.read_text(encoding="utf-8"), metadata={"file": file.name})
        for file in files
    ]
    nodes = SentenceSplitter(chunk_size=256, chunk_overlap=0).get_nodes_from_documents(documents)
    words = set(question.lower().rstrip("?").split())
    scored = [
        NodeWithScore(
            node=node, score=len(words & set(node.get_content().lower().split())) / len(words)
        )
        for node in nodes
    ]
    scored.sort(key=lambda node: node.score or 0.0, reverse=True)
    kept = ACMSNodePostprocessor(max_tokens=BUDGET).postprocess_nodes(scored, query_str=question)
    read = "\n\n".join(node.node.get_content(MetadataMode.LLM) for node in kept)
    console.print(read)
    console.print(f"\n{len(kept)} of {len(scored)} nodes, {tokens(read)} of {BUDGET} tokens")


def files_of(payload: ContextPayload, source: Path) -> list[Path]:
    """The files that a payload's fragments stand in."""
    uris = dict.fromkeys(f.provenance.resource_uri for f in payload.fragments)
    paths = (source.joinpath(*uri.removeprefix("project://").split("/")[1:]) for uri in uris)
    return [path for path in paths if path.is_file()]


def package_folder(name: str) -> Path:
    """Where an installed package keeps its source."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"the demonstration needs the package {name!r}: run 'make demo'")
    return Path(spec.origin).parent


def tokens(text: str) -> int:
    """Number of tokens of a text."""
    return token_counter().count(text)


if __name__ == "__main__":
    main()
