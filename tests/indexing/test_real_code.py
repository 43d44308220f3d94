"""What is kept of a real package is what the package itself says when it is imported (I2)."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from acms_adapters.indexing import ContextStore

ROOT = Path(click.__file__).parent
PREFIX = "project://click/"


@pytest.fixture(scope="module")
def store() -> Iterator[ContextStore]:
    with ContextStore.in_memory(embedder=None) as store:
        store.add_path(ROOT)
        yield store


def modules() -> Iterator[object]:
    for info in pkgutil.iter_modules([str(ROOT)]):
        if not info.name.startswith(("_winconsole", "__main__")):
            yield importlib.import_module(f"click.{info.name}")


def uri_of(kind: type) -> str:
    return (
        f"{PREFIX}{kind.__module__.removeprefix('click.').replace('.', '/')}.py#{kind.__qualname__}"
    )


def own_classes() -> set[type]:
    found = {
        value
        for module in modules()
        for value in vars(module).values()
        if inspect.isclass(value) and value.__module__.startswith("click.")
    }
    return {kind for kind in found if "<locals>" not in kind.__qualname__}


def test_bases_are_those_of_the_imported_classes_i2(store: ContextStore) -> None:
    graph, classes = store.backends().graph, own_classes()
    assert len(classes) > 40
    for kind in classes:
        edges = graph.neighbors([uri_of(kind)], direction="out", relations=["inherits"])
        if hasattr(kind, "__total__"):
            continue  # a TypedDict forgets its bases
        bases = {uri_of(base) for base in kind.__bases__ if base in classes}
        assert {edge.target for edge in edges} == bases, kind


def test_methods_stand_in_their_classes_i2(store: ContextStore) -> None:
    graph = store.backends().graph
    for kind in own_classes():
        defined = {
            f"{uri_of(kind)}.{name}"
            for name, value in vars(kind).items()
            if inspect.isfunction(value) and value.__qualname__ == f"{kind.__qualname__}.{name}"
            if value.__code__.co_filename == inspect.getfile(kind)
        }
        edges = graph.neighbors([uri_of(kind)], direction="out", relations=["contains"])
        inside = {edge.target for edge in edges}
        assert defined <= inside, kind


def test_an_imported_module_is_reached_from_the_one_that_imports_it_i2(
    store: ContextStore,
) -> None:
    for file in sorted(ROOT.glob("*.py")):
        wanted = {
            f"{PREFIX}{node.module}.py"
            for node in ast.parse(file.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
        }
        uri = f"{PREFIX}{file.name}"
        edges = store.backends().graph.neighbors([uri], direction="out", relations=["imports"])
        assert wanted <= {edge.target for edge in edges}, file.name


def test_calls_lead_to_what_is_called(store: ContextStore) -> None:
    edges = store.backends().graph.neighbors(
        [f"{PREFIX}core.py#Command.main"], direction="out", relations=["calls"]
    )
    called = {edge.target.removeprefix(PREFIX) for edge in edges}
    assert {"core.py#Command.make_context", "core.py#Command.invoke"} <= called
    assert "utils.py#_detect_program_name" in called
    assert "exceptions.py#Abort" in called


def test_every_function_is_found_by_its_own_words(store: ContextStore) -> None:
    backends = store.backends()
    missed = []
    uris = [uri for uri in sorted(store._texts.vector_hashes()) if "part-" not in uri]
    for hit in backends.graph.get(uris):
        if hit.metadata["kind"] not in ("function", "method"):
            continue
        query = f"{hit.metadata['qualname']} in {hit.metadata['path']}"
        best = [found.uko_node for found in backends.text.search(query, max_results=10)]
        if hit.uko_node not in best:
            missed.append(hit.uko_node)
    assert len(missed) <= len(uris) // 50, missed


def test_no_text_of_a_leaf_stands_in_two_nodes(store: ContextStore) -> None:
    backends = store.backends()
    leaves: dict[str, list[str]] = {}
    for hit in backends.graph.get(sorted(store._texts.vector_hashes())):
        if hit.detail_depth == 9 and hit.metadata["kind"] != "chunk" and hit.content:
            leaves.setdefault(hit.metadata["path"], []).append(hit.content)
    for path, texts in leaves.items():
        whole = (ROOT / path).read_text(encoding="utf-8")
        assert sum(map(len, texts)) <= len(whole)
        assert all(text in whole for text in texts)
