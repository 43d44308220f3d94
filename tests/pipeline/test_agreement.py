"""Adding up what several strategies say about one node (ruling F11)."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import ContextFragment, FragmentProvenance
from acms_adapters.models.scores import to_relevance
from acms_adapters.pipeline.agreement import agree

WEIGHTS = {"words": 0.35, "vectors": 0.65}


def fragment(
    strategy: str | None = None, evidence: float = 0.0, node: str = "n", **fields: Any
) -> ContextFragment:
    score = to_relevance(evidence)
    source = FragmentProvenance(
        resource_uri="r",
        location=fields.pop("location", ""),
        strategy=strategy,
        score=score if strategy else None,
        merged=fields.pop("merged", ()),
    )
    return ContextFragment(
        uko_node=node, content="text", provenance=source, **{"relevance_score": score, **fields}
    )


def relevances(fragments: Sequence[ContextFragment]) -> list[float]:
    return [f.relevance_score for f in agree(fragments, WEIGHTS)]


def test_weighted_evidence_of_several_strategies_adds_up_f11() -> None:
    found = [fragment("words", 4.0), fragment("vectors", 2.0, detail_depth=4)]
    # .35 x 4 + .65 x 2 = 2.7
    assert relevances(found) == pytest.approx([to_relevance(2.7)] * 2)


def test_merged_provenance_counts_like_a_fragment_of_its_own_f11() -> None:
    other = fragment("vectors", 2.0).provenance
    assert relevances([fragment("words", 4.0, merged=(other,))]) == pytest.approx(
        [to_relevance(2.7)]
    )


def test_duplicates_that_were_folded_away_count_as_well_f11() -> None:
    (rated,) = agree([fragment("words", 4.0)], WEIGHTS, among=[fragment("vectors", 2.0)])
    assert rated.relevance_score == pytest.approx(to_relevance(2.7))


def test_a_node_that_two_found_beats_one_that_either_found_as_well() -> None:
    twice = [fragment("words", 4.0), fragment("vectors", 4.0)]
    once = [fragment("words", 4.0, node="m"), fragment("vectors", 4.0, node="o")]
    agreed, _, words, vectors = relevances([*twice, *once])
    assert agreed > vectors > words


def test_evidence_below_the_mean_of_an_index_takes_nothing_away_f11() -> None:
    alone = relevances([fragment("words", 4.0)])
    assert relevances([fragment("words", 4.0), fragment("vectors", -9.0)])[:1] == alone


def test_a_strategy_counts_once_with_its_best_score_f11() -> None:
    found = [fragment("words", 4.0), fragment("words", 3.0, detail_depth=2)]
    assert relevances(found) == pytest.approx([to_relevance(0.35 * 4)] * 2)


def test_other_locations_of_a_node_do_not_agree_with_each_other_f8() -> None:
    found = [fragment("words", 4.0, location="a"), fragment("vectors", 4.0, location="b")]
    assert relevances(found) == pytest.approx([to_relevance(1.4), to_relevance(2.6)])


def test_a_strategy_without_a_weight_speaks_for_itself() -> None:
    found = [fragment("words", 4.0), fragment("everything", 5.0)]
    assert relevances(found) == pytest.approx([to_relevance(5.0)] * 2)
    low = [fragment("everything", e, node=str(e)) for e in (-4.0, -2.0)]
    assert relevances(low) == [f.relevance_score for f in low]


def test_what_no_strategy_scored_keeps_its_relevance_and_its_identity() -> None:
    brought = fragment(relevance_score=0.42)
    assert agree([brought], WEIGHTS)[0] is brought


def test_inputs_are_not_changed() -> None:
    found = [fragment("words", 4.0), fragment("vectors", 2.0)]
    before = [f.model_dump_json() for f in found]
    agree(found, WEIGHTS)
    assert [f.model_dump_json() for f in found] == before


@given(st.data())
def test_no_order_of_the_input_changes_a_single_bit_m9(data: Any) -> None:
    parts = st.tuples(
        st.sampled_from(["words", "vectors", "graph", None]),
        st.floats(-5, 20),
        st.sampled_from("ab"),
    )
    found = [fragment(*part) for part in data.draw(st.lists(parts, max_size=6))]
    shuffled = data.draw(st.permutations(found))
    rated = {f.fragment_id: f.relevance_score for f in agree(found, WEIGHTS)}
    assert {f.fragment_id: f.relevance_score for f in agree(shuffled, WEIGHTS)} == rated
    assert all(0.0 <= relevance <= 1.0 for relevance in rated.values())


def test_f11_what_an_arm_would_have_said_counts_also_against_a_node() -> None:
    """F11: a node below an arm's first hits has evidence there too, for or against it."""
    weights = {"words": 0.5, "near": 0.5}
    found = ContextFragment(
        uko_node="n",
        content="x",
        relevance_score=to_relevance(2.0),
        provenance=FragmentProvenance(resource_uri="n", strategy="words", score=to_relevance(2.0)),
    )
    for said in (-1.0, 1.5):
        (rated,) = agree([found], weights, ratings={"near": {"n": to_relevance(said)}})
        assert rated.relevance_score == pytest.approx(to_relevance(1.0 + 0.5 * said))
    (rated,) = agree([found], weights, ratings={"words": {"n": 0.0}, "other": {"n": 0.0}})
    assert rated.relevance_score == pytest.approx(to_relevance(1.0))
