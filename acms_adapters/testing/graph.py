"""What a graph backend must do (rulings B1, B4 to B6)."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import pytest

from acms_adapters.models import Edge, SearchHit
from acms_adapters.protocols import Direction, GraphBackend
from acms_adapters.testing.filters import FilteredSearch
from acms_adapters.testing.suite import document, in_threads, needs, nodes_of

Link = tuple[str, str, str]

LINKS: tuple[Link, ...] = (
    ("a", "b", "calls"),
    ("b", "c", "calls"),
    ("c", "a", "imports"),
    ("a", "a", "calls"),
    ("hub", "a", "contains"),
    ("hub", "b", "contains"),
    ("hub", "c", "contains"),
)
"""A cycle, a node that links to itself, and one that contains all others."""


def links_of(edges: Iterable[Edge]) -> list[Link]:
    """Source, target and relation of edges, in their order."""
    return [(edge.source, edge.target, edge.relation) for edge in edges]


class GraphBackendCompliance(FilteredSearch):
    """Subclass it and say how a backend is made of nodes and edges.

    Capabilities: those of every filtered search; ``content`` (hits carry the text),
    ``incoming`` (edges are found from their target too), ``replace`` (ruling B3).
    """

    capabilities: ClassVar[frozenset[str]] = FilteredSearch.capabilities | {
        "content",
        "incoming",
        "replace",
    }

    @abstractmethod
    def make_backend(self, documents: Sequence[SearchHit], edges: Sequence[Edge]) -> GraphBackend:
        """A backend that holds exactly these nodes and edges; of equal nodes the last."""

    def finder(self, documents: Sequence[SearchHit]) -> Callable[..., Sequence[SearchHit]]:
        """Get all documents by their nodes."""
        backend = self.make_backend(documents, [])
        return lambda **filters: backend.get(nodes_of(documents), **filters)

    def _make(self, links: Sequence[Link] = LINKS) -> GraphBackend:
        names = dict.fromkeys(name for link in links for name in link[:2])
        edges = [
            Edge(source=source, target=target, relation=kind) for source, target, kind in links
        ]
        return self.make_backend([document(name, f"text of {name}") for name in names], edges)

    def test_b1_it_is_a_graph_backend(self) -> None:
        assert isinstance(self._make(), GraphBackend)

    @pytest.mark.parametrize(
        ("direction", "expected"),
        [
            ("out", {("a", "b", "calls"), ("a", "a", "calls")}),
            (
                "in",
                {("c", "a", "imports"), ("a", "a", "calls"), ("hub", "a", "contains")},
            ),
            (
                "both",
                {
                    ("a", "b", "calls"),
                    ("a", "a", "calls"),
                    ("c", "a", "imports"),
                    ("hub", "a", "contains"),
                },
            ),
        ],
    )
    def test_edges_are_found_in_each_direction_once(
        self, direction: Direction, expected: set[Link]
    ) -> None:
        if direction != "out" and "incoming" not in self.capabilities:
            pytest.skip("not declared: incoming")
        found = links_of(self._make().neighbors(["a"], direction=direction))
        assert sorted(found) == sorted(expected)

    def test_an_edge_between_two_of_the_nodes_is_found_once(self) -> None:
        found = links_of(self._make().neighbors(["a", "b", "a"], direction="out"))
        assert sorted(found) == [("a", "a", "calls"), ("a", "b", "calls"), ("b", "c", "calls")]

    def test_an_unknown_direction_is_an_error_that_names_it(self) -> None:
        sideways: Any = "sideways"
        with pytest.raises(ValueError, match="sideways"):
            self._make().neighbors(["a"], direction=sideways)

    @pytest.mark.parametrize(
        ("relations", "expected"),
        [
            (None, 3),
            (["contains"], 3),
            (["calls"], 0),
            (["calls", "contains"], 3),
            (["nothing"], 0),
        ],
    )
    def test_only_wanted_relations_are_followed(self, relations: Any, expected: int) -> None:
        edges = self._make().neighbors(["hub"], direction="out", relations=relations)
        assert len(edges) == expected

    def test_two_relations_between_the_same_nodes_are_two_edges(self) -> None:
        backend = self._make([("a", "b", "calls"), ("a", "b", "imports")])
        assert len(backend.neighbors(["a"], direction="out")) == 2

    def test_nothing_is_found_from_nothing_or_nobody(self) -> None:
        backend = self._make()
        assert list(backend.neighbors([])) == []
        assert list(backend.neighbors(["nobody"])) == []
        assert list(backend.get([])) == []
        assert list(backend.get(["nobody"])) == []

    def test_b6_a_hub_gives_no_more_edges_than_the_limit(self) -> None:
        links = [("hub", f"n{i:03}", "contains") for i in range(200)]
        backend = self._make([*links, ("x", "n000", "calls")])
        edges = backend.neighbors(["hub", "x"], direction="out", limit=5)
        assert len(edges) == 6
        assert ("x", "n000", "calls") in links_of(edges)
        assert list(backend.neighbors(["hub"], limit=0)) == []

    def test_b6_edges_come_in_a_fixed_order(self) -> None:
        backend = self._make()
        first = links_of(backend.neighbors(["hub", "a"]))
        assert all(links_of(backend.neighbors(["hub", "a"])) == first for _ in range(3))
        turned = self._make(list(reversed(LINKS)))
        assert links_of(turned.neighbors(["hub", "a"])) == first

    def test_b6_a_walk_around_a_cycle_comes_back_to_where_it_began(self) -> None:
        backend = self._make()
        seen, reached = {"a"}, ["a"]
        for node in reached:
            for edge in backend.neighbors([node], direction="out"):
                if edge.target not in seen:
                    seen.add(edge.target)
                    reached.append(edge.target)
        assert reached == ["a", "b", "c"]

    @needs("scope")
    def test_b5_an_edge_whose_other_end_is_out_of_scope_is_not_found(self) -> None:
        inside, beside, outside = "project://a/x", "project://ab/y", "project://b/z"
        backend = self._make([(inside, beside, "calls"), (inside, outside, "calls")])
        assert len(backend.neighbors([inside], direction="out")) == 2
        scoped = backend.neighbors([inside], direction="out", scope=["project://b"])
        assert links_of(scoped) == [(inside, outside, "calls")]
        assert list(backend.neighbors([inside], scope=["project://a"])) == []

    @needs("scope")
    def test_b5_what_is_out_of_scope_does_not_use_up_the_limit(self) -> None:
        links = [("project://a/x", f"project://b/{i}", "calls") for i in range(20)]
        backend = self._make([*links, ("project://a/x", "project://c/y", "calls")])
        edges = backend.neighbors(
            ["project://a/x"], direction="out", limit=1, scope=["project://c"]
        )
        assert links_of(edges) == [("project://a/x", "project://c/y", "calls")]

    def test_nodes_come_in_the_order_asked_for_and_missing_ones_not_at_all(self) -> None:
        hits = self._make().get(["c", "nobody", "a", "hub"])
        assert nodes_of(hits) == ["c", "a", "hub"]
        assert all(hit.score == 0.0 for hit in hits)

    @needs("content")
    def test_b1_a_hit_carries_its_text_or_a_way_to_it(self) -> None:
        (hit,) = self._make().get(["a"])
        assert hit.content in (None, "text of a")

    @needs("replace")
    def test_b3_of_equal_nodes_and_edges_one_remains(self) -> None:
        edge = Edge(source="a", target="b", relation="calls")
        backend = self.make_backend(
            [
                document("a", metadata={"v": 1, "old": 1}),
                document("b"),
                document("a", metadata={"v": 2}),
            ],
            [edge, edge],
        )
        assert links_of(backend.neighbors(["a"])) == [("a", "b", "calls")]
        (hit,) = backend.get(["a"])
        assert hit.metadata == {"v": 2}

    def test_edges_lead_to_nodes_of_any_name(self) -> None:
        names = ["project://a b/c#d", "故乡", 'it\'s "x"', "50%_", "\U0001f680", "`7`", "a:b/c"]
        backend = self._make([("root", name, "links") for name in names])
        assert {edge.target for edge in backend.neighbors(["root"])} == set(names)
        assert nodes_of(backend.get(names)) == names

    def test_many_nodes_may_be_asked_for_at_once(self) -> None:
        names = [f"n{i}" for i in range(3_000)]
        backend = self._make(list(zip(names, names[1:], ["next"] * 2_999, strict=False)))
        assert len(backend.neighbors(names, direction="out")) == 2_999
        assert nodes_of(backend.get(names)) == names

    def test_the_same_question_has_the_same_answer_in_every_thread(self) -> None:
        backend = self._make()
        expected = (list(backend.neighbors(["a", "hub"])), list(backend.get(["a", "b"])))
        answers = in_threads(
            lambda: (list(backend.neighbors(["a", "hub"])), list(backend.get(["a", "b"])))
        )
        assert all(answer == expected for answer in answers)

    def test_an_asynchronous_twin_gives_the_same(self) -> None:
        backend = self._make()
        twin = getattr(backend, "aneighbors", None)
        if twin is not None:
            assert list(asyncio.run(twin(["a"]))) == list(backend.neighbors(["a"]))
