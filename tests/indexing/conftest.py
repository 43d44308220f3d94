"""Sources to render, and what every rendering promises."""

import importlib.util
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from acms_adapters.indexing.kinds import ModuleNames
from acms_adapters.indexing.lines import split_lines
from acms_adapters.indexing.source import SourceText, project_uri
from acms_adapters.models import IndexedNode

PROJECT = project_uri("app")


@pytest.fixture(scope="session")
def source() -> Callable[..., SourceText]:
    def build(text: str, path: str = "pkg/mod.py", **fields: object) -> SourceText:
        given = {
            "project": PROJECT,
            "path": path,
            "text": text,
            "parent": PROJECT,
            "resource_type": "source_file",
            "module": path.removesuffix(".py").replace("/", ".") if path.endswith(".py") else "",
        }
        return SourceText(**{**given, **fields})

    return build


@pytest.fixture(scope="session")
def assert_nests() -> Callable[[IndexedNode], None]:
    """Each rendering is longer than the one before and holds its lines in order (ruling I1)."""

    def check(node: IndexedNode) -> None:
        depths = sorted(node.renderings)
        assert depths, node.uko_node
        assert node.searched_depth in depths
        texts = [node.renderings[depth] for depth in depths]
        assert all(text.strip() for text in texts)
        for shallow, deep in pairwise(texts):
            assert len(shallow) < len(deep), node.uko_node
            place = 0
            for line in split_lines(shallow):
                wanted = line.rstrip("\r\n")
                found = deep.find(wanted, place)
                assert found >= 0, (node.uko_node, wanted)
                place = found + len(wanted)

    return check


@pytest.fixture(scope="session")
def installed() -> Callable[[str], list[SourceText]]:
    """The source files of an installed package."""

    def read(package: str) -> list[SourceText]:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        root, modules = Path(spec.origin).parent, ModuleNames()
        sources = []
        for file in sorted(root.rglob("*.py")):
            name, is_package = modules.of(file)
            if text := file.read_bytes().decode().strip():
                sources.append(
                    SourceText(
                        project=project_uri(package),
                        path=file.relative_to(root).as_posix(),
                        text=text,
                        parent=project_uri(package),
                        resource_type="source_file",
                        module=name,
                        is_package=is_package,
                    )
                )
        return sources

    return read
