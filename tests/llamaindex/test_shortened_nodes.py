"""A node that does not fit loses sentences or lines of code before it is dropped."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)

from acms_adapters import token_counter
from acms_adapters.llamaindex import ACMSNodePostprocessor
from acms_adapters.tokens import CallableCounter

FACTS = [f"Fact {n} is about lamp number {n}." for n in range(100)]
CODE = "\n".join(
    f"def step_{n}(value):\n    '''Do step {n}.'''\n    return value + {n}\n" for n in range(60)
)


def scored(*nodes: BaseNode) -> list[NodeWithScore]:
    return [NodeWithScore(node=node, score=1.0 - n / 100) for n, node in enumerate(nodes)]


def tokens(nodes: list[NodeWithScore]) -> int:
    text = "\n\n".join(node.node.get_content(MetadataMode.LLM) for node in nodes)
    return token_counter().count(text)


def long_node(text: str = " ".join(FACTS), **fields: Any) -> TextNode:
    given = {
        "id_": "long",
        "metadata": {"file": "facts.txt"},
        "embedding": [0.5, 0.5],
        "excluded_llm_metadata_keys": ["secret"],
        "relationships": {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc")},
    }
    return TextNode(text=text, **(given | fields))


@pytest.mark.parametrize("budget", [64, 100, 200, 400])
def test_the_top_node_larger_than_the_budget_is_never_simply_gone(budget: int) -> None:
    kept = ACMSNodePostprocessor(max_tokens=budget).postprocess_nodes(scored(long_node()))
    assert [node.node.node_id for node in kept] == ["long"]
    assert 0.7 * budget <= tokens(kept) <= budget


def test_kept_spans_are_verbatim_and_stand_in_metadata_that_nobody_reads() -> None:
    node = long_node()
    (kept,) = ACMSNodePostprocessor(max_tokens=80).postprocess_nodes(
        scored(node), query_str="What is fact 77 about?"
    )
    note = kept.node.metadata["acms"]
    parts = [node.text[start:end] for start, end in note["spans"]]
    assert FACTS[77] in " ".join(parts)
    assert all(part in kept.node.get_content() for part in parts)
    assert 0 <= note["detail_depth"] < 9
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert "acms" not in kept.node.get_content(mode)
        assert "spans" not in kept.node.get_content(mode)


def test_everything_but_the_text_of_a_shortened_node_stays_a2() -> None:
    node = long_node()
    before = node.model_copy(deep=True)
    (kept,) = ACMSNodePostprocessor(max_tokens=80).postprocess_nodes(scored(node))
    assert node == before
    assert type(kept.node) is TextNode
    assert kept.score == 1.0
    for name in ("node_id", "relationships", "embedding", "start_char_idx", "metadata_template"):
        assert getattr(kept.node, name) == getattr(node, name)
    assert {k: v for k, v in kept.node.metadata.items() if k != "acms"} == node.metadata
    assert kept.node.excluded_llm_metadata_keys == ["secret", "acms"]


@pytest.mark.parametrize(
    "make",
    [
        lambda text: TextNode(id_="x", text=text),
        lambda text: Document(id_="x", text=text),
        lambda text: IndexNode(id_="x", text=text, index_id="elsewhere"),
        lambda text: ImageNode(id_="x", text=text, image="aGk="),
        lambda text: Node(
            id_="x",
            text_resource=MediaResource(text=text, mimetype="text/markdown"),
            image_resource=MediaResource(url="https://example.org/i.png"),
        ),
    ],
)
def test_every_node_type_is_shortened_and_keeps_its_type_a2(make: Any) -> None:
    node = make(" ".join(FACTS))
    (kept,) = ACMSNodePostprocessor(max_tokens=90).postprocess_nodes(scored(node))
    assert type(kept.node) is type(node)
    assert kept.node.node_id == "x"
    assert FACTS[0] in kept.node.get_content(MetadataMode.NONE)
    assert FACTS[-1] not in kept.node.get_content(MetadataMode.NONE)
    assert tokens([kept]) <= 90
    if isinstance(node, Node):
        assert kept.node.image_resource == node.image_resource
        assert kept.node.text_resource.mimetype == node.text_resource.mimetype


def test_code_is_shortened_by_its_structure() -> None:
    (kept,) = ACMSNodePostprocessor(max_tokens=60).postprocess_nodes(
        scored(TextNode(text=CODE)), query_str="step_41"
    )
    assert "def step_41(value):" in kept.node.get_content()
    for line in kept.node.get_content().splitlines():
        assert line == "…" or line in CODE.splitlines()


def test_the_room_behind_whole_nodes_is_filled_with_a_part_of_the_next_f3() -> None:
    first, second = TextNode(text=" ".join(FACTS[:10])), TextNode(text=" ".join(FACTS[50:70]))
    whole = ACMSNodePostprocessor(max_tokens=200, depth_fallback_steps=())
    assert len(whole.postprocess_nodes(scored(first, second))) == 1
    kept = ACMSNodePostprocessor(max_tokens=200).postprocess_nodes(scored(first, second))
    assert kept[0].node is first
    assert "acms" in kept[1].node.metadata
    assert tokens(kept) <= 200


def test_without_sentences_a_node_is_skipped_for_smaller_ones_and_cut_when_alone_f3() -> None:
    wordy, small = TextNode(text="alpha " * 900), TextNode(text="beta " * 50)
    postprocessor = ACMSNodePostprocessor(max_tokens=120)
    assert [n.node for n in postprocessor.postprocess_nodes(scored(wordy, small))] == [small]
    (kept,) = postprocessor.postprocess_nodes(scored(wordy))
    assert 100 <= tokens([kept]) <= 120
    ((start, end),) = kept.node.metadata["acms"]["spans"]
    assert kept.node.get_content() == wordy.text[start:end] + " …"


def test_metadata_give_way_before_the_content_of_the_only_node_does() -> None:
    node = long_node(metadata={"path": "a/very/long/path " * 20})
    (kept,) = ACMSNodePostprocessor(max_tokens=64).postprocess_nodes(scored(node))
    assert FACTS[0] in kept.node.get_content(MetadataMode.LLM)
    assert "path" not in kept.node.get_content(MetadataMode.LLM)
    assert kept.node.metadata["path"] == node.metadata["path"]
    assert tokens([kept]) <= 64


def test_what_was_shortened_is_kept_once_in_the_ledger_s_account_a5() -> None:
    nodes = scored(long_node(), *[TextNode(text=f"{fact} " * 40) for fact in FACTS[:5]])
    payload = ACMSNodePostprocessor(max_tokens=150).explain(nodes, "lamp number 7")
    accounted = [f.fragment_id for f in payload.fragments]
    accounted += [entry.fragment_id for entry in payload.ledger.entries]
    assert sorted(accounted) == [str(n) for n in range(len(nodes))]
    shortened = payload.fragments[0]
    assert shortened.detail_depth < 9
    assert shortened.token_count == token_counter().count(shortened.content)
    assert payload.is_within_budget
    assert payload.rendered_tokens == token_counter().count(payload.render())


def test_a_template_that_hides_the_content_is_left_alone() -> None:
    node = TextNode(text=" ".join(FACTS), metadata={"k": "v"}, text_template="{metadata_str}")
    kept = ACMSNodePostprocessor(max_tokens=64).postprocess_nodes(scored(node))
    assert [n.node for n in kept] == [node]


class Words:
    """Counts words."""

    name = "words-of-mine"
    exact = True

    def count(self, text: str) -> int:
        return len(text.split())


@pytest.mark.parametrize("counter", [Words(), lambda text: text.split(), lambda t: len(t.split())])
def test_a_counter_may_be_passed_and_is_serialised_by_its_name(counter: Any) -> None:
    postprocessor = ACMSNodePostprocessor(max_tokens=20, tokenizer=counter)
    kept = postprocessor.postprocess_nodes(scored(TextNode(text="a. " * 20), TextNode(text="b")))
    assert [len(n.node.get_content().split()) for n in kept] == [20]
    assert postprocessor.to_dict()["tokenizer"] == postprocessor.tokenizer
    for twin in (copy.deepcopy(postprocessor), postprocessor.model_copy()):
        assert len(twin.postprocess_nodes(scored(TextNode(text="a b " * 10)))) == 1
    again = ACMSNodePostprocessor.from_dict(postprocessor.to_dict())
    assert again.tokenizer == postprocessor.tokenizer


def test_a_counter_that_can_be_pickled_comes_back_and_another_keeps_its_name() -> None:
    nodes = scored(TextNode(text="Donaudampfschifffahrt " * 20))
    kept = pickle.loads(pickle.dumps(ACMSNodePostprocessor(max_tokens=20, tokenizer=Words())))
    assert len(kept.postprocess_nodes(nodes)) == 1
    lost = ACMSNodePostprocessor(max_tokens=20, tokenizer=lambda text: len(text))
    assert pickle.loads(pickle.dumps(lost)).tokenizer == "<lambda>"


def test_assigning_another_tokenizer_s_name_replaces_the_counter() -> None:
    postprocessor = ACMSNodePostprocessor(max_tokens=20, tokenizer=Words())
    postprocessor.tokenizer = "cl100k_base"
    (kept,) = postprocessor.postprocess_nodes(scored(TextNode(text="unbelievably " * 19)))
    assert tokens([kept]) <= 20


@given(
    texts=st.lists(
        st.lists(
            st.sampled_from(
                ["A sentence here. ", "Und noch einer! ", "\n\n", "def f(x):\n", "检索。"]
            )
        ).map("".join),
        max_size=6,
    ),
    budget=st.integers(1, 120),
    steps=st.lists(st.integers(0, 9), max_size=4).map(tuple),
    least=st.integers(0, 40),
    order=st.sampled_from(["as-given", "relevance", "edges"]),
)
def test_any_texts_fit_any_budget_at_any_depths_a2(
    texts: list[str], budget: int, steps: tuple[int, ...], least: int, order: str
) -> None:
    nodes = scored(*[TextNode(text=text, metadata={"n": n}) for n, text in enumerate(texts)])
    before = [node.model_dump_json() for node in nodes]
    postprocessor = ACMSNodePostprocessor(
        max_tokens=budget,
        depth_fallback_steps=steps,
        min_fragment_tokens=least,
        order=order,
    )
    kept = postprocessor.postprocess_nodes(nodes, query_str="a sentence")
    assert tokens(kept) <= budget
    assert [node.model_dump_json() for node in nodes] == before
    assert len({node.node.node_id for node in kept}) == len(kept)


def test_parts_are_looked_for_of_a_few_nodes_alone_however_many_do_not_fit() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split())

    nodes = scored(*(TextNode(id_=f"n{n}", text=" ".join(FACTS)) for n in range(90)))
    fit = ACMSNodePostprocessor(max_tokens=740, tokenizer=CallableCounter(count))
    assert [node.node.node_id for node in fit.postprocess_nodes(nodes)][:1] == ["n0"]
    assert len(counted) < 2 * len(nodes)
