"""The promises of the whole, over random sets of fragments (rulings F3, F7, M9, S4)."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acms_adapters import (
    ACMSPipeline,
    ContextFragment,
    ContextPayload,
    FragmentProvenance,
    FusionConfig,
    FusionEngine,
    ScorerWeights,
    token_counter,
)
from acms_adapters.pipeline import FusionResult

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
TIERS = ("hot", "warm", "cold")
STEPS = (9, 4, 2, 0)
LEAST = 10  # tokens of a lower rendering that is worth reading

ALONE = FusionEngine()
EVERYTHING = FusionEngine(
    FusionConfig(scorer_weights=ScorerWeights(), tier_priority=TIERS, order="tier-relevance")
)
PIPELINE = ACMSPipeline()
COUNTER = token_counter("cl100k_base")

ten_thousand = settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))


def made(parts: tuple[Any, ...]) -> ContextFragment:
    node, place, depth, version, tokens, relevance, tier, age = parts
    return ContextFragment(
        uko_node=f"project://p/{node}.py",
        content=f"{node} {place} at {depth}: version {version}." + " and more" * (depth * 3),
        detail_depth=depth,
        token_count=tokens,
        relevance_score=relevance,
        tier=tier,
        created_at=NOON - timedelta(days=age),
        provenance=FragmentProvenance(resource_uri=f"project://p/{node}.py", location=place),
    )


fragments = st.tuples(
    st.sampled_from("abcdefgh"),
    st.sampled_from(["", "lines 1-9"]),
    st.sampled_from([0, 2, 3, 4, 6, 9]),
    st.sampled_from([1, 2]),
    st.integers(0, 60),
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.integers(0, 1000).map(lambda n: n / 1000),
    st.sampled_from(TIERS),
    st.sampled_from([0, 0, 5, 400]),
).map(made)
sets = st.lists(fragments, max_size=24)
budgets = st.integers(1, 400)
seeds = st.integers(0, 2**32)


def shuffled(found: list[ContextFragment], seed: int) -> list[ContextFragment]:
    mixed = list(found)
    random.Random(seed).shuffle(mixed)
    return mixed


def read_by_hand(found: list[ContextFragment], budget: int) -> list[str]:
    """The documented algorithm with nothing clever about it: the texts that are read, in order."""

    def preferred(f: ContextFragment) -> tuple[Any, ...]:
        newer = -f.created_at.timestamp()
        return (-f.relevance_score, TIERS.index(f.tier), newer, f.content, f.token_count)

    unique: dict[tuple[str, str], ContextFragment] = {}
    for f in sorted(found, key=preferred):
        unique.setdefault(f.key, f)
    renderings = defaultdict(list)
    for f in unique.values():
        renderings[f.uko_node, f.provenance.location].append(f)

    deepest = [max(group, key=lambda f: f.detail_depth) for group in renderings.values()]
    deepest.sort(
        key=lambda f: (
            *(-f.relevance_score, -f.detail_depth, f.token_count),
            *(f.uko_node, f.content_hash),
        )
    )
    texts, left = [], budget
    for f in deepest:
        group = renderings[f.uko_node, f.provenance.location]
        tried = [f]
        for step in STEPS:
            lower = [o for o in group if o.detail_depth <= min(step, f.detail_depth - 1)]
            if lower:
                best = max(lower, key=lambda o: o.detail_depth)
                tried += [best] if best.token_count >= LEAST else []
        fitting = next((o for o in tried if o.token_count <= left), None)
        if fitting is not None:
            left -= fitting.token_count
            texts.append(fitting.content)
    return texts


def check_greedy(found: list[ContextFragment], budget: int) -> None:
    result = ALONE.fuse(found, budget)
    assert [f.content for f in result.fragments] == read_by_hand(found, budget)


def check_promises(
    fuse: Callable[[list[ContextFragment]], FusionResult],
    found: list[ContextFragment],
    budget: int,
    seed: int,
) -> None:
    result = fuse(found)
    # never over the budget
    assert sum(f.token_count for f in result.fragments) == result.total_tokens <= budget
    assert result.rendered_tokens <= budget
    # each input is read or told of, once
    accounted = [f.fragment_id for f in result.fragments]
    accounted += [entry.fragment_id for entry in result.ledger.entries]
    assert Counter(accounted) == Counter(f.fragment_id for f in found)
    # two runs, and any order of the input, give the same context
    hashes = {
        ContextPayload(fragments=tuple(fuse(order).fragments), budget=budget).context_hash
        for order in (found, list(reversed(found)), shuffled(found, seed))
    }
    assert len(hashes) == 1


def fusing(engine: FusionEngine, budget: int, **options: Any) -> Any:
    return lambda found: engine.fuse(found, budget, **options)


@given(sets, budgets)
def test_fusion_reads_what_the_documented_algorithm_reads(
    found: list[ContextFragment], budget: int
) -> None:
    """F3.order."""
    check_greedy(found, budget)


@pytest.mark.slow
@ten_thousand
@given(sets, budgets)
def test_fusion_reads_what_the_documented_algorithm_reads_ten_thousand_times(
    found: list[ContextFragment], budget: int
) -> None:
    check_greedy(found, budget)


@given(sets, budgets, seeds)
def test_fusion_keeps_its_promises(found: list[ContextFragment], budget: int, seed: int) -> None:
    check_promises(fusing(ALONE, budget), found, budget, seed)
    check_promises(fusing(EVERYTHING, budget, counter=COUNTER), found, budget, seed)


@pytest.mark.slow
@ten_thousand
@given(sets, budgets, seeds)
def test_fusion_keeps_its_promises_ten_thousand_times(
    found: list[ContextFragment], budget: int, seed: int
) -> None:
    check_promises(fusing(ALONE, budget), found, budget, seed)


@pytest.mark.slow
@ten_thousand
@given(sets, budgets, seeds)
def test_fusion_with_everything_on_keeps_its_promises_ten_thousand_times(
    found: list[ContextFragment], budget: int, seed: int
) -> None:
    check_promises(fusing(EVERYTHING, budget, counter=COUNTER), found, budget, seed)


def check_pipeline(
    found: list[ContextFragment], budget: int, question: str | None, seed: int
) -> None:
    payloads = [
        PIPELINE.assemble(
            request={"query": question} if question else None, fragments=order, budget=budget
        )
        for order in (found, found, shuffled(found, seed))
    ]
    for payload in payloads:
        assert COUNTER.count(payload.render()) <= budget
        assert payload.is_within_budget
        accounted = [f.fragment_id for f in payload.fragments]
        accounted += [entry.fragment_id for entry in payload.ledger.entries]
        assert Counter(accounted) == Counter(f.fragment_id for f in found)
    assert len({payload.context_hash for payload in payloads}) == 1


questions = st.sampled_from([None, "version 1", "a at 9", "more of h"])


@given(sets, budgets, questions, seeds)
def test_the_pipeline_keeps_its_promises(
    found: list[ContextFragment], budget: int, question: str | None, seed: int
) -> None:
    """M9, F7, S4."""
    check_pipeline(found, budget, question, seed)


@pytest.mark.slow
@settings(ten_thousand, max_examples=2_000)
@given(sets, budgets, questions, seeds)
def test_the_pipeline_keeps_its_promises_two_thousand_times(
    found: list[ContextFragment], budget: int, question: str | None, seed: int
) -> None:
    check_pipeline(found, budget, question, seed)


@pytest.mark.parametrize("backwards", [False, True])
def test_f8_another_place_of_a_node_is_never_read_as_its_lower_depth(backwards: bool) -> None:
    long = fragment_at("", depth=9, content="the whole of it " * 40)
    other = fragment_at(
        "lines 1-9", depth=2, content="something else that is said here in some more than ten words"
    )
    found = [long, other][:: -1 if backwards else 1]
    payload = PIPELINE.assemble("plan", found, 40)
    assert [f.fragment_id for f in payload.fragments] == [other.fragment_id]


def fragment_at(place: str, *, depth: int, content: str) -> ContextFragment:
    source = FragmentProvenance(resource_uri="project://p/n.py", location=place)
    return ContextFragment(
        uko_node="project://p/n.py",
        content=content,
        detail_depth=depth,
        relevance_score=depth / 9,
        provenance=source,
    )
