"""The questions of this folder, with the installed packages they ask about, as a data set.

Usage: python tests/evals/make_dataset.py FOLDER [PACKAGE…], then: acms eval FOLDER

Passages are what the indexer makes of the packages: functions whole, classes and modules by their
outline. Links are those of its graph.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from acms_adapters import ContextStore
from acms_adapters.models import Edge, SearchHit
from acms_adapters.protocols import GraphBackend

TABLES = Path(__file__).parent
PACKAGES = ("chromadb", "langchain_core", "pydantic")
EXCLUDED = {"chromadb": ("test/",), "pydantic": ("v1/",)}
"""Tests, and a copy of an older version of everything."""

KINDS = ("module", "class", "function", "method", "code")


def package_folder(package: str) -> Path:
    """Where a package is installed.

    Raises:
        SystemExit: It is not.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package!r} is not installed: pip install {package.replace('_', '-')}")
    return Path(spec.origin).parent


def questions(package: str) -> list[dict[str, Any]]:
    """The questions about a package: `question` and `answers`, as `path#qualified.name`."""
    lines = (TABLES / f"{package}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def passage_id(package: str, answer: str) -> str:
    """Id of the passage that holds an answer."""
    return f"{package}/{answer.replace('#', '::')}"


def write_dataset(folder: Path, packages: Sequence[str] = PACKAGES) -> None:
    """Write corpus, queries, judgements and links."""
    passages: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    queries: list[dict[str, Any]] = []
    judgements = ["query-id\tcorpus-id\tscore"]
    for package in packages:
        for made, into in zip(_indexed(package), (passages, links), strict=True):
            into.extend(made)
        for number, entry in enumerate(questions(package), start=1):
            name = f"{package}-{number}"
            queries.append({"_id": name, "text": entry["question"]})
            judgements.extend(
                f"{name}\t{passage_id(package, answer)}\t1" for answer in entry["answers"]
            )
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", passages), ("queries", queries), ("links", links)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels.tsv").write_text("\n".join(judgements) + "\n", encoding="utf-8")


def _indexed(package: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Passages and links of a package."""
    with ContextStore.in_memory(embedder=None) as store:
        store.add_path(
            package_folder(package),
            name=package,
            include=["*.py"],
            exclude=EXCLUDED.get(package, ()),
        )
        graph = store.backends().graph
        assert graph is not None
        hits = {hit.uko_node: hit for hit in _below(graph, f"project://{package}")}
        edges = _edges(graph, sorted(hits))
    ids = {uri: _id(hit, package) for uri, hit in hits.items()}
    passages = [_passage(ids[uri], hits[uri], package) for uri in sorted(hits)]
    links = [
        {"src": ids[edge.source], "dst": ids[edge.target], "type": edge.relation}
        for edge in edges
        if edge.source in ids and edge.target in ids
    ]
    return passages, links


def _below(graph: GraphBackend, root: str) -> Iterator[SearchHit]:
    """Every definition below a node."""
    level = [root]
    while level:
        inside = graph.neighbors(level, direction="out", relations=["contains"])
        level = sorted({edge.target for edge in inside})
        for hit in graph.get(level):
            if hit.metadata.get("kind") in KINDS and hit.content:
                yield hit


def _edges(graph: GraphBackend, nodes: Sequence[str]) -> Iterable[Edge]:
    found = graph.neighbors(nodes, direction="out")
    return sorted(set(found))


def _id(hit: SearchHit, package: str) -> str:
    path, _, name = hit.uko_node.removeprefix(f"project://{package}/").partition("#")
    return f"{package}/{path}::{name or '<module>'}"


def _passage(name: str, hit: SearchHit, package: str) -> Mapping[str, Any]:
    metadata = {
        "path": f"{package}/{hit.metadata['path']}",
        "kind": hit.metadata["kind"],
        "qualname": hit.metadata["qualname"],
    }
    return {"_id": name, "title": name, "text": hit.content, "metadata": metadata}


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    arguments = parser.parse_args()
    write_dataset(arguments.folder, arguments.packages)


if __name__ == "__main__":
    main()
