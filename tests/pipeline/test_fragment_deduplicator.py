"""Folding fragments with the same text of the same node into one (ruling F1)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import ContextFragment, FragmentProvenance, LeftOut
from acms_adapters.pipeline import FragmentDeduplicator
from acms_adapters.pipeline.fragment_deduplicator import deduplicate

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


def fragment(node: str = "n", content: str = "text", **fields: Any) -> ContextFragment:
    return ContextFragment(uko_node=node, content=content, **{"created_at": NOON, **fields})


def found_by(strategy: str, score: float, **fields: Any) -> ContextFragment:
    source = FragmentProvenance(resource_uri="file", strategy=strategy, score=score)
    return fragment(provenance=source, relevance_score=score, **fields)


def test_the_documented_call_keeps_the_first_and_the_only_one() -> None:
    """D1-15, D5-19, D5-20."""
    first, twin = fragment(relevance_score=0.9), fragment(relevance_score=0.4)
    other = fragment("m")
    kept = FragmentDeduplicator().deduplicate(
        fragments=[first, other, twin], strategy="highest_relevance"
    )
    assert kept == [first, other]


def test_the_same_text_under_two_nodes_stays_two_f1() -> None:
    """F1.uris."""
    assert len(FragmentDeduplicator().deduplicate([fragment("a"), fragment("b")])) == 2


def test_another_text_of_the_same_node_stays_f1() -> None:
    assert len(FragmentDeduplicator().deduplicate([fragment(), fragment(content="other")])) == 2


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_texts_that_differ_in_their_line_ends_are_one_f1_crlf_twins(ends: str) -> None:
    unix, other = fragment(content="a\nb\n"), fragment(content=f"a{ends}b{ends}")
    assert len(FragmentDeduplicator().deduplicate([unix, other])) == 1


def test_the_most_relevant_stays_then_the_hotter_then_the_newer_f1() -> None:
    """F1.stays."""
    best = fragment(relevance_score=0.9, tier="cold")
    hot = fragment(relevance_score=0.5, tier="hot")
    newer = fragment(relevance_score=0.5, created_at=NOON + timedelta(seconds=1))
    older = fragment(relevance_score=0.5)
    dedup = FragmentDeduplicator()
    assert dedup.deduplicate([older, newer, hot, best]) == [best]
    assert dedup.deduplicate([older, newer, hot]) == [hot]
    assert dedup.deduplicate([older, newer]) == [newer]


def test_equal_twins_are_told_apart_by_their_text_not_by_their_place_f1() -> None:
    """F1.stays."""
    unix, windows = fragment(content="a\n"), fragment(content="a\r\n")
    forwards = FragmentDeduplicator().deduplicate([unix, windows])
    assert forwards == FragmentDeduplicator().deduplicate([windows, unix]) == [unix]


def test_first_seen_keeps_what_came_first() -> None:
    """D5-21."""
    first, better = fragment(relevance_score=0.1), fragment(relevance_score=0.9)
    kept = FragmentDeduplicator(strategy="first_seen").deduplicate([first, better])
    assert kept == [first]


def test_most_recent_keeps_the_newest_then_the_most_relevant() -> None:
    """D5-22."""
    old = fragment(relevance_score=0.9, created_at=NOON - timedelta(days=1))
    weak, strong = fragment(relevance_score=0.2), fragment(relevance_score=0.3)
    assert FragmentDeduplicator().deduplicate([old, weak, strong], "most_recent") == [strong]


@pytest.mark.parametrize("strategy", ["best", ""])
def test_an_unknown_strategy_is_refused_by_name(strategy: Any) -> None:
    with pytest.raises(ValueError, match=f"{strategy!r}.*first_seen"):
        FragmentDeduplicator(strategy=strategy)
    with pytest.raises(ValueError, match=f"{strategy!r}.*first_seen"):
        FragmentDeduplicator().deduplicate([], strategy)


def test_the_one_that_stays_remembers_where_all_others_came_from_f1() -> None:
    """F1.merged, D4-28."""
    (kept,) = FragmentDeduplicator().deduplicate(
        [found_by("keyword", 0.4), found_by("vector", 0.8), found_by("graph", 0.6)]
    )
    assert (kept.provenance.strategy, kept.provenance.score) == ("vector", 0.8)
    merged = [(other.strategy, other.score) for other in kept.provenance.merged]
    assert merged == [("graph", 0.6), ("keyword", 0.4)]


def test_each_provenance_is_remembered_once_and_without_nesting_f1() -> None:
    """F1.merged."""
    (once,) = FragmentDeduplicator().deduplicate([found_by("a", 0.4), found_by("b", 0.5)])
    (twice,) = FragmentDeduplicator().deduplicate([once, found_by("a", 0.4), found_by("c", 0.6)])
    assert [other.strategy for other in twice.provenance.merged] == ["a", "b"]
    assert all(other.merged == () for other in twice.provenance.merged)


def test_twins_from_one_place_leave_the_fragment_as_it_was() -> None:
    one, other = fragment(relevance_score=0.9), fragment(relevance_score=0.1)
    assert FragmentDeduplicator().deduplicate([one, other])[0] is one


def test_provenance_is_left_alone_when_merging_is_off() -> None:
    """D5-23."""
    dedup = FragmentDeduplicator(merge_provenance=False)
    (kept,) = dedup.deduplicate([found_by("a", 0.4), found_by("b", 0.5)])
    assert kept.provenance.merged == ()


def test_a_duplicate_is_accounted_for_by_what_it_duplicates_f7() -> None:
    best, twin = fragment(relevance_score=0.9), fragment(relevance_score=0.2)
    (entry,) = deduplicate([twin, best]).left_out
    assert (entry.reason, entry.fragment_id, entry.other) == (
        LeftOut.DUPLICATE,
        twin.fragment_id,
        best.fragment_id,
    )


def test_the_same_object_passed_twice_is_one_and_one_duplicate() -> None:
    one = fragment()
    outcome = deduplicate([one, one])
    assert outcome.kept == (one,)
    assert [entry.other for entry in outcome.left_out] == [one.fragment_id]


fragments = st.builds(
    fragment,
    node=st.sampled_from("ab"),
    content=st.sampled_from(["x\n", "x\r\n", "y"]),
    relevance_score=st.sampled_from([0.1, 0.9]),
    tier=st.sampled_from(["hot", "warm"]),
    detail_depth=st.sampled_from([2, 9]),
    token_count=st.sampled_from([1, 2]),
    provenance=st.builds(
        FragmentProvenance,
        resource_uri=st.sampled_from(["f", "g"]),
        strategy=st.sampled_from([None, "s", "t"]),
        score=st.sampled_from([None, 0.5]),
    ),
)


@given(st.data())
def test_any_order_of_the_input_gives_the_same_content_and_loses_nothing(data: Any) -> None:
    found = data.draw(st.lists(fragments, max_size=8))
    shuffled = data.draw(st.permutations(found))
    outcome = deduplicate(found)
    ids = [f.fragment_id for f in outcome.kept] + [e.fragment_id for e in outcome.left_out]
    assert sorted(ids) == sorted(f.fragment_id for f in found)
    key = ContextFragment.model_dump_json
    without_ids = {"exclude": {"fragment_id"}}
    assert sorted(key(f, **without_ids) for f in outcome.kept) == sorted(
        key(f, **without_ids) for f in deduplicate(shuffled).kept
    )
