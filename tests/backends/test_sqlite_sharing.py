"""Nodes that speak of the same rare things are near each other though nobody linked them (I2)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from acms_adapters import ContextStore
from acms_adapters.backends.names import names_in
from acms_adapters.backends.sqlite import sharing
from acms_adapters.backends.sqlite.sharing import MOST_HOLDERS
from acms_adapters.protocols import GraphBackend, SharesNames

PAGES = {
    "bridge": "The bridge was built by Ada Brunswick in Leeds.",
    "builder": "Ada Brunswick studied at the University of Leeds.",
    "school": "The University of Leeds is a school.",
    "rain": "It rains often. However, nobody minds.",
}

MOST_READ = 60
"""For tests, which need not read thousands."""


def page(name: str, text: str) -> SimpleNamespace:
    return SimpleNamespace(id=name, page_content=text, metadata={})


@pytest.fixture
def graph() -> Iterator[GraphBackend]:
    with ContextStore.in_memory(embedder=None) as store:
        store.add_documents([page(name, text) for name, text in PAGES.items()])
        graph = store.backends().graph
        assert graph is not None
        yield graph


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ada Brunswick met the Duke of York.", ("ada brunswick", "duke of york")),
        ("The University of the Arts and Bo", ("university of the arts",)),
        ("However, it rained. Yes.", ("however",)),
        ("Émile Zola", ("emile zola",)),
        ("nothing here", ()),
        ("", ()),
    ],
)
def test_names_are_runs_of_capitalised_words(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names


def test_nodes_share_rare_names_by_how_few_hold_them(graph: GraphBackend) -> None:
    assert isinstance(graph, SharesNames)
    shared = graph.sharing(["builder", "rain", "unknown"])
    assert shared == {"builder": {"bridge": 0.5, "school": 0.5}}


def test_b5_what_is_out_of_scope_shares_nothing(graph: GraphBackend) -> None:
    assert isinstance(graph, SharesNames)
    assert graph.sharing(["builder"], scope=["school"]) == {"builder": {"school": 1.0}}
    assert graph.sharing(["builder"], limit=1) == {"builder": {"bridge": 0.5}}


@pytest.mark.parametrize("elsewhere", [MOST_HOLDERS + 1, MOST_READ - 2, MOST_READ])
@pytest.mark.parametrize("first", ["others", "own"])
def test_b5_those_who_hold_a_name_elsewhere_do_not_count_whoever_was_written_first(
    elsewhere: int, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "MOST_READ", MOST_READ)
    own = [page(f"project://own/{i}", f"the {i} of Leeds Castle.") for i in range(2)]
    others = [page(f"project://b/{i}", f"one {i} of Leeds Castle.") for i in range(elsewhere)]
    with ContextStore.in_memory(embedder=None) as store:
        for pages in (others, own) if first == "others" else (own, others):
            store.add_documents(pages)
        graph = store.backends().graph
        assert isinstance(graph, SharesNames)
        found = graph.sharing(["project://own/0"], scope=["project://own"])
    wanted = {"project://own/0": {"project://own/1": 0.5}}
    assert found == ({} if elsewhere == MOST_READ else wanted)


def test_a_name_that_many_hold_says_nothing() -> None:
    with ContextStore.in_memory(embedder=None) as store:
        store.add_documents(
            [page(f"n{i:02}", f"Number {i} of Leeds Castle.") for i in range(MOST_HOLDERS + 1)]
        )
        graph = store.backends().graph
        assert isinstance(graph, SharesNames)
        assert graph.sharing(["n00"]) == {}
        store.remove("n20")
        assert len(graph.sharing(["n00"], limit=50)["n00"]) == MOST_HOLDERS - 1


def test_a_changed_text_shares_what_it_now_names() -> None:
    with ContextStore.in_memory(embedder=None) as store:
        store.add_documents([page(name, text) for name, text in PAGES.items()])
        store.add_documents([page("builder", "Ada Brunswick never studied.")])
        graph = store.backends().graph
        assert isinstance(graph, SharesNames)
        assert graph.sharing(["builder", "school"]) == {"builder": {"bridge": 0.5}}


def test_b8_a_store_of_an_older_version_gets_its_names_when_it_is_lifted(tmp_path: Path) -> None:
    with ContextStore.open(tmp_path, embedder=None) as store:
        store.add_documents([page(name, text) for name, text in PAGES.items()])
    with sqlite3.connect(tmp_path / "store.sqlite3") as connection:
        connection.execute("DROP TABLE entities")
        connection.execute("UPDATE meta SET value = 2 WHERE key = 'schema_version'")
    connection.close()
    with ContextStore.open(tmp_path, embedder=None) as store:
        graph = store.backends().graph
        assert isinstance(graph, SharesNames)
        assert graph.sharing(["school"]) == {"school": {"builder": 0.5}}
