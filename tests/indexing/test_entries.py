"""Documents, nodes and fragments of callers become resources (B3, F8, I2, M6)."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.documents import Document
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    SentenceSplitter,
    SentenceWindowNodeParser,
    get_leaf_nodes,
)
from llama_index.core.schema import Document as SourceDocument
from llama_index.core.schema import ImageNode, IndexNode, NodeWithScore, TextNode

from acms_adapters.indexing.documents import read_documents
from acms_adapters.indexing.entries import Entry, to_resource, unique
from acms_adapters.indexing.fragments import read_fragments
from acms_adapters.indexing.nodes import read_nodes
from acms_adapters.indexing.report import Skip
from acms_adapters.models import ContextFragment, Edge, FragmentProvenance, IndexedNode
from acms_adapters.models.surplus import SURPLUS_KEY, nest_surplus, restore_surplus

LONG = "\n\n".join(f"Paragraph {n} says one thing. " * 8 for n in range(60))


def only_node(entry: Entry | Skip) -> IndexedNode:
    assert isinstance(entry, Entry)
    return to_resource(entry).nodes[0]


def test_a_document_keeps_its_id_text_and_metadata() -> None:
    metadata = {"a": None, "b": [1, {"c": (2,)}], "team": "x"}
    (entry,) = read_documents([Document(id="x", page_content="Text.", metadata=metadata)])
    node = only_node(entry)
    assert (node.uko_node, node.resource_uri) == ("x", "x")
    assert node.renderings[9] == "Text."
    assert node.searched_depth == 9
    assert node.metadata == metadata


@dataclass
class Loose:
    """What any framework's document looks like."""

    page_content: str
    metadata: Any = field(default_factory=dict)
    id: Any = None


@pytest.mark.parametrize(("given", "uri"), [("x", "x"), (7, "7"), (0, "0"), ("a\ud83d", "a\ufffd")])
def test_ids_of_any_type_are_kept_as_text_b3(given: Any, uri: str) -> None:
    (entry,) = read_documents([Loose("text", id=given)])
    assert only_node(entry).uko_node == uri


def test_without_an_id_source_place_and_text_make_one_b3() -> None:
    """B3.id."""
    same, other, elsewhere = (
        Loose("text", {"source": "a.pdf", "page": 1, "note": 1}),
        Loose("text", {"source": "a.pdf", "page": 2}),
        Loose("text", {"source": "b.pdf", "page": 1}),
    )
    again = Loose("text", {"source": "a.pdf", "page": 1, "note": 2})
    uris = [entry.uri for entry in read_documents([same, other, elsewhere, again])]
    assert uris[0] == uris[3]
    assert len(set(uris)) == 3


def test_metadata_name_node_source_type_tier_title_and_time() -> None:
    metadata = {
        "uko_node": "project://app/x",
        "source": "manual.pdf",
        "page": 3,
        "start_index": 120,
        "resource_type": "decision",
        "tier": "hot",
        "title": "Manual",
        "created_at": "2024-05-01T00:00:00",
        "links": ["Other", 5],
        "parent_id": "whole",
    }
    (entry,) = read_documents([Loose("text", metadata, id="ignored")])
    assert isinstance(entry, Entry)
    resource = to_resource(entry)
    node = resource.nodes[0]
    assert node.uko_node == "project://app/x"
    assert node.resource_uri == "manual.pdf"
    assert node.location == "page 3, character 120"
    assert (node.resource_type, node.tier) == ("decision", "hot")
    assert node.names == ("Manual",)
    assert node.fields == {"title": "Manual", "body": "text"}
    assert node.created_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert node.metadata == metadata
    assert [r.name for r in resource.references] == ["Other"]
    assert Edge(source="whole", target="project://app/x", relation="contains") in resource.edges


@pytest.mark.parametrize(
    "metadata", [{"tier": "boiling"}, {"created_at": "soon"}, None, {"tier": 3}]
)
def test_metadata_that_mean_nothing_here_do_no_harm(metadata: Any) -> None:
    node = only_node(read_documents([Loose("text", metadata, id="x")])[0])
    assert (node.tier, node.created_at) == ("warm", None)
    assert node.metadata == (metadata or {})


def test_documents_of_one_source_follow_each_other_i2() -> None:
    documents = [
        Loose("one", {"source": "a"}, "1"),
        Loose("two", {"source": "b"}, "2"),
        Loose("three", {"source": "a"}, "3"),
        Loose("four", {}, "4"),
    ]
    ties = {e.uri: e.ties for e in read_documents(documents) if isinstance(e, Entry)}
    assert ties["1"] == (Edge(source="1", target="3", relation="next"),)
    assert ties["2"] == ties["3"] == ties["4"] == ()


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_empty_documents_are_named_and_skipped(text: str) -> None:
    read = read_documents([Loose(text, id="x"), Loose(text), Loose("text", id="y")])
    assert read[:2] == [Skip("x", "empty"), Skip("document 1", "empty")]
    assert isinstance(read[2], Entry)


def test_of_the_same_id_the_last_counts_and_the_others_are_named_b3() -> None:
    read = read_documents([Loose("old", id="x"), Loose("other", id="y"), Loose("new", id="x")])
    entries, skipped = unique(read)
    assert [(entry.uri, entry.text) for entry in entries] == [("x", "new"), ("y", "other")]
    assert skipped == [Skip("x", "given again later in the same call")]


@pytest.mark.parametrize("wrong", ["text", {"page_content": "x"}, None, Loose(5), Loose("x", "y")])
def test_what_is_no_document_is_refused_with_its_place(wrong: Any) -> None:
    with pytest.raises(TypeError, match="number 1"):
        read_documents([Loose("fine"), wrong])


def test_a_lone_surrogate_is_repaired_and_the_others_are_there() -> None:
    nodes = [only_node(e) for e in read_documents([Loose("a"), Loose("x\ud83d"), Loose("b")])]
    assert [node.renderings[9] for node in nodes] == ["a", "x\ufffd", "b"]


def test_a_long_document_also_has_parts_m6() -> None:
    (entry,) = read_documents([Loose(LONG, {"title": "T"}, id="x")])
    assert isinstance(entry, Entry)
    resource = to_resource(entry)
    whole, *parts = resource.nodes
    assert whole.renderings[9] == LONG
    assert len(parts) > 5
    assert parts[0].uko_node == "x#part-1"
    assert parts[0].fields["title"] == "T"
    assert parts[0].metadata == {"title": "T"}
    assert {part.location for part in parts} != {""}


def test_a_text_beyond_the_limit_is_found_by_its_parts_m6() -> None:
    """M6.long."""
    (entry,) = read_documents([Loose("^" * 1_000_001, id="x")])
    assert isinstance(entry, Entry)
    whole, *parts = to_resource(entry).nodes
    assert whole.searched_depth < 9
    assert max(map(len, whole.renderings.values())) < 1_000_000
    assert "".join(part.renderings[9] for part in parts) == "^" * 1_000_001


def test_metadata_of_more_than_64_entries_are_nested_and_come_back_m6() -> None:
    """M6.surplus."""
    for metadata in (
        {f"k{n}": n for n in range(64)},
        {f"k{n}": n for n in range(200)},
        {SURPLUS_KEY: {"mine": 1}, "a": 2},
    ):
        kept = nest_surplus(metadata)
        assert len(kept) <= 64
        assert restore_surplus(kept) == metadata
    (entry,) = read_documents([Loose("x", {f"k{n}": n for n in range(200)})])
    assert len(only_node(entry).metadata) == 64


def test_the_same_entry_has_the_same_hash_and_any_change_another_one() -> None:
    def digest(**changes: Any) -> str:
        given = {"page_content": "text", "metadata": {"a": 1, "b": float("nan")}, "id": "x"}
        (entry,) = read_documents([Loose(**{**given, **changes})])
        assert isinstance(entry, Entry)
        return to_resource(entry).content_hash

    assert digest() == digest()
    changed = {digest(page_content="other"), digest(metadata={"a": 2}), digest(metadata={})}
    assert len(changed | {digest()}) == 4
    assert digest(metadata={(1, 2): "tuple as a key"}) == digest(
        metadata={(1, 2): "tuple as a key"}
    )


def test_a_sentence_in_its_window_is_a_lower_depth_of_it() -> None:
    parser = SentenceWindowNodeParser.from_defaults(window_size=1)
    source = SourceDocument(text="One is here. Two is there. Three is a crowd. Four is more.")
    node = only_node(read_nodes(parser.get_nodes_from_documents([source]))[1])
    assert node.renderings[4] == "Two is there."
    assert " ".join(node.renderings[9].split()) == "One is here. Two is there. Three is a crowd."
    assert node.searched_depth == 4
    assert node.fields["body"] == "Two is there."


def test_nodes_are_tied_as_their_relationships_say_i2() -> None:
    source = SourceDocument(text=LONG, id_="source")
    nodes = SentenceSplitter(chunk_size=128, chunk_overlap=0).get_nodes_from_documents([source])
    resources = [to_resource(e) for e in read_nodes(nodes) if isinstance(e, Entry)]
    first, second = nodes[0].node_id, nodes[1].node_id
    edges = set(resources[0].edges)
    assert Edge(source=first, target=second, relation="next") in edges
    assert Edge(source="source", target=first, relation="contains") in edges
    assert {r.nodes[0].resource_uri for r in resources} == {"source"}
    assert len({r.nodes[0].location for r in resources}) == len(nodes)


def test_a_parent_beside_its_children_is_found_by_its_outline() -> None:
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[512, 128])
    nodes = parser.get_nodes_from_documents([SourceDocument(text=LONG)])
    read = {e.uri: e for e in read_nodes(nodes) if isinstance(e, Entry)}
    leaves = {node.node_id for node in get_leaf_nodes(nodes)}
    for uri, entry in read.items():
        node = to_resource(entry).nodes[0]
        assert (node.searched_depth == 9) == (uri in leaves)
    alone = read_nodes([node for node in nodes if node.node_id not in leaves])
    assert all(only_node(entry).searched_depth == 9 for entry in alone)


def test_nodes_of_every_kind_are_taken_and_those_without_text_are_named() -> None:
    nodes = [
        TextNode(text="text", id_="1"),
        NodeWithScore(node=TextNode(text="scored", id_="2"), score=0.5),
        IndexNode(text="index", index_id="i", id_="3"),
        ImageNode(image="aGk=", id_="4"),
        SourceDocument(text="document", id_="5"),
    ]
    read = read_nodes(nodes)
    assert [entry.uri for entry in read if isinstance(entry, Entry)] == ["1", "2", "3", "5"]
    assert [entry for entry in read if isinstance(entry, Skip)] == [Skip("4", "no text")]


def test_what_is_no_node_is_refused_with_its_place() -> None:
    with pytest.raises(TypeError, match="number 0"):
        read_nodes(["text"])


def fragment(content: str, depth: int = 9, **changes: Any) -> ContextFragment:
    place = changes.pop("location", "")
    provenance = FragmentProvenance(resource_uri="file", location=place, resource_type="test")
    given = {"uko_node": "n", "content": content, "detail_depth": depth, "provenance": provenance}
    return ContextFragment(**{**given, **changes})


def test_fragments_of_one_node_are_its_renderings() -> None:
    given = [fragment("Full text of it."), fragment("Full text", 4), fragment("Full", 0)]
    node = only_node(read_fragments(given)[0])
    assert node.renderings == {0: "Full", 4: "Full text", 9: "Full text of it."}
    assert (node.resource_uri, node.resource_type) == ("file", "test")
    assert len(read_fragments(given)) == 1


def test_fragments_of_one_node_at_two_places_are_two_nodes_f8() -> None:
    read = read_fragments([fragment("one", location="lines 1-2"), fragment("two", location="3-4")])
    assert [only_node(entry).uko_node for entry in read] == ["n", "n#3-4"]


def test_empty_fragments_and_repeats_are_named() -> None:
    read = read_fragments([fragment("one"), fragment("two"), fragment(" ", uko_node="m")])
    skips = [entry for entry in read if isinstance(entry, Skip)]
    assert skips == [Skip("n", "given again later in the same call"), Skip("m", "empty")]
    assert only_node(read[0]).renderings[9] == "two"
