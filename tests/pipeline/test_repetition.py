"""Repetitions are found as if every text had been compared (rulings F1, F8, F9)."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import ContextFragment, FragmentProvenance, LeftOut
from acms_adapters.pipeline.containment import contains, passage
from acms_adapters.pipeline.repetition import Readings, Verdict

WORDS = ("a", "be", "sea", "deep", "\n", "over.", "one's", "two", "three")


def fragment(
    number: int, text: str, *, node: int = 0, place: int = 0, depth: int = 9, resource: int = 0
) -> ContextFragment:
    return ContextFragment(
        uko_node=f"node-{node}",
        content=text,
        fragment_id=f"fragment-{number}",
        detail_depth=depth,
        provenance=FragmentProvenance(resource_uri=f"file-{resource}", location=f"part {place}"),
    )


@st.composite
def readings(draw: st.DrawFn) -> list[ContextFragment]:
    small = st.integers(0, 2)
    texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
    made = draw(st.lists(st.tuples(texts, small, small, st.sampled_from((9, 4)), small)))
    return [
        fragment(number, text, node=node, place=place, depth=depth, resource=resource)
        for number, (text, node, place, depth, resource) in enumerate(made)
    ]


def verdict(
    read: Sequence[ContextFragment], asked: ContextFragment, *, twins: bool
) -> Verdict | None:
    """What comparing with every text says."""
    for known in read:
        if known.key == asked.key:
            return LeftOut.DUPLICATE, known.fragment_id
    for known in read:
        same = (known.uko_node, known.provenance.location) == (
            asked.uko_node,
            asked.provenance.location,
        )
        if same and known.detail_depth != asked.detail_depth:
            return LeftOut.SUPERSEDED_DEPTH, known.fragment_id
    text = passage(asked.content)
    for known in read:
        if known.provenance.resource_uri == asked.provenance.resource_uri:
            outer = passage(known.content)
            if contains(outer, text) or (twins and outer == text):
                return LeftOut.CONTAINED, known.fragment_id
    return None


def inside(read: Sequence[ContextFragment], asked: ContextFragment) -> list[str]:
    return [
        known.fragment_id
        for known in read
        if known.provenance.resource_uri == asked.provenance.resource_uri
        and contains(passage(asked.content), passage(known.content))
    ]


@given(readings(), st.booleans())
def test_every_repetition_is_found_and_the_first_one_told(
    fragments: list[ContextFragment], twins: bool
) -> None:
    known = Readings(fragments[1::2], twins=twins)
    for asked in fragments[::2]:
        assert known.repeated_by(asked) == verdict(fragments[1::2], asked, twins=twins)
        assert known.inside(asked) == inside(fragments[1::2], asked)


@given(readings())
def test_what_was_taken_out_is_not_repeated_any_more(fragments: list[ContextFragment]) -> None:
    texts = list({one.key: one for one in fragments}.values())
    known = Readings(texts)
    for gone in texts[::3]:
        known.discard(gone)
    left = [one for one in texts if one not in texts[::3]]
    for asked in texts[::3]:
        assert known.repeated_by(asked) == verdict(left, asked, twins=False)
        assert known.inside(asked) == inside(left, asked)


@pytest.mark.parametrize("twins", [False, True])
def test_among_many_texts_of_a_resource_the_same_ones_are_found(twins: bool) -> None:
    chance = random.Random(4)
    many = []
    for number in range(400):
        text = " ".join(chance.choices(WORDS, k=chance.choice((1, 3, 9, 20))))
        if many and number % 3 == 0:
            around = chance.choice(many).content
            text = chance.choice((f"so {around} then", around[3:-4] or "x", around))
        many.append(fragment(number, text, node=number))
    read = many[::2]
    known = Readings(read, twins=twins)
    for asked in many[1::2]:
        assert known.repeated_by(asked) == verdict(read, asked, twins=twins)
        assert known.inside(asked) == inside(read, asked)
