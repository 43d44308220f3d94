"""Mentions that become edges when the whole index is known (ruling I2)."""

from typing import Any

import pytest

from acms_adapters.backends.sqlite import SQLiteStore


def linked(store: SQLiteStore, uri: str) -> list[str]:
    found = store.graph.neighbors([uri], direction="out", relations=["calls", "links"])
    return [edge.target for edge in found]


@pytest.fixture
def project(store: SQLiteStore, make: Any) -> SQLiteStore:
    names = {
        "pkg/__init__.py": ("pkg",),
        "pkg/mod.py": ("mod", "pkg.mod"),
        "pkg/mod.py#Foo": ("Foo", "pkg.mod.Foo"),
        "pkg/mod.py#Foo.run": ("run", "Foo.run", "pkg.mod.Foo.run"),
        "pkg/mod.py#Bar.run": ("run", "Bar.run", "pkg.mod.Bar.run"),
        "pkg/mod.py#twice": ("twice", "pkg.mod.twice"),
        "pkg/mod.py#twice-2": ("twice", "pkg.mod.twice"),
        "docs/guide.md": ("The guide",),
        "docs/guide.md#start": ("Getting started",),
        "docs/deep/more.md": ("More",),
        "README.md": ("Overview",),
    }
    for path, known in names.items():
        uri = f"project://app/{path}"
        file = path.partition("#")[0]
        node = make.code(uri, names=known, path=file)
        store.replace(make.resource(node, uri=f"owner of {uri}"))
    store.replace(make.resource(make.code("project://other/x.py#Only", names=("Only",))))
    return store


@pytest.mark.parametrize(
    ("mention", "target"),
    [
        ("project://app/docs/guide.md#start", "docs/guide.md#start"),
        ("pkg.mod.Foo", "pkg/mod.py#Foo"),
        ("pkg.mod", "pkg/mod.py"),
        ("pkg.Foo", "pkg/mod.py#Foo"),
        ("pkg.Foo.run", "pkg/mod.py#Foo.run"),
        ("Foo", "pkg/mod.py#Foo"),
        ("run", None),
        ("pkg.mod.twice", "pkg/mod.py#twice"),
        ("numpy.Foo", None),
        ("os.path.run", None),
        ("Only", None),
        ("nobody", None),
        ("more.md", "docs/deep/more.md"),
        ("deep/more.md", "docs/deep/more.md"),
        ("./guide.md", "docs/guide.md"),
        ("guide.md#start", "docs/guide.md#start"),
        ("guide.md#elsewhere", "docs/guide.md"),
        ("../README.md", "README.md"),
        ("/README.md", "README.md"),
        ("../../README.md", None),
        ("../../other/x.py#Only", None),
        ("deep/../guide.md", "docs/guide.md"),
        ("getting STARTED", "docs/guide.md#start"),
        ("Overview", "README.md"),
        ("", None),
        (" . ", None),
        ("..", None),
        ("https://example.org/a", None),
        ("a\x00b \ud83d", None),
    ],
)
def test_a_mention_leads_to_the_one_node_it_means(
    project: SQLiteStore, make: Any, mention: str, target: str | None
) -> None:
    source = "project://app/docs/page.md"
    node = make.node(source)
    project.replace(make.resource(node, references=((source, "links", mention),)))
    count = project.resolve_references()
    assert linked(project, source) == ([f"project://app/{target}"] if target else [])
    assert count == (target is not None)


def test_a_symbol_of_the_own_file_goes_before_others(store: SQLiteStore, make: Any) -> None:
    caller = "project://app/a.py#caller"
    nodes = make.code(caller), make.code("project://app/a.py#x.go", names=("go",))
    store.replace(make.resource(*nodes, references=((caller, "calls", "go"),)))
    store.replace(make.resource(make.code("project://app/b.py#go", names=("go",))))
    assert store.resolve_references() == 1
    assert linked(store, caller) == ["project://app/a.py#x.go"]


def test_of_several_definitions_of_a_dotted_path_the_first_is_meant_whichever_came_first(
    store: SQLiteStore, make: Any
) -> None:
    second = make.code("a.py#run-2", names=("a.run",), resource="a.py")
    store.replace(make.resource(second))
    store.replace(make.resource(make.code("a.py#run", names=("a.run",), resource="a.py"), second))
    store.replace(make.resource(make.node("b", "text"), references=(("b", "links", "a.run"),)))
    store.resolve_references()
    assert [edge.target for edge in store.graph.neighbors(["b"])] == ["a.py#run"]


def test_mentions_follow_what_comes_and_goes(store: SQLiteStore, make: Any) -> None:
    page = "project://app/page.md"
    mentions = ((page, "links", "target"), (page, "links", "later.md"))
    store.replace(make.resource(make.node(page), references=mentions))
    assert store.resolve_references() == 0

    one = make.resource(make.code("project://app/a.py#target", names=("target",)))
    store.replace(one)
    assert linked(store, page) == []
    store.resolve_references()
    assert linked(store, page) == ["project://app/a.py#target"]

    store.replace(make.resource(make.code("project://app/b.py#target", names=("target",))))
    store.resolve_references()
    assert linked(store, page) == []

    store.remove("project://app/a.py")
    store.resolve_references()
    assert linked(store, page) == ["project://app/b.py#target"]

    store.replace(make.resource(make.code("project://app/b.py#target", names=("renamed",))))
    store.resolve_references()
    assert linked(store, page) == []

    store.replace(make.document("project://app/later.md", "here"))
    store.resolve_references()
    assert linked(store, page) == ["project://app/later.md"]

    store.replace(make.resource(make.node(page)))
    store.resolve_references()
    assert linked(store, page) == []


def test_what_is_gone_is_hidden_before_mentions_are_looked_up_again(
    store: SQLiteStore, make: Any
) -> None:
    page = "project://app/page.md"
    store.replace(make.resource(make.node(page), references=((page, "links", "target"),)))
    store.replace(make.resource(make.code("project://app/a.py#target", names=("target",))))
    store.resolve_references()
    assert linked(store, page)
    store.remove("project://app/a.py")
    assert linked(store, page) == []


def test_only_mentions_that_a_change_concerns_are_looked_up_again(
    store: SQLiteStore, make: Any
) -> None:
    store.replace(make.resource(make.code("project://app/t.py#target", names=("target",))))
    for i in range(5):
        uri = f"project://app/{i}.md"
        store.replace(make.resource(make.node(uri), references=((uri, "links", "target"),)))
    assert store.resolve_references() == 5
    assert store.resolve_references() == 0
    store.replace(make.document("project://app/unrelated.md", "text", names=("Unrelated thing",)))
    assert store.resolve_references() == 0
    uri = "project://app/0.md"
    store.replace(make.resource(make.node(uri), references=((uri, "links", "target"),)))
    assert store.resolve_references() == 1
    assert all(linked(store, f"project://app/{i}.md") for i in range(5))


def test_a_mention_of_oneself_is_no_edge(store: SQLiteStore, make: Any) -> None:
    uri = "project://app/a.py#again"
    node = make.code(uri, names=("again",))
    store.replace(make.resource(node, references=((uri, "calls", "again"),)))
    assert store.resolve_references() == 0
    assert store.graph.neighbors([uri]) == []
