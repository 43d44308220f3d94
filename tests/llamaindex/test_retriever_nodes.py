"""Nodes that fit, from the pipeline, wherever LlamaIndex takes a retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from random import Random
from typing import Any

import pytest
from llama_index.core import get_response_synthesizer
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms.mock import MockLLM
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceWindowNodeParser
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import AutoMergingRetriever, QueryFusionRetriever
from llama_index.core.schema import (
    BaseNode,
    Document,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage import StorageContext
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from acms_adapters import ACMSPipeline, ContextFragment, StrategyCapabilities, token_counter
from acms_adapters.llamaindex import ACMSRetriever

Retrieve = Callable[[ACMSRetriever, str], list[NodeWithScore]]


@pytest.fixture(params=["sync", "async"])
def retrieve(request: pytest.FixtureRequest) -> Retrieve:
    def run(retriever: Any, question: str) -> list[NodeWithScore]:
        if request.param == "sync":
            return retriever.retrieve(question)
        return asyncio.run(retriever.aretrieve(question))

    return run


def tokens(nodes: list[NodeWithScore]) -> int:
    text = "\n\n".join(node.node.get_content(MetadataMode.LLM) for node in nodes)
    return token_counter().count(text)


def manual(count: int = 30, **fields: Any) -> list[BaseNode]:
    subjects = ("lamp", "tide", "boat")
    return [
        TextNode(
            id_=f"n{n}",
            text=f"Remark {n} on the {subjects[n % 3]}: " + f"it needs care number {n}. " * 12,
            metadata={"subject": subjects[n % 3], "page": n, "tags": ["a", subjects[n % 3]]},
            embedding=[float(n), 1.0],
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="manual")},
            **fields,
        )
        for n in range(count)
    ]


def of(nodes: list[BaseNode], **fields: Any) -> ACMSRetriever:
    return ACMSRetriever.from_nodes(nodes, embedder=None, **fields)


@pytest.mark.parametrize("budget", [64, 200, 500, 1_000])
def test_nodes_as_a_model_reads_them_are_within_the_budget_a2(
    retrieve: Retrieve, budget: int
) -> None:
    found = retrieve(of(manual(), max_tokens=budget), "What care does the lamp need?")
    assert found
    assert 0.5 * budget <= tokens(found) <= budget


def test_nodes_come_back_as_they_were_a2(retrieve: Retrieve) -> None:
    nodes = manual()
    before = {node.node_id: node.model_dump_json() for node in nodes}
    found = retrieve(of(nodes, max_tokens=2_000), "lamp")
    whole = [node.node for node in found if "acms" not in node.node.metadata]
    assert whole
    for node in whole:
        assert type(node) is TextNode
        assert node.model_dump_json() == before[node.node_id]
    assert {node.node_id: node.model_dump_json() for node in nodes} == before


def test_the_best_come_first_with_scores_between_0_and_1(retrieve: Retrieve) -> None:
    found = retrieve(of(manual(), max_tokens=2_000), "boat remark 5")
    assert found[0].node.node_id == "n5"
    assert all(0.0 <= node.score <= 1.0 for node in found)


def test_there_are_at_most_as_many_nodes_as_asked_for(retrieve: Retrieve) -> None:
    assert len(retrieve(of(manual(), top_k=2), "lamp")) == 2


def test_without_a_docstore_nodes_are_made_of_what_the_store_kept(retrieve: Retrieve) -> None:
    own = of(manual())
    retriever = ACMSRetriever(own.pipeline, max_tokens=500)
    (first, *_) = retrieve(retriever, "tide remark 4")
    assert first.node.node_id == "n4"
    assert first.node.metadata["subject"] == "tide"
    assert first.node.ref_doc_id == "manual"
    assert "acms" not in first.node.get_content(MetadataMode.LLM)


def names(nodes: list[NodeWithScore]) -> set[int]:
    return {int(node.node.node_id[1:]) for node in nodes}


def one(key: str, value: Any, op: FilterOperator = FilterOperator.EQ) -> MetadataFilter:
    return MetadataFilter(key=key, value=value, operator=op)


TIDES = {n for n in range(30) if n % 3 == 1}
OP = FilterOperator


@pytest.mark.parametrize(
    ("filters", "condition", "expected"),
    [
        ([one("subject", "tide")], "and", TIDES),
        ([one("page", 7)], "and", {7}),
        ([one("page", 7, OP.NE), one("subject", "tide")], "and", TIDES - {7}),
        ([one("page", 25, OP.GTE)], "and", {25, 26, 27, 28, 29}),
        ([one("page", 25, OP.GT), one("page", 28, OP.LT)], "and", {26, 27}),
        ([one("page", 2, OP.LTE)], "and", {0, 1, 2}),
        ([one("page", [3, 4], OP.IN)], "and", {3, 4}),
        ([one("page", list(range(2, 30)), OP.NIN)], "and", {0, 1}),
        ([one("tags", "tide", OP.CONTAINS)], "and", TIDES),
        ([one("tags", ["tide", "x"], OP.ANY)], "and", TIDES),
        ([one("tags", ["a", "tide"], OP.ALL)], "and", TIDES),
        ([one("subject", "tid", OP.TEXT_MATCH)], "and", TIDES),
        ([one("subject", "TID", OP.TEXT_MATCH_INSENSITIVE)], "and", TIDES),
        ([one("nothing", None, OP.IS_EMPTY), one("page", 3)], "and", {3}),
        ([one("page", 1), one("page", 2)], "or", {1, 2}),
        ([one("page", 2, OP.GTE)], "not", {0, 1}),
        ([one("subject", 3, OP.GT)], "and", set()),
        ([one("missing", "x")], "and", set()),
        ([one("missing", "x", OP.NE), one("page", 5)], "and", {5}),
    ],
)
def test_every_filter_of_the_framework_holds(
    retrieve: Retrieve, filters: list[Any], condition: str, expected: set[int]
) -> None:
    wanted = MetadataFilters(filters=filters, condition=FilterCondition(condition))
    found = retrieve(of(manual(), max_tokens=20_000, filters=wanted), "remark care")
    assert names(found) == expected


def test_filters_may_be_nested(retrieve: Retrieve) -> None:
    either = MetadataFilters(filters=[one("page", 1), one("page", 2)], condition="or")
    both = MetadataFilters(filters=[either, one("subject", "tide")])
    assert names(retrieve(of(manual(), filters=both), "remark care")) == {1}


def test_a_filter_is_never_emptied_by_better_hits_outside_b5(retrieve: Retrieve) -> None:
    better = [TextNode(id_=f"n{n}", text="lamp " * 9, metadata={"x": 0}) for n in range(400)]
    wanted = TextNode(id_="n999", text="one lamp among much else", metadata={"x": 1})
    retriever = of([*better, wanted], filters=MetadataFilters(filters=[one("x", 1)]))
    assert names(retrieve(retriever, "lamp")) == {999}


def test_m6_a_filter_sees_every_entry_of_metadata_with_many(retrieve: Retrieve) -> None:
    many = {f"key {number}": number for number in range(100)}
    nodes = [
        TextNode(id_="wanted", text="remark on care", metadata={**many, "last": "yes"}),
        TextNode(id_="other", text="remark on care too", metadata={**many, "last": "no"}),
    ]
    filters = MetadataFilters(filters=[one("last", "yes")])
    found = retrieve(of(nodes, max_tokens=20_000, filters=filters), "remark care")
    assert [node.node.node_id for node in found] == ["wanted"]


def test_a_filter_that_everything_passes_changes_nothing(retrieve: Retrieve) -> None:
    draw = Random(7)
    words = ("lamp", "tide", "boat", "harbour", "keeper", "storm", "fuel", "beam", "rope", "sail")
    texts = [" ".join(draw.choices(words, k=12)) for _ in range(200)]
    nodes = [TextNode(id_=f"n{n}", text=text, metadata={"x": 1}) for n, text in enumerate(texts)]
    whole, narrow = (
        ACMSRetriever.from_nodes(nodes, embedder="character-frequency-v1", **fields)
        for fields in ({}, {"filters": MetadataFilters(filters=[one("x", 1)])})
    )
    found = [
        [(node.node.node_id, node.score) for node in retrieve(retriever, "keeper of the lamp")]
        for retriever in (whole, narrow)
    ]
    assert found[1] == found[0]


def test_filters_of_one_retriever_are_not_those_of_another() -> None:
    whole = of(manual())
    narrow = ACMSRetriever(whole.pipeline, filters=MetadataFilters(filters=[one("page", 3)]))
    assert names(narrow.retrieve("remark")) == {3}
    assert len(whole.retrieve("remark")) > 1


def test_a_filter_holds_for_the_pipeline_that_a_retriever_has_now(retrieve: Retrieve) -> None:
    narrow = of(manual(3), filters=MetadataFilters(filters=[one("page", 3)]))
    assert names(retrieve(narrow, "remark")) == set()
    narrow.pipeline = of(manual()).pipeline
    assert names(retrieve(narrow, "remark")) == {3}


def test_it_serves_a_query_engine(retrieve: Retrieve) -> None:
    engine = RetrieverQueryEngine(
        retriever=of(manual(), max_tokens=300),
        response_synthesizer=get_response_synthesizer(MockLLM()),
    )
    response = engine.query("lamp")
    assert tokens(response.source_nodes) <= 300
    assert response.source_nodes[0].node.get_content().strip() in str(response)
    assert asyncio.run(engine.aquery("lamp")).source_nodes


@pytest.mark.parametrize(
    "mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"]
)
def test_it_serves_a_fusion_of_retrievers(retrieve: Retrieve, mode: str) -> None:
    fusion = QueryFusionRetriever(
        [of(manual(), max_tokens=400), of(manual(9), max_tokens=400)],
        llm=MockLLM(),
        mode=mode,
        num_queries=1,
        similarity_top_k=5,
        use_async=False,
    )
    assert retrieve(fusion, "lamp")


def test_it_serves_auto_merging() -> None:
    text = " ".join(f"On day {n} the keeper wrote line {n}." for n in range(90))
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[512, 64], chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([Document(text=text, id_="log")])
    leaves = [node for node in nodes if not node.child_nodes]
    storage = StorageContext.from_defaults()
    storage.docstore.add_documents(nodes)
    inner = ACMSRetriever.from_nodes(leaves, embedder=None, max_tokens=700)
    merged = AutoMergingRetriever(inner, storage).retrieve("What did the keeper write?")
    assert any(node.node.child_nodes for node in merged)


def test_a_parent_and_its_children_are_never_both_read_f9(retrieve: Retrieve) -> None:
    text = " ".join(f"On day {n} the keeper wrote line {n}." for n in range(90))
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[512, 64], chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([Document(text=text, id_="log")])
    found = retrieve(of(nodes, max_tokens=2_000), "What did the keeper write on day 41?")
    read = "\n\n".join(node.node.get_content() for node in found)
    assert read.count("On day 41 ") == 1


def test_a_sentence_is_a_lower_depth_of_its_window(retrieve: Retrieve) -> None:
    text = " ".join(f"On day {n} the keeper wrote line {n}." for n in range(90))
    parser = SentenceWindowNodeParser.from_defaults(window_size=2)
    nodes = parser.get_nodes_from_documents([Document(text=text, id_="log")])
    (found,) = retrieve(of(nodes, top_k=1, max_tokens=400), "day 41")
    assert found.node.get_content().strip() == found.node.metadata["window"].strip()
    assert "On day 40 " in found.node.get_content()


def test_index_nodes_lead_on_to_their_objects(retrieve: Retrieve) -> None:
    target = TextNode(id_="target", text="what it leads to")
    node = IndexNode(id_="i", text="the lamp of all lamps", index_id="x", obj=target)
    plain = of([IndexNode(id_="i", text=node.text, index_id="x")], objects=[node])
    assert [n.node.node_id for n in retrieve(plain, "lamp")] == ["target"]


TRACE: ContextVar[str] = ContextVar("trace", default="none")


class Finder:
    """Notes what it can see of its caller."""

    name = "finder"
    capabilities = StrategyCapabilities(uses_text=True, quality_score=0.9)

    def __init__(self) -> None:
        self.seen: list[str] = []

    def can_handle(self, request: Any, backends: Any) -> float:
        return 0.9

    def assemble(self, request: Any, backends: Any, budget: Any, plan_context: Any) -> Any:
        self.seen.append(TRACE.get())
        return [ContextFragment(uko_node="x", content="found it", relevance_score=0.8)]

    def explain(self) -> str:
        return "Finds."


def test_s11_strategies_see_the_caller_s_context(retrieve: Retrieve) -> None:
    finder = Finder()
    retriever = ACMSRetriever(ACMSPipeline(strategies=[finder], backends={"text": True}))
    token = TRACE.set("mine")
    try:
        (found,) = retrieve(retriever, "anything")
    finally:
        TRACE.reset(token)
    assert finder.seen == ["mine"]
    assert found.node.get_content() == "found it"


class Packed(BaseEventHandler):
    left_out: list[list[dict[str, Any]]]

    @classmethod
    def class_name(cls) -> str:
        return "Packed"

    def handle(self, event: Any, **kwargs: Any) -> None:
        if event.class_name() == "ContextPackedEvent":
            self.left_out.append(event.left_out)


def test_a5_the_ledger_reaches_instrumentation_and_assemble(retrieve: Retrieve) -> None:
    retriever = of(manual(), max_tokens=200)
    handler = Packed(left_out=[])
    get_dispatcher().add_event_handler(handler)
    try:
        retrieve(retriever, "lamp")
    finally:
        get_dispatcher().event_handlers.remove(handler)
    assert handler.left_out[0]
    payload = retriever.assemble("lamp")
    assert payload.is_within_budget
    assert len(payload.ledger.entries) == len(handler.left_out[0])
    assert asyncio.run(retriever.aassemble("lamp")).context_hash == payload.context_hash


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 0},
        {"top_k": 0},
        {"top_k": True},
        {"request": {"nonsense": 1}},
        {"filters": {"page": 3}},
    ],
)
def test_a_value_outside_its_range_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        of(manual(1), **fields)


def test_nodes_with_scores_and_texts_in_place_of_nodes_are_refused() -> None:
    scored = NodeWithScore(node=TextNode(text="redis"), score=1.0)
    with pytest.raises(TypeError, match="pass its `node`"):
        ACMSRetriever.from_nodes([scored])
    with pytest.raises(TypeError, match="nodes or documents, not 'redis'"):
        ACMSRetriever.from_nodes(["redis"])


def test_a_retriever_in_place_of_a_pipeline_is_refused() -> None:
    retriever = ACMSRetriever.from_nodes([TextNode(text="redis")], embedder=None)
    with pytest.raises(ValueError, match="pass the retriever's `pipeline`"):
        ACMSRetriever(retriever)
    with pytest.raises(ValueError, match="must be an ACMSPipeline, not None"):
        ACMSRetriever(None)
