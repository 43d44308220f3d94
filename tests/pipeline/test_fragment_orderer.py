"""Reading order."""

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import ContextFragment
from acms_adapters.models.layout import render
from acms_adapters.pipeline import FragmentOrderer
from acms_adapters.pipeline.fragment_orderer import OrderStrategy

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


def fragment(node: str, relevance: float = 0.5, tier: Any = "warm", age: int = 0) -> Any:
    return ContextFragment(
        uko_node=node,
        content=f"text of {node}",
        relevance_score=relevance,
        tier=tier,
        created_at=NOON - timedelta(days=age),
    )


def nodes(fragments: list[ContextFragment]) -> str:
    return "".join(f.uko_node for f in fragments)


FOUND = [
    fragment("a", 0.2, "hot", age=3),
    fragment("b", 0.9, "cold", age=1),
    fragment("c", 0.5, "warm", age=2),
    fragment("d", 0.7, "warm", age=0),
]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("relevance", "bdca"),
        ("recency", "dbca"),
        ("tier-relevance", "adcb"),
        ("edges", "bcad"),
        ("as-given", "abcd"),
        ("cache-stable", "adcb"),
    ],
)
def test_each_strategy_has_its_order(strategy: Any, expected: str) -> None:
    """D4-35, D5-36, D5-37, D5-38."""
    assert nodes(FragmentOrderer().order(fragments=FOUND, strategy=strategy)) == expected
    assert nodes(FragmentOrderer(strategy).order(FOUND)) == expected


def test_tiers_come_first_unless_told_otherwise() -> None:
    """D5-39."""
    assert nodes(FragmentOrderer().order(FOUND)) == "adcb"


def test_a_custom_order_sorts_by_its_key() -> None:
    """D4-35, D5-40."""
    orderer = FragmentOrderer("custom", key=lambda f: f.created_at)
    assert nodes(orderer.order(FOUND)) == "acbd"


def test_a_custom_order_without_a_key_says_what_it_needs() -> None:
    with pytest.raises(ValueError, match="needs a key"):
        FragmentOrderer("custom")
    with pytest.raises(ValueError, match="needs a key"):
        FragmentOrderer().order(FOUND, "custom")


@pytest.mark.parametrize("strategy", ["random", ""])
def test_an_unknown_order_is_refused_by_name(strategy: Any) -> None:
    with pytest.raises(ValueError, match=f"{strategy!r}.*tier-relevance"):
        FragmentOrderer().order(FOUND, strategy)


def test_the_strongest_stand_at_both_ends_and_the_weakest_in_the_middle() -> None:
    ranked = [fragment(str(rank), 1 - rank / 10) for rank in range(6)]
    ordered = [f.relevance_score for f in FragmentOrderer("edges").order(ranked)]
    weakest = ordered.index(min(ordered))
    assert {ordered[0], ordered[-1]} == {1.0, 0.9}
    assert ordered[: weakest + 1] == sorted(ordered[: weakest + 1], reverse=True)
    assert ordered[weakest:] == sorted(ordered[weakest:])


def test_what_the_previous_payload_held_comes_first_byte_for_byte() -> None:
    a, b, c, d = FOUND
    previous = [c, b, a]
    rated_anew = b.model_copy(update={"relevance_score": 0.1, "fragment_id": "new"})
    ordered = FragmentOrderer("cache-stable", previous=previous).order([a, d, rated_anew, c])
    assert nodes(ordered) == "cbad"
    assert render(ordered).startswith(render(previous))


def test_a_text_that_changed_is_no_part_of_the_stable_beginning() -> None:
    a, b, _, _ = FOUND
    changed = a.model_copy(update={"content": "text of a\r\n"})
    lower = b.model_copy(update={"detail_depth": 2})
    orderer = FragmentOrderer("cache-stable", previous=[a, b])
    assert nodes(orderer.order([lower, changed, fragment("e", 0.99, "hot")])) == "eab"


def test_a_previous_text_is_used_once() -> None:
    a = FOUND[0]
    orderer = FragmentOrderer("cache-stable", previous=[a, a])
    assert orderer.order([a]) == [a]
    assert orderer.order([a, a, a]) == [a, a, a]


@given(st.data())
def test_the_order_of_the_input_decides_nothing_unless_asked_m9(data: Any) -> None:
    parts = st.tuples(
        st.sampled_from("abcdef"), st.sampled_from([0.1, 0.5]), st.sampled_from(["hot", "cold"])
    )
    made = data.draw(st.lists(parts, max_size=6, unique_by=lambda part: part[0]))
    found = [fragment(*part) for part in made]
    shuffled = data.draw(st.permutations(found))
    strategy = data.draw(st.sampled_from(get_args(OrderStrategy)))
    orderer = FragmentOrderer(strategy, key=lambda f: f.uko_node, previous=found[1:3])
    assert sorted(nodes(orderer.order(found))) == sorted(nodes(found))
    if strategy != "as-given":
        assert orderer.order(found) == orderer.order(shuffled)
