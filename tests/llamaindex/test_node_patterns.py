"""A parent is a higher depth of what its children are, a window of its sentence: never both."""

from __future__ import annotations

from hypothesis import given as examples
from hypothesis import strategies as st
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    SentenceWindowNodeParser,
    get_leaf_nodes,
)
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.retrievers import AutoMergingRetriever
from llama_index.core.retrievers import BaseRetriever as Retriever
from llama_index.core.schema import (
    BaseNode,
    Document,
    MetadataMode,
    NodeWithScore,
    QueryBundle,
    TextNode,
)
from llama_index.core.storage import StorageContext

from acms_adapters import token_counter
from acms_adapters.llamaindex import ACMSNodePostprocessor
from acms_adapters.models import LeftOut

STORY = " ".join(f"On day {n} the keeper wrote line {n} into the log." for n in range(120))


def scored(nodes: list[BaseNode]) -> list[NodeWithScore]:
    return [NodeWithScore(node=node, score=1.0 - n / 1000) for n, node in enumerate(nodes)]


def tokens(nodes: list[NodeWithScore]) -> int:
    text = "\n\n".join(node.node.get_content(MetadataMode.LLM) for node in nodes)
    return token_counter().count(text)


def hierarchy() -> tuple[list[BaseNode], list[BaseNode]]:
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[512, 128], chunk_overlap=0)
    document = Document(text=STORY, id_="log", metadata={"file": "log.txt"})
    nodes = parser.get_nodes_from_documents([document])
    leaves = get_leaf_nodes(nodes)
    return [node for node in nodes if node not in leaves], leaves


def test_of_a_parent_that_fits_and_its_children_the_parent_alone_is_read_f9() -> None:
    parents, leaves = hierarchy()
    children = [leaf for leaf in leaves if leaf.parent_node.node_id == parents[0].node_id]
    given = scored([*children, parents[0]])
    payload = ACMSNodePostprocessor(max_tokens=1_000).explain(given)
    assert [f.uko_node for f in payload.fragments] == [parents[0].node_id]
    assert payload.ledger.by_reason() == {LeftOut.CONTAINED: len(children)}
    kept = ACMSNodePostprocessor(max_tokens=1_000).postprocess_nodes(given)
    assert [node.node for node in kept] == [parents[0]]


def test_of_a_parent_that_does_not_fit_its_children_are_the_lower_depth() -> None:
    parents, leaves = hierarchy()
    children = [leaf for leaf in leaves if leaf.parent_node.node_id == parents[0].node_id]
    given = scored([parents[0], *children[:3]])
    kept = ACMSNodePostprocessor(max_tokens=300).postprocess_nodes(given)
    assert kept
    assert {node.node.node_id for node in kept} <= {child.node_id for child in children}
    assert tokens(kept) <= 300


def test_a_whole_document_holds_its_chunks() -> None:
    parents, leaves = hierarchy()
    document = Document(text=STORY, id_="log", metadata={"file": "log.txt"})
    kept = ACMSNodePostprocessor(max_tokens=4_000).postprocess_nodes(
        scored([*leaves[:4], parents[0], document])
    )
    assert [node.node.node_id for node in kept] == ["log"]


def test_the_same_words_in_two_sources_stay_two_f1() -> None:
    nodes = [TextNode(text="Same words here."), TextNode(text="Same words here. And more.")]
    assert len(ACMSNodePostprocessor(max_tokens=100).postprocess_nodes(scored(nodes))) == 2


class Fixed(Retriever):
    """Finds the same nodes every time."""

    def __init__(self, nodes: list[NodeWithScore]) -> None:
        super().__init__()
        self.found = nodes

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return list(self.found)


def test_what_auto_merging_made_larger_comes_down_to_the_budget_again() -> None:
    parents, leaves = hierarchy()
    storage = StorageContext.from_defaults()
    storage.docstore.add_documents([*parents, *leaves])
    merging = AutoMergingRetriever(Fixed(scored(leaves[:7])), storage)
    merged = merging.retrieve("what did the keeper write?")
    assert any(node.node.node_id == parents[0].node_id for node in merged)
    kept = ACMSNodePostprocessor(max_tokens=200).postprocess_nodes(merged)
    assert kept
    assert 100 <= tokens(kept) <= 200
    assert kept[0].node.metadata["acms"]["detail_depth"] < 9


def windows(document: str = STORY) -> list[BaseNode]:
    parser = SentenceWindowNodeParser.from_defaults(window_size=3)
    return parser.get_nodes_from_documents([Document(text=document, metadata={"file": "log.txt"})])


def test_a_sentence_is_read_with_the_window_around_it_where_that_fits() -> None:
    node = windows()[50]
    (kept,) = ACMSNodePostprocessor(max_tokens=400).postprocess_nodes(scored([node]))
    assert kept.node.get_content() == node.metadata["window"]
    assert kept.node.node_id == node.node_id
    assert kept.node.metadata["window"] == node.metadata["window"]
    assert node.get_content().strip() == "On day 50 the keeper wrote line 50 into the log."


def test_where_the_window_does_not_fit_the_sentence_stays() -> None:
    node = windows()[50]
    (kept,) = ACMSNodePostprocessor(max_tokens=40).postprocess_nodes(scored([node]))
    assert kept.node.get_content() == node.get_content()
    assert tokens([kept]) <= 40


def test_a_sentence_inside_a_window_that_is_read_is_not_read_again_f9() -> None:
    nodes = windows()
    given = scored([nodes[50], nodes[51], nodes[52], nodes[90]])
    payload = ACMSNodePostprocessor(max_tokens=4_000).explain(given)
    assert [f.fragment_id for f in payload.fragments] == ["0", "3"]
    assert [entry.other for entry in payload.ledger.entries] == ["0", "0"]
    read = payload.render()
    for day in (50, 51, 52, 90):
        assert read.count(f"On day {day} ") == 1


@examples(
    days=st.lists(st.integers(0, 119), min_size=1, max_size=12),
    budget=st.integers(20, 1_500),
    order=st.sampled_from(["as-given", "relevance", "edges"]),
)
def test_no_sentence_is_read_twice_however_windows_overlap_f9(
    days: list[int], budget: int, order: str
) -> None:
    nodes = windows()
    given = scored([nodes[day] for day in days])
    postprocessor = ACMSNodePostprocessor(max_tokens=budget, order=order)
    kept = postprocessor.postprocess_nodes(given)
    read = "\n\n".join(node.node.get_content(MetadataMode.LLM) for node in kept)
    assert tokens(kept) <= budget
    for day in range(120):
        assert read.count(f"On day {day} ") <= 1
    for node in kept:
        assert node.node.metadata["original_text"].strip() in node.node.get_content()
    payload = postprocessor.explain(given)
    assert payload.rendered_tokens == tokens(kept)
    assert len(payload.fragments) + len(payload.ledger) == len(given)


def test_the_better_of_two_overlapping_windows_stays_whole_and_the_other_gives_way_f9() -> None:
    nodes = windows()
    best, other = ACMSNodePostprocessor(max_tokens=4_000).postprocess_nodes(
        scored([nodes[50], nodes[54]])
    )
    assert best.node.get_content() == nodes[50].metadata["window"]
    assert (
        other.node.get_content().split()
        == " ".join(nodes[day].get_content() for day in (54, 55, 56, 57)).split()
    )


def test_what_an_overlap_frees_is_filled_f3() -> None:
    nodes = windows()
    given = scored([nodes[50], nodes[54], nodes[90]])
    whole = ACMSNodePostprocessor(max_tokens=4_000)
    apart = sum(tokens(whole.postprocess_nodes([one])) for one in given)
    kept = ACMSNodePostprocessor(max_tokens=apart - 20).postprocess_nodes(given)
    assert kept[0].node.get_content() == nodes[50].metadata["window"]
    assert kept[2].node.get_content() == nodes[90].metadata["window"]


def test_replacing_sentences_by_windows_afterwards_changes_nothing() -> None:
    nodes = windows()
    budget = ACMSNodePostprocessor(max_tokens=250)
    kept = budget.postprocess_nodes(scored([nodes[20], nodes[60], nodes[100]]))
    before = tokens(kept)
    replacing = MetadataReplacementPostProcessor(target_metadata_key="window")
    whole = [node for node in kept if node.node.metadata.get("acms", {}).get("detail_depth") == 9]
    assert whole
    assert tokens(replacing.postprocess_nodes(whole)) <= before


def test_windows_can_be_left_alone() -> None:
    node = windows()[50]
    (kept,) = ACMSNodePostprocessor(max_tokens=400, window_key=None).postprocess_nodes(
        scored([node])
    )
    assert kept.node is node
