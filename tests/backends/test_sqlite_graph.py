"""Edges, walks and names (rulings B1, B5, B6, M2; cases.md D)."""

from collections.abc import Iterable
from typing import Any

import pytest

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.errors import RequestError
from acms_adapters.models import Edge


def edges(found: Iterable[Edge]) -> list[str]:
    return [f"{edge.source} {edge.relation} {edge.target}" for edge in found]


def reach(store: SQLiteStore, start: str, *, depth: int) -> set[str]:
    """Everything within some hops out, each node asked about once."""
    seen, frontier = {start}, [start]
    while frontier and depth > 0:
        depth -= 1
        ends = {edge.target for edge in store.graph.neighbors(frontier, direction="out")}
        frontier = sorted(ends - seen)
        seen |= ends
    return seen


# edges


def test_edges_are_found_from_both_ends(store: SQLiteStore, make: Any) -> None:
    make.link(store, ("a", "calls", "b"), ("c", "imports", "a"))
    assert edges(store.graph.neighbors(["a"])) == ["a calls b", "c imports a"]
    assert edges(store.graph.neighbors(["a"], direction="out")) == ["a calls b"]
    assert edges(store.graph.neighbors(["a"], direction="in")) == ["c imports a"]
    assert edges(store.graph.neighbors(["b", "c"])) == ["a calls b", "c imports a"]
    assert edges(store.graph.neighbors(["b", "a"])) == ["a calls b", "c imports a"]
    assert edges(store.graph.neighbors(["a"], relations=["imports"])) == ["c imports a"]
    assert edges(store.graph.neighbors(["a"], relations=[])) == ["a calls b", "c imports a"]
    assert store.graph.neighbors([]) == store.graph.neighbors(["nobody"]) == []


def test_a_parent_contains(store: SQLiteStore, make: Any) -> None:
    nodes = make.node("f"), make.node("f#a", parent="f")
    store.replace(make.resource(*nodes, uri="f", edges=(("f", "contains", "f#a"),)))
    assert edges(store.graph.neighbors(["f"])) == ["f contains f#a"]


def test_an_edge_that_two_resources_bring_is_one_and_stays_until_both_are_gone(
    store: SQLiteStore, make: Any
) -> None:
    make.link(store, ("a", "links", "b"))
    for uri in ("one", "other"):
        store.replace(make.resource(uri=uri, edges=(("a", "links", "b"), ("a", "calls", "b"))))
    assert edges(store.graph.neighbors(["a"])) == ["a calls b", "a links b"]
    assert len(store.graph.neighbors(["a"], limit=1)) == 1
    store.remove("one")
    assert edges(store.graph.neighbors(["a"])) == ["a calls b", "a links b"]
    store.remove("other")
    assert edges(store.graph.neighbors(["a"])) == ["a links b"]


def test_an_edge_to_what_is_missing_is_hidden_until_it_appears(
    store: SQLiteStore, make: Any
) -> None:
    store.replace(make.resource(make.node("a"), edges=(("a", "links", "b"),)))
    assert store.graph.neighbors(["a"]) == store.graph.neighbors(["b"]) == []
    assert store.stats().edges == {}
    store.replace(make.resource(make.node("b")))
    assert edges(store.graph.neighbors(["a"])) == ["a links b"]
    assert store.stats().edges == {"links": 1}
    store.remove("b")
    assert store.graph.neighbors(["a"]) == store.graph.neighbors(["b"]) == []
    store.replace(make.resource(make.node("b")))
    assert edges(store.graph.neighbors(["b"])) == ["a links b"]


def test_b5_a_scope_holds_for_the_other_end(store: SQLiteStore, make: Any) -> None:
    """B5.target."""
    make.link(
        store,
        ("project://a/x", "links", "project://a/y"),
        ("project://a/x", "links", "project://ab/z"),
        ("project://b/w", "links", "project://a/x"),
    )
    for scope, count in ((None, 3), ([], 3), (["project://a"], 1), (["project://b"], 1)):
        assert len(store.graph.neighbors(["project://a/x"], scope=scope)) == count
    assert len(store.graph.neighbors(["project://b/w"], scope=["project://a"])) == 1


def test_b6_a_hub_is_cut_in_an_order_that_does_not_depend_on_writing(make: Any) -> None:
    spokes = [f"spoke{i:03d}" for i in range(120)]
    answers = []
    for order in (spokes, spokes[::-1]):
        with SQLiteStore(None) as store:
            make.link(store, *(("hub", "calls", spoke) for spoke in order))
            store.replace(make.resource(uri="in", edges=(("spoke007", "imports", "hub"),)))
            answers.append(edges(store.graph.neighbors(["hub"], limit=5)))
            assert len(store.graph.neighbors(["hub"])) == 121
            assert store.graph.neighbors(["hub"], limit=0) == []
    assert answers[0] == answers[1]
    assert answers[0] == [
        "hub calls spoke000",
        "spoke007 imports hub",
        "hub calls spoke001",
        "hub calls spoke002",
        "hub calls spoke003",
    ]


def test_a_limit_counts_for_each_node(store: SQLiteStore, make: Any) -> None:
    make.link(store, *((hub, "calls", f"{hub}{i}") for hub in "ab" for i in range(5)))
    found = edges(store.graph.neighbors(["b", "a"], limit=2, direction="out"))
    assert found == ["b calls b0", "b calls b1", "a calls a0", "a calls a1"]


def test_requests_that_cannot_be_are_refused(store: SQLiteStore) -> None:
    with pytest.raises(RequestError, match="sideways"):
        store.graph.neighbors(["a"], direction="sideways")  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="-1"):
        store.graph.neighbors(["a"], limit=-1)
    with pytest.raises(RequestError, match="nodes must be a list"):
        store.graph.get("a")
    with pytest.raises(RequestError, match="-1"):
        store.graph.resolve("a", limit=-1)


# walks (cases.md D)


def test_cycles_and_loops_end(store: SQLiteStore, make: Any) -> None:
    make.link(store, ("a", "calls", "b"), ("b", "calls", "a"), ("a", "calls", "a"))
    assert sorted(edges(store.graph.neighbors(["a"]))) == ["a calls a", "a calls b", "b calls a"]
    assert len(store.graph.neighbors(["a"], limit=3)) == 3
    assert reach(store, "a", depth=10**6) == {"a", "b"}
    assert reach(store, "nobody", depth=10**6) == {"nobody"}


def test_a_long_chain_is_walked_to_its_end(store: SQLiteStore, make: Any) -> None:
    names = [f"n{i}" for i in range(5_000)]
    chain = zip(names, names[1:] + names[:1], strict=True)
    make.link(store, *((a, "next", b) for a, b in chain))
    assert len(reach(store, "n0", depth=10**6)) == 5_000


def test_many_nodes_may_be_asked_about_at_once(store: SQLiteStore, make: Any) -> None:
    make.link(store, *(("hub", "links", f"n{i:04d}") for i in range(1_500)))
    names = [f"n{i:04d}" for i in range(1_499, -1, -1)]
    assert [hit.uko_node for hit in store.graph.get([*names, "nobody", names[0]])] == names
    assert len(store.graph.neighbors(names)) == 1_500


# names


@pytest.fixture
def named(store: SQLiteStore, make: Any) -> SQLiteStore:
    nodes = [
        make.code(f"project://app/m.py#{uri}", names=names)
        for uri, names in {
            "Session": ("Session", "m.Session"),
            "Session.get": ("get", "Session.get", "m.Session.get"),
            "run": ("run", "m.run"),
            "parse_url": ("parse_url", "m.parse_url"),
            "HTTPServer": ("HTTPServer",),
            "sha256": ("sha256",),
            "Cache.get": ("get", "Cache.get"),
        }.items()
    ]
    texts = [
        make.node("project://app/docs/a.md#x", names=("Error handling",)),
        make.node("project://app/docs/b.md#x", names=("Error Handling!",)),
        make.node("project://app/docs/b.md#y", names=("Journal of Error Handling",)),
        make.node("project://app/docs/c.md", names=("Installation",)),
        make.node("project://other/d.md", names=("breadth-depth-navigator", "静夜思", "Café Noir")),
    ]
    store.replace(make.resource(*nodes, *texts, uri="all"))
    return store


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does parse_url return", "parse_url"),
        ("how is HTTPServer started", "HTTPServer"),
        ("why sha256 and not md5", "sha256"),
        ("what is Session.get", "Session.get"),
        ("requests.Session.get fails", "Session.get"),
        ("m.Session::get", "Session.get"),
        ("call run() twice", "run"),
        ("the `run` function", "run"),
        ("use `x = run(y)` here", "run"),
        ("please run the get tests", ""),
        ("run it", ""),
        ("get() is slow", "Cache.get Session.get"),
        ("how does a Session end", "Session"),
        ("Session is a class", ""),
        ("It failed. Session was gone", ""),
        ("see Installation there", "docs/c.md"),
        ("the installation failed", ""),
        ("how does error handling work", "docs/a.md#x docs/b.md#x"),
        ("error-handling", "docs/a.md#x docs/b.md#x"),
        ("the journal of error handling", "docs/b.md#y"),
        ("breadth depth navigator", "d.md"),
        ("我读静夜思", "d.md"),
        ("a cafe\u0301 noir", "d.md"),
        ("what about `m.Session` and parse_url", "Session parse_url"),
        ("", ""),
        ("???", ""),
        ("\ud83d ` `` (", ""),
        ("'; DROP TABLE names; --", ""),
    ],
)
def test_m2_names_that_stand_in_a_question_are_found(
    named: SQLiteStore, question: str, expected: str
) -> None:
    """M2.names, B9.kept."""
    found = [uri for uri, _ in named.graph.resolve(question)]
    shown = [uri.removeprefix("project://").removeprefix("app/m.py#") for uri in found]
    assert [name.removeprefix("app/").removeprefix("other/") for name in shown] == expected.split()


def test_the_rarest_name_comes_first_with_how_many_share_it(named: SQLiteStore) -> None:
    found = named.graph.resolve("does get() or parse_url handle Error Handling")
    assert [(uri.rpartition("#")[2], shared) for uri, shared in found] == [
        ("parse_url", 1),
        ("Cache.get", 2),
        ("Session.get", 2),
        ("x", 2),
        ("x", 2),
    ]
    assert named.graph.resolve("parse_url get()", limit=2) == found[:2]
    assert named.graph.resolve("parse_url", limit=0) == []


def test_b5_names_are_looked_for_in_the_scope_alone(named: SQLiteStore) -> None:
    assert named.graph.resolve("breadth depth navigator", scope=["project://app"]) == []
    question, scope = "error handling", ["project://app/docs/a.md"]
    assert named.graph.resolve(question, scope=scope) == [("project://app/docs/a.md#x", 1)]


def test_a_file_is_known_by_its_path(store: SQLiteStore, make: Any) -> None:
    for folder in ("src", "tests"):
        uri = f"project://app/{folder}/main.py"
        store.replace(make.resource(make.code(uri, "main", path=f"{folder}/main.py")))
    assert store.graph.resolve("what does src/main.py do") == [("project://app/src/main.py", 1)]
    assert [shared for _, shared in store.graph.resolve("what does main.py do")] == [2, 2]


def test_a_question_full_of_names_is_answered(store: SQLiteStore, make: Any) -> None:
    store.replace(make.resource(make.code("f", names=("do_it",))))
    assert store.graph.resolve("do_it " + "some_other thing " * 50_000) == [("f", 1)]
