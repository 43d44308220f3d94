"""What backends answer with and what an index keeps (rulings B1, M4)."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from acms_adapters.models import (
    Edge,
    IndexedNode,
    IndexedResource,
    Reference,
    Rendering,
    SearchHit,
)

MADE: list[tuple[Any, dict[str, Any]]] = [
    (
        SearchHit(uko_node="n"),
        {
            "uko_node": "n",
            "content": None,
            "score": 0.0,
            "detail_depth": 9,
            "token_count": None,
            "metadata": {},
            "provenance": None,
            "tier": "warm",
            "created_at": None,
        },
    ),
    (
        Edge(source="a", target="b", relation="calls"),
        {"source": "a", "target": "b", "relation": "calls"},
    ),
    (
        Rendering(uko_node="n", detail_depth=4, content="text"),
        {"uko_node": "n", "detail_depth": 4, "content": "text", "token_count": None},
    ),
    (
        Reference(source="a", name="b", relation="links"),
        {"source": "a", "name": "b", "relation": "links"},
    ),
    (
        IndexedNode(uko_node="n", kind="file", resource_uri="r"),
        {
            "uko_node": "n",
            "kind": "file",
            "resource_uri": "r",
            "location": "",
            "resource_type": "document",
            "parent": None,
            "names": (),
            "fields": {},
            "renderings": {},
            "searched_depth": 9,
            "metadata": {},
            "tier": "warm",
            "created_at": None,
        },
    ),
    (
        IndexedResource(resource_uri="r", content_hash="h", nodes=()),
        {"resource_uri": "r", "content_hash": "h", "nodes": (), "edges": (), "references": ()},
    ),
]


@pytest.mark.parametrize(("made", "fields"), MADE, ids=lambda value: type(value).__name__)
def test_what_is_left_out_has_its_default(made: Any, fields: dict[str, Any]) -> None:
    """B1."""
    assert {name: getattr(made, name) for name in fields} == fields


@pytest.mark.parametrize("made", [made for made, _ in MADE], ids=lambda made: type(made).__name__)
def test_it_takes_names_only_and_cannot_be_changed(made: Any) -> None:
    name = next(iter(type(made).__dataclass_fields__))
    with pytest.raises(FrozenInstanceError):
        setattr(made, name, "x")
    with pytest.raises(TypeError):
        type(made)("x")


def test_hits_do_not_share_their_metadata() -> None:
    one, two = SearchHit(uko_node="a"), SearchHit(uko_node="b")
    one.metadata["k"] = 1
    assert two.metadata == {}


def test_edges_are_ordered_by_source_target_and_relation() -> None:
    ends = [("b", "a", "x"), ("a", "c", "a"), ("a", "b", "z"), ("a", "b", "y")]
    edges = [Edge(source=s, target=t, relation=r) for s, t, r in ends]
    assert sorted(edges) == list(reversed(edges))


@pytest.mark.parametrize(
    ("direction", "ends"), [("out", ("a",)), ("in", ("b",)), ("both", ("a", "b"))]
)
def test_an_edge_is_found_from_the_ends_of_its_direction(
    direction: Any, ends: tuple[str, ...]
) -> None:
    edge = Edge(source="a", target="b", relation="calls")
    assert edge.ends(direction) == ends
    assert [edge.other("a"), edge.other("b")] == ["b", "a"]
