"""LlamaIndex nodes, brought down to a budget."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from pydantic import ValidationError

from acms_adapters import token_counter
from acms_adapters.llamaindex import ACMSNodePostprocessor
from acms_adapters.models.fragment import MAX_CONTENT_CHARS

Fit = Callable[..., list[NodeWithScore]]


@pytest.fixture(params=["sync", "async"])
def fit(request: pytest.FixtureRequest) -> Fit:
    def run(postprocessor: ACMSNodePostprocessor, nodes: list[NodeWithScore], **asked: Any):
        if request.param == "sync":
            return postprocessor.postprocess_nodes(nodes, **asked)
        return asyncio.run(postprocessor.apostprocess_nodes(nodes, **asked))

    return run


def scored(*texts: str, scores: list[float | None] | None = None) -> list[NodeWithScore]:
    scores = scores or [None] * len(texts)
    return [
        NodeWithScore(node=TextNode(id_=f"n{place}", text=text), score=score)
        for place, (text, score) in enumerate(zip(texts, scores, strict=True))
    ]


def dull() -> list[NodeWithScore]:
    """A list that says nothing of anything."""
    texts, scores = ["Nothing of note. " * 10] * 20, [1 / (60 + place) for place in range(20)]
    return scored(*texts, scores=[*scores])


def read(nodes: list[NodeWithScore]) -> str:
    return "\n\n".join(node.node.get_content(MetadataMode.LLM) for node in nodes)


def test_the_joined_text_is_within_the_budget_and_the_rank_order_stays_a2(fit: Fit) -> None:
    """A2.order."""
    nodes = scored(
        *(f"fact number {n} " * 10 for n in range(30)), scores=[n / 30 for n in range(30)]
    )
    kept = fit(ACMSNodePostprocessor(max_tokens=200), nodes, query_str="which fact?")
    assert token_counter().count(read(kept)) <= 200
    places = [int(node.node.node_id[1:]) for node in kept]
    assert places == sorted(places)
    assert max(places) == 29  # the best one is kept although it came last


def test_what_does_not_fit_is_passed_over_and_smaller_ones_still_come_f3(fit: Fit) -> None:
    nodes = scored("a " * 900, "b " * 50, "c " * 50, scores=[0.9, 0.8, 0.7])
    kept = fit(ACMSNodePostprocessor(max_tokens=120), nodes)
    assert [node.node.node_id for node in kept] == ["n1", "n2"]


def test_what_answers_the_question_is_read_before_what_stands_a_little_higher(fit: Fit) -> None:
    nodes = dull()
    nodes[8].node.set_content("Barns are painted red with iron oxide. " * 5)
    asked = {"nodes": nodes, "query_str": "Why are barns painted red?"}
    kept = fit(ACMSNodePostprocessor(max_tokens=150), **asked)
    assert [one.node.node_id for one in kept] == ["n0", "n1", "n8"]
    by_scores = [
        fit(ACMSNodePostprocessor(max_tokens=150, ranking="given"), **asked),
        fit(ACMSNodePostprocessor(max_tokens=150), nodes),
    ]
    for kept in by_scores:
        assert [one.node.node_id for one in kept] == ["n0", "n1", "n2"]


def test_metadata_tell_what_a_node_is_about(fit: Fit) -> None:
    nodes = dull()
    nodes[8].node.metadata["title"] = "Red barns"
    kept = fit(ACMSNodePostprocessor(max_tokens=170), nodes, query_str="Why are barns red?")
    assert "n8" in [one.node.node_id for one in kept]


def test_relevance_is_that_by_which_nodes_were_chosen_a5() -> None:
    nodes = dull()
    nodes[8].node.set_content("Barns are painted red with iron oxide. " * 5)
    payload = ACMSNodePostprocessor(max_tokens=170).explain(nodes, "Why are barns painted red?")
    least = min(fragment.relevance_score for fragment in payload.fragments)
    assert len(payload.ledger.entries) == 17
    assert all(entry.relevance_score < least for entry in payload.ledger.entries)


def test_metadata_that_the_model_reads_counts_and_the_rest_does_not_a2(fit: Fit) -> None:
    visible = TextNode(text="short", metadata={"note": "long " * 100})
    hidden = TextNode(
        text="short", metadata={"note": "long " * 100}, excluded_llm_metadata_keys=["note"]
    )
    both = [NodeWithScore(node=visible, score=0.9), NodeWithScore(node=hidden, score=0.1)]
    kept = fit(ACMSNodePostprocessor(max_tokens=50), both)
    assert [node.node for node in kept] == [hidden]


def test_nodes_come_back_whole_and_the_input_is_not_changed_a2(fit: Fit) -> None:
    """A2.whole."""
    node = TextNode(
        text="text",
        metadata={"k": "v"},
        embedding=[0.1, 0.2],
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc")},
    )
    nodes = [NodeWithScore(node=node, score=0.5)]
    before = copy.deepcopy(nodes)
    kept = fit(ACMSNodePostprocessor(max_tokens=100), nodes)
    assert kept == before == nodes
    assert kept[0] is not nodes[0]


def test_every_node_type_goes_through_mixed_a2(fit: Fit) -> None:
    """A2.whole."""
    kinds = [
        TextNode(text="text"),
        Document(text="document"),
        IndexNode(text="index", index_id="i"),
        ImageNode(text="", image="aGk="),
        Node(image_resource=MediaResource(url="https://example.org/i.png")),
    ]
    nodes = [NodeWithScore(node=node, score=None) for node in kinds]
    kept = fit(ACMSNodePostprocessor(max_tokens=1000), nodes)
    assert [type(node.node) for node in kept] == [type(node) for node in kinds]


def test_a_missing_score_is_that_of_the_node_before_a2() -> None:
    """A2.score."""
    nodes = scored("a", "b", "c", "d", scores=[None, 0.25, None, 0.5])
    payload = ACMSNodePostprocessor(max_tokens=100).explain(nodes)
    assert [f.relevance_score for f in payload.fragments] == [1.0, 0.25, 0.25, 0.5]


def test_scores_outside_the_unit_interval_keep_their_order_m7() -> None:
    nodes = scored("a " * 30, "b " * 30, "c " * 30, scores=[-3.0, 12.0, 4.0])
    payload = ACMSNodePostprocessor(max_tokens=35).explain(nodes)
    assert [f.uko_node for f in payload.fragments] == ["n1"]


def test_explain_accounts_for_every_node_once_with_its_reason_a5() -> None:
    nodes = scored("a " * 100, "b", "b", scores=[0.9, 0.5, 0.4])
    nodes.append(nodes[1])
    payload = ACMSNodePostprocessor(max_tokens=20).explain(nodes)
    accounted = [f.fragment_id for f in payload.fragments]
    accounted += [e.fragment_id for e in payload.ledger.entries]
    assert sorted(accounted) == ["0", "1", "2", "3"]
    reasons = {e.fragment_id: e.reason.value for e in payload.ledger.entries}
    assert reasons["0"] == "over_budget"
    assert "duplicate" in reasons.values()


class Seen(BaseEventHandler):
    names: list[str]
    left_out: list[dict[str, Any]]

    @classmethod
    def class_name(cls) -> str:
        return "Seen"

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.names.append(event.class_name())
        if event.class_name() == "ContextPackedEvent":
            self.left_out.extend(event.left_out)


@pytest.fixture
def seen() -> Iterator[Seen]:
    handler = Seen(names=[], left_out=[])
    dispatcher = get_dispatcher()
    dispatcher.add_event_handler(handler)
    yield handler
    dispatcher.event_handlers.remove(handler)


def test_the_ledger_reaches_instrumentation_and_callbacks_a5(fit: Fit, seen: Seen) -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    postprocessor = ACMSNodePostprocessor(max_tokens=10, callback_manager=CallbackManager([debug]))
    fit(postprocessor, scored("a " * 100, "b"), query_str="q")
    assert [name for name in seen.names if "ReRank" in name] == [
        "ReRankStartEvent",
        "ReRankEndEvent",
    ]
    assert [entry["node_id"] for entry in seen.left_out] == ["n0"]
    assert debug.get_event_pairs(CBEventType.RERANKING)


def test_a_node_beyond_the_size_of_a_fragment_breaks_nothing_m6(fit: Fit) -> None:
    nodes = scored("^" * (MAX_CONTENT_CHARS + 1), "small", scores=[0.9, 0.1])
    kept = fit(ACMSNodePostprocessor(max_tokens=100), nodes)
    assert [node.node.node_id for node in kept] == ["n1"]


def test_no_nodes_give_no_nodes(fit: Fit) -> None:
    assert fit(ACMSNodePostprocessor(max_tokens=100), []) == []


def test_it_serialises_pickles_and_copies() -> None:
    postprocessor = ACMSNodePostprocessor(max_tokens=64, tokenizer="o200k_base", order="edges")
    for twin in (
        ACMSNodePostprocessor.from_dict(postprocessor.to_dict()),
        pickle.loads(pickle.dumps(postprocessor)),
        copy.deepcopy(postprocessor),
    ):
        assert twin.max_tokens == 64
        assert twin.tokenizer == "o200k_base"
        assert twin.order == "edges"


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 0},
        {"max_tokens": -4},
        {"max_tokens": 10, "reserved_tokens": 10},
        {"tokens": 5},
    ],
)
def test_a_value_outside_its_range_and_an_unknown_field_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ACMSNodePostprocessor(**fields)


def test_assignment_is_checked_as_construction_is() -> None:
    postprocessor = ACMSNodePostprocessor(max_tokens=10)
    with pytest.raises(ValidationError):
        postprocessor.max_tokens = -4


@given(
    texts=st.lists(
        st.tuples(st.text(max_size=200), st.one_of(st.none(), st.floats(allow_nan=True))),
        max_size=15,
    ),
    metadata=st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=3),
    question=st.text(max_size=20),
    budget=st.integers(1, 400),
)
def test_any_nodes_fit_any_budget_and_stay_unchanged_a2(
    texts: list[tuple[str, float | None]], metadata: dict[str, str], question: str, budget: int
) -> None:
    nodes = [
        NodeWithScore(node=TextNode(text=text, metadata=dict(metadata)), score=score)
        for text, score in texts
    ]
    before = [node.model_dump_json() for node in nodes]
    postprocessor = ACMSNodePostprocessor(max_tokens=budget)
    kept = postprocessor.postprocess_nodes(nodes, query_bundle=QueryBundle(question))
    assert token_counter().count(read(kept)) <= budget
    assert [node.model_dump_json() for node in nodes] == before
    payload = postprocessor.explain(nodes, question)
    assert len(payload.fragments) + len(payload.ledger) == len(nodes)
    places = [int(fragment.fragment_id) for fragment in payload.fragments]
    assert [node.node.node_id for node in kept] == [nodes[at].node.node_id for at in places]
