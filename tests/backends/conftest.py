"""Stores to test on: in memory and in a file, and what to put into them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.models import Edge, IndexedNode, IndexedResource, Reference


class Maker:
    """Makes nodes and resources with as little as a test cares about."""

    @staticmethod
    def node(
        uri: str, text: str = "", *, title: str = "", resource: str = "", **more: Any
    ) -> IndexedNode:
        fields: Mapping[str, str] = {"title": title, "body": text}
        known = {"kind": "document", "fields": fields, "renderings": {9: text} if text else {}}
        return IndexedNode(uko_node=uri, resource_uri=resource or uri, **{**known, **more})

    @staticmethod
    def code(uri: str, name: str = "", *, resource: str = "", **more: Any) -> IndexedNode:
        parts = ("path", "signature", "doc", "body")
        fields = {"name": name} | {part: more.pop(part) for part in parts if part in more}
        text = "\n".join(fields.values())
        known = {"kind": "function", "fields": fields, "renderings": {9: text}}
        known["resource_type"] = "source_file"
        return IndexedNode(
            uko_node=uri, resource_uri=resource or uri.partition("#")[0], **{**known, **more}
        )

    @staticmethod
    def resource(
        *nodes: IndexedNode,
        uri: str = "",
        edges: tuple[tuple[str, str, str], ...] = (),
        references: tuple[tuple[str, str, str], ...] = (),
        content_hash: str = "hash",
    ) -> IndexedResource:
        return IndexedResource(
            resource_uri=uri or nodes[0].resource_uri,
            content_hash=content_hash,
            nodes=nodes,
            edges=tuple(Edge(source=s, relation=r, target=t) for s, r, t in edges),
            references=tuple(Reference(source=s, relation=r, name=n) for s, r, n in references),
        )

    def document(self, uri: str, text: str, **more: Any) -> IndexedResource:
        """A resource of one node."""
        return self.resource(self.node(uri, text, **more))

    def link(self, store: SQLiteStore, *edges: tuple[str, str, str]) -> None:
        """A document for each end of the edges, and the edges."""
        ends = dict.fromkeys(end for s, _, t in edges for end in (s, t))
        nodes = [self.node(end, end) for end in ends]
        store.replace(self.resource(*nodes, uri="project://links", edges=edges))


@pytest.fixture(scope="session")
def make() -> Maker:
    return Maker()


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SQLiteStore]:
    path = None if request.param == "memory" else tmp_path / "deep" / "store.db"
    with SQLiteStore(path) as opened:
        yield opened
