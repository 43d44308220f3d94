"""Choosing the depth at which each node is read (rulings M3, F8, F10)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import (
    ContextFragment,
    ContextRequest,
    FragmentProvenance,
    LeftOut,
    Rendering,
)
from acms_adapters.pipeline import DetailDepthResolver
from acms_adapters.pipeline.detail_depth_resolver import DepthRules, resolve_depths

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


def fragment(depth: int = 9, node: str = "n", **fields: Any) -> ContextFragment:
    defaults = {"content": f"{node} at {depth}", "token_count": depth + 1, "created_at": NOON}
    return ContextFragment(uko_node=node, detail_depth=depth, **{**defaults, **fields})


class Renderings:
    """A source with as many tokens to a rendering as a test says, or unknown ones."""

    def __init__(self, **nodes: dict[int, int | None]) -> None:
        self.nodes = nodes
        self.asked: list[tuple[str, int]] = []

    def at(self, node: str, depth: int) -> Rendering | None:
        self.asked.append((node, depth))
        found = max((d for d in self.depths(node) if d <= depth), default=None)
        if found is None:
            return None
        tokens = self.nodes[node][found]
        return Rendering(
            uko_node=node, detail_depth=found, content=f"{node}@{found}", token_count=tokens
        )

    def depths(self, node: str) -> Sequence[int]:
        return sorted(self.nodes.get(node, {}))


def depths(fragments: Sequence[ContextFragment]) -> list[int]:
    return [f.detail_depth for f in fragments]


def test_without_a_request_the_deepest_stays_even_when_it_cannot_fit_f10() -> None:
    """D1-16."""
    pool = [fragment(2), fragment(9, token_count=5_000), fragment(4)]
    assert depths(DetailDepthResolver().resolve(pool, 100)) == [9]


def test_without_a_request_other_renderings_are_not_asked_for_f10() -> None:
    source = Renderings(n={4: 5, 9: 6})
    resolver = DetailDepthResolver(renderings=source)
    assert depths(resolver.resolve([fragment(4)], 1_000)) == [4]
    assert source.asked == []


def test_equal_depths_give_way_to_the_more_relevant() -> None:
    """D1-17."""
    weak, strong = fragment(relevance_score=0.2), fragment(relevance_score=0.3, content="other")
    assert DetailDepthResolver().resolve([weak, strong], 100) == [strong]


def test_other_locations_of_a_node_are_other_texts_f8() -> None:
    parts = [
        fragment(9, provenance=FragmentProvenance(resource_uri="n", location=place))
        for place in ("lines 1-10", "lines 11-20")
    ]
    assert DetailDepthResolver().resolve(parts, 100) == parts


@pytest.mark.parametrize(
    ("level", "tier", "chosen"),
    [(4, "warm", 4), (5, "warm", 4), (4, "hot", 6), (9, "hot", 9), (2, "cold", 2), (0, "warm", 2)],
)
def test_a_level_takes_the_deepest_at_or_below_it_plus_the_boost_of_hot_f10(
    level: int, tier: Any, chosen: int
) -> None:
    """F10.level, D4-30, D4-31, D5-26."""
    pool = [fragment(d, tier=tier) for d in (2, 4, 6, 9)]
    request = ContextRequest(detail_level=level)
    assert depths(DetailDepthResolver().resolve(pool, 1_000, request)) == [chosen]


def test_below_the_shallowest_the_shallowest_is_taken_f10() -> None:
    """F10.level."""
    request = {"detail_level": 1}
    assert depths(DetailDepthResolver().resolve([fragment(9), fragment(4)], 99, request)) == [4]


def test_an_unset_level_takes_the_fullest_that_fits_m3() -> None:
    """M3.detail, D5-24."""
    pool = [fragment(2, token_count=10), fragment(4, token_count=90), fragment(9, token_count=101)]
    resolver = DetailDepthResolver()
    assert depths(resolver.resolve(pool, 100, ContextRequest())) == [4]
    assert depths(resolver.resolve(pool, 101, ContextRequest())) == [9]


def test_of_the_wanted_depths_one_that_fits_is_preferred() -> None:
    """D4-29, D5-27."""
    pool = [fragment(2, token_count=10), fragment(4, token_count=200), fragment(9, token_count=50)]
    request = ContextRequest(detail_level=4)
    assert depths(DetailDepthResolver().resolve(pool, 100, request)) == [2]
    unaware = DetailDepthResolver(budget_aware=False)
    assert depths(unaware.resolve(pool, 100, request)) == [4]


def test_without_a_look_at_the_budget_the_default_depth_is_wanted() -> None:
    """D5-25."""
    pool = [fragment(d) for d in (2, 4, 9)]
    unaware = DetailDepthResolver(default_depth=3, hot_tier_boost=2, budget_aware=False)
    assert depths(unaware.resolve(pool, 1_000, ContextRequest())) == [2]
    hot = [fragment(d, tier="hot") for d in (2, 4, 9)]
    assert depths(unaware.resolve(hot, 1_000, ContextRequest())) == [4]


def test_a_level_is_fetched_in_place_of_what_was_found_and_the_identity_stays_f4() -> None:
    """D4-68."""
    found = fragment(9, relevance_score=0.7, metadata={"k": 1})
    resolver = DetailDepthResolver(renderings=Renderings(n={0: 1, 4: 3, 9: 50}))
    (chosen,) = resolver.resolve([found], 1_000, ContextRequest(detail_level=5))
    assert (chosen.content, chosen.detail_depth, chosen.token_count) == ("n@4", 4, 3)
    same = {"content", "detail_depth", "token_count"}
    assert chosen.model_dump(exclude=same) == found.model_dump(exclude=same)
    assert found.detail_depth == 9


@pytest.mark.parametrize(("found", "chosen"), [(9, 4), (6, 4), (4, 4)])
def test_the_shallowest_there_is_stands_in_for_a_level_below_it_f10(
    found: int, chosen: int
) -> None:
    """F10.level."""
    resolver = DetailDepthResolver(renderings=Renderings(n={4: 3, 6: 5, 9: 50}))
    request = ContextRequest(detail_level=2)
    assert depths(resolver.resolve([fragment(found)], 1_000, request)) == [chosen]


def test_a_level_is_fetched_deeper_too() -> None:
    resolver = DetailDepthResolver(renderings=Renderings(n={4: 3, 6: 5, 9: 50}))
    request = ContextRequest(detail_level=9)
    assert depths(resolver.resolve([fragment(4)], 100, request)) == [9]


def test_a_node_that_no_source_knows_stays_as_it_was_found() -> None:
    resolver = DetailDepthResolver(renderings=Renderings())
    found = fragment(6)
    assert resolver.resolve([found], 100, ContextRequest(detail_level=2)) == [found]
    assert resolver.resolve([found], 100, ContextRequest()) == [found]


@pytest.mark.parametrize(("available", "chosen"), [(100, 9), (99, 4)])
def test_a_container_is_read_whole_up_to_a_quarter_of_the_budget(
    available: int, chosen: int
) -> None:
    resolver = DetailDepthResolver(renderings=Renderings(n={4: 5, 6: 10, 9: 25}))
    assert depths(resolver.resolve([fragment(4)], available, ContextRequest())) == [chosen]


def test_the_share_of_a_container_can_be_set() -> None:
    source = Renderings(n={4: 5, 9: 25})
    for share, chosen in ((0.0, 4), (0.5, 9)):
        resolver = DetailDepthResolver(container_share=share, renderings=source)
        assert depths(resolver.resolve([fragment(4)], 50, ContextRequest())) == [chosen]


def test_a_leaf_is_not_looked_up() -> None:
    source = Renderings(n={4: 5, 9: 25})
    resolver = DetailDepthResolver(renderings=source)
    assert depths(resolver.resolve([fragment(9)], 1_000, ContextRequest())) == [9]
    assert source.asked == []


def test_a_source_that_knows_nothing_fuller_changes_nothing() -> None:
    for fullest in (4, 6):
        resolver = DetailDepthResolver(renderings=Renderings(n={fullest: 5}))
        found = fragment(6)
        assert resolver.resolve([found], 1_000, ContextRequest()) == [found]


def test_a_rendering_without_a_count_is_counted() -> None:
    resolution = resolve_depths(
        [fragment(4)],
        DepthRules(),
        available=1_000,
        request=ContextRequest(),
        renderings=Renderings(n={9: None}),
        count=lambda text: 7,
    )
    assert [f.token_count for f in resolution.kept] == [7]


def test_what_gave_way_stays_available_and_is_accounted_for_f7() -> None:
    pool = [fragment(2), fragment(9), fragment(4), fragment(9, node="m")]
    resolution = resolve_depths(pool, DepthRules(), available=100)
    assert resolution.kept == (pool[1], pool[3])
    assert {entry.fragment_id: entry.other for entry in resolution.left_out} == {
        pool[0].fragment_id: pool[1].fragment_id,
        pool[2].fragment_id: pool[1].fragment_id,
    }
    assert {entry.reason for entry in resolution.left_out} == {LeftOut.SUPERSEDED_DEPTH}
    assert set(depths(resolution.alternatives["n", ""])) == {2, 4}
    assert len(resolution.left_out_but(frozenset({id(pool[0])}))) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"default_depth": 10},
        {"default_depth": -1},
        {"hot_tier_boost": -1},
        {"container_share": 1.1},
        {"container_share": float("nan")},
    ],
)
def test_options_outside_their_range_are_refused_by_name(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ValueError, match=name):
        DetailDepthResolver(**options)


@given(st.data())
def test_one_fragment_stays_for_each_place_whatever_the_order(data: Any) -> None:
    builds = st.builds(
        fragment,
        depth=st.integers(0, 9),
        node=st.sampled_from("ab"),
        token_count=st.integers(1, 9),
        relevance_score=st.sampled_from([0.2, 0.4]),
        tier=st.sampled_from(["hot", "cold"]),
    )
    pool = data.draw(st.lists(builds, max_size=8))
    level = data.draw(st.none() | st.integers(0, 9))
    request = data.draw(st.sampled_from([None, ContextRequest(detail_level=level)]))
    before = [f.model_dump_json() for f in pool]

    def resolve(found: list[ContextFragment]) -> Any:
        return resolve_depths(found, DepthRules(), available=5, request=request)

    resolution = resolve(pool)
    assert len(resolution.kept) == len({f.uko_node for f in pool})
    ids = [f.fragment_id for f in resolution.kept]
    ids += [entry.fragment_id for entry in resolution.left_out]
    assert sorted(ids) == sorted(f.fragment_id for f in pool)
    other = resolve(data.draw(st.permutations(pool)))
    assert set(map(ContextFragment.model_dump_json, resolution.kept)) == set(
        map(ContextFragment.model_dump_json, other.kept)
    )
    assert [f.model_dump_json() for f in pool] == before
