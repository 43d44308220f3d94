"""The second phase as a whole (document 1; rulings F1 to F11, S3, S4, M9)."""

import hashlib
import logging
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields as dataclass_fields
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    ContextRequest,
    FragmentProvenance,
    LeftOut,
    PlanContext,
    Rendering,
)
from acms_adapters.models.layout import render
from acms_adapters.models.scores import to_relevance
from acms_adapters.pipeline import FusionConfig, FusionEngine, FusionResult, ScorerWeights
from acms_adapters.pipeline.overage_guard import guard_overage
from acms_adapters.pipeline.pricing import Pricing
from acms_adapters.tokens import token_counter

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
EVERYTHING = FusionConfig(
    scorer_weights=ScorerWeights(),
    tier_priority=("hot", "warm", "cold"),
    evidence_weights={"words": 0.35, "vectors": 0.65},
    order="tier-relevance",
    min_fragment_tokens=1,
)


class Words:
    name = "words"
    exact = True

    def count(self, text: str) -> int:
        return len(text.split())


class Renderings:
    def __init__(self, **nodes: dict[int, str]) -> None:
        self.nodes = nodes

    def at(self, node: str, depth: int) -> Rendering | None:
        found = max((d for d in self.depths(node) if d <= depth), default=None)
        if found is None:
            return None
        text = self.nodes[node][found]
        return Rendering(
            uko_node=node, detail_depth=found, content=text, token_count=len(text.split())
        )

    def depths(self, node: str) -> Sequence[int]:
        return sorted(self.nodes.get(node, {}))


def fragment(
    node: str, tokens: int, relevance: float = 0.5, text: str | None = None, **fields: Any
) -> ContextFragment:
    content = f"text of {node}" if text is None else text
    return ContextFragment(
        uko_node=node,
        content=content,
        token_count=tokens,
        relevance_score=relevance,
        **{"created_at": NOON, **fields},
    )


def nodes(result: FusionResult) -> list[str]:
    return [f.uko_node for f in result.fragments]


def reasons(result: FusionResult) -> dict[str, LeftOut]:
    return {entry.uko_node: entry.reason for entry in result.ledger.entries}


# --- as documented


def test_the_documented_call_reports_what_it_did() -> None:
    """S4.engine, D1-13, D1-14, D1-15, D1-16, D5-49."""
    engine = FusionEngine(config=FusionConfig(overage_guard_enabled=True, min_fragment_tokens=10))
    found = [
        fragment("a", 100, 0.9),
        fragment("a", 100, 0.3),
        fragment("b", 40, 0.8, detail_depth=4),
        fragment("b", 60, 0.2, text="all of b"),
    ]
    result = engine.fuse(fragments=found, budget=ContextBudget(max_tokens=320))
    assert [(f.uko_node, f.detail_depth) for f in result.fragments] == [("a", 9), ("b", 9)]
    assert result.dedup_count == 1
    assert result.depth_resolved_count == 1
    assert result.dropped_by_overage_guard == 0
    assert result.total_tokens == result.rendered_tokens == 160
    assert result.budget_utilization == 0.5
    assert result.ledger.by_reason() == {LeftOut.DUPLICATE: 1, LeftOut.SUPERSEDED_DEPTH: 1}


def test_the_documented_defaults_hold() -> None:
    """F2.none, D1-30, D1-31, D1-32, D1-33."""
    config = FusionConfig()
    assert config.scorer_weights is None
    assert config.depth_fallback_steps == (9, 4, 2, 0)
    assert config.min_fragment_tokens == 10
    assert config.overage_guard_enabled is True
    assert FusionEngine().config == config


def test_every_documented_figure_is_there() -> None:
    """D1-14."""
    names = {field.name for field in dataclass_fields(FusionResult)}
    assert names >= {
        "fragments",
        "dedup_count",
        "depth_resolved_count",
        "dropped_by_overage_guard",
        "total_tokens",
        "budget_utilization",
        "rendered_tokens",
    }


def test_fragments_are_sorted_by_relevance_then_depth_then_size() -> None:
    """F2.none, D1-18."""
    found = [
        fragment("small", 5, 0.5, detail_depth=4),
        fragment("large", 6, 0.5, detail_depth=4),
        fragment("deep", 7, 0.5),
        fragment("best", 8, 0.9, detail_depth=0),
    ]
    assert nodes(FusionEngine().fuse(found, 100)) == ["best", "deep", "small", "large"]


def test_tiers_do_not_matter_to_the_engine_alone_f3() -> None:
    """F3.tier."""
    found = [fragment("hot", 50, 0.1, tier="hot"), fragment("cold", 50, 0.9, tier="cold")]
    assert nodes(FusionEngine().fuse(found, 50)) == ["cold"]
    pipeline = FusionEngine(FusionConfig(tier_priority=("hot", "warm", "cold")))
    assert nodes(pipeline.fuse(found, 50)) == ["hot"]


def test_a_misfit_is_passed_over_f3_greedy_stops_or_cheats() -> None:
    found = [fragment("big", 900, 0.9), fragment("one", 50, 0.8), fragment("two", 50, 0.7)]
    result = FusionEngine().fuse(found, 120)
    assert nodes(result) == ["one", "two"]
    assert result.total_tokens == 100
    assert result.ledger.tokens_to_admit_next == 780


@pytest.mark.parametrize("budget", [0, -1, None, "120"])
def test_a_budget_that_cannot_be_is_refused_degenerate_budgets(budget: Any) -> None:
    with pytest.raises(ValueError, match="budget"):
        FusionEngine().fuse([fragment("a", 1)], budget)


def test_an_empty_input_and_a_full_reserve_give_an_empty_result_with_finite_figures() -> None:
    result = FusionEngine().fuse([], ContextBudget(max_tokens=10, reserved_tokens=9))
    assert (result.fragments, result.total_tokens, result.budget_utilization) == ([], 0, 0.0)
    assert len(result.ledger) == 0


def test_a_node_bigger_than_the_budget_is_read_lower_or_left_out_with_its_numbers_f6() -> None:
    found = [fragment("n", 10_000)]
    source = Renderings(n={2: "only the first dozen words of it fit into what is left here"})
    result = FusionEngine().fuse(found, 200, renderings=source)
    assert [f.detail_depth for f in result.fragments] == [2]
    result = FusionEngine().fuse(found, 200)
    assert result.fragments == []
    (entry,) = result.ledger.entries
    assert entry.explain() == "over_budget: needed 10000 tokens, had 200"


def test_a_lower_rendering_of_the_pool_is_read_when_the_deepest_does_not_fit() -> None:
    """D1-20."""
    deep, low = fragment("n", 900, 0.9), fragment("n", 80, 0.1, text="less", detail_depth=4)
    result = FusionEngine().fuse([deep, low], 100)
    assert [f.fragment_id for f in result.fragments] == [low.fragment_id]
    assert result.depth_resolved_count == 1
    (entry,) = result.ledger.entries
    assert (entry.fragment_id, entry.reason) == (deep.fragment_id, LeftOut.OVER_BUDGET)


def test_twins_that_differ_in_their_line_ends_are_one_f1_crlf_twins() -> None:
    found = [fragment("n", 5, text="a\nb"), fragment("n", 5, text="a\r\nb")]
    result = FusionEngine().fuse(found, 100)
    assert (len(result.fragments), result.dedup_count) == (1, 1)


# --- what beside the documents


def test_reserve_competes_with_the_rest_for_the_whole_budget_s3() -> None:
    found = [fragment("share", 50, 0.4)]
    reserve = [fragment("better", 50, 0.8), fragment("worse", 50, 0.2)]
    result = FusionEngine().fuse(found, 100, reserve=reserve)
    assert nodes(result) == ["better", "share"]
    assert reasons(result) == {"worse": LeftOut.OVER_BUDGET}


def test_a_threshold_and_excluded_tiers_of_the_request_replace_those_configured_m2() -> None:
    """M2.filters, D4-69, D4-70."""
    found = [
        fragment("low", 5, 0.2),
        fragment("cold", 5, 0.9, tier="cold"),
        fragment("good", 5, 0.6),
    ]
    engine = FusionEngine(FusionConfig(min_relevance=0.5, exclude_tiers=("cold",)))
    result = engine.fuse(found, 100)
    assert nodes(result) == ["good"]
    assert reasons(result) == {"low": LeftOut.BELOW_THRESHOLD, "cold": LeftOut.EXCLUDED_TIER}
    entry = next(e for e in result.ledger.entries if e.uko_node == "low")
    assert (entry.value, entry.threshold) == (0.2, 0.5)
    asked = ContextRequest(min_relevance=0.0, exclude_tiers=())
    assert len(engine.fuse(found, 100, request=asked).fragments) == 3


def test_a_fragment_without_text_is_left_out_as_empty() -> None:
    result = FusionEngine().fuse([fragment("a", 0, text=" \n"), fragment("b", 5)], 100)
    assert (nodes(result), reasons(result)) == (["b"], {"a": LeftOut.EMPTY})


def test_evidence_of_several_strategies_adds_up_only_where_weights_are_set_f11() -> None:
    def found_by(strategy: str, evidence: float, node: str) -> ContextFragment:
        score = to_relevance(evidence)
        source = FragmentProvenance(resource_uri="r", strategy=strategy, score=score)
        return fragment(node, 5, score, provenance=source)

    found = [found_by("words", 4, "a"), found_by("vectors", 4, "a"), found_by("words", 5, "b")]
    assert nodes(FusionEngine().fuse(found, 100)) == ["b", "a"]
    for merging in (True, False):
        config = FusionConfig(
            evidence_weights={"words": 0.35, "vectors": 0.65}, merge_provenance=merging
        )
        result = FusionEngine(config).fuse(found, 100)
        assert nodes(result) == ["a", "b"]
        assert result.fragments[0].relevance_score == pytest.approx(to_relevance(4))


def test_provenance_of_duplicates_survives_f1() -> None:
    found = [
        fragment("a", 5, r, provenance=FragmentProvenance(resource_uri="r", strategy=s, score=r))
        for s, r in (("words", 0.4), ("vectors", 0.6))
    ]
    (kept,) = FusionEngine().fuse(found, 100).fragments
    assert kept.provenance.strategy == "vectors"
    assert [other.strategy for other in kept.provenance.merged] == ["words"]


def test_a_request_decides_the_depth_and_a_plan_the_score() -> None:
    """D5-49."""
    source = Renderings(n={2: "a b c", 9: "x " * 20})
    request = {"detail_level": 2, "plan_context": {"focus_nodes": ["m"]}}
    engine = FusionEngine(FusionConfig(scorer_weights=ScorerWeights(relevance=0.1, plan=0.9)))
    found = [fragment("n", 20, 0.9), fragment("m", 20, 0.1)]
    result = engine.fuse(found, 100, request=request, renderings=source)
    assert [(f.uko_node, f.detail_depth) for f in result.fragments] == [("m", 9), ("n", 2)]
    stranger = PlanContext(focus_nodes=("n",))
    assert nodes(engine.fuse(found, 100, request=request, plan_context=stranger)) == ["n", "m"]


def test_a_container_found_by_its_outline_is_read_whole_when_that_is_cheap() -> None:
    source = Renderings(n={4: "an outline", 9: "w " * 25})
    outline = fragment("n", 2, text="an outline", detail_depth=4)
    for budget, depth in ((100, 9), (99, 4)):
        result = FusionEngine().fuse([outline], budget, request={}, renderings=source)
        assert [f.detail_depth for f in result.fragments] == [depth]
        assert result.fragments[0].fragment_id == outline.fragment_id
        assert len(result.ledger) == 0


def test_no_more_fragments_are_kept_than_asked_for() -> None:
    found = [fragment(name, 1) for name in "abc"]
    assert len(FusionEngine().fuse(found, 100, max_fragments=2).fragments) == 2
    assert FusionEngine().fuse(found, 100, max_fragments=0).fragments == []
    with pytest.raises(ValueError, match="max_fragments"):
        FusionEngine().fuse(found, 100, max_fragments=-1)


def test_the_text_that_is_read_is_priced_and_room_is_left_for_a_preamble_s4() -> None:
    found = [fragment(name, 3) for name in "abc"]  # and two words of header each
    engine, counter = FusionEngine(), Words()
    result = engine.fuse(found, 15, counter=counter)
    assert (len(result.fragments), result.total_tokens, result.rendered_tokens) == (3, 9, 15)
    assert len(engine.fuse(found, 14, counter=counter).fragments) == 2
    assert len(engine.fuse(found, 15, counter=counter, preamble_tokens=1).fragments) == 2
    assert len(engine.fuse(found, 9, counter=counter, layout="bare").fragments) == 3
    assert engine.fuse(found, 15, counter=counter, preamble_tokens=99).fragments == []
    with pytest.raises(ValueError, match="preamble_tokens"):
        engine.fuse(found, 15, preamble_tokens=-1)


def test_the_real_tokenizer_agrees_with_the_payload_s4() -> None:
    counter = token_counter("cl100k_base")
    found = [
        fragment(f"project://p/f{i}.py", counter.count(text), 1 - i / 100, text=text)
        for i, text in enumerate(f"def f{i}():\n    return {'x' * i}\n" for i in range(40))
    ]
    result = FusionEngine().fuse(found, 300, counter=counter)
    payload = ContextPayload(
        fragments=tuple(result.fragments), budget=300, rendered_tokens=result.rendered_tokens
    )
    assert counter.count(payload.render()) == result.rendered_tokens <= 300
    assert payload.is_within_budget
    assert result.rendered_tokens > 280


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (None, "bdca"),
        ("relevance", "bdca"),
        ("recency", "dbca"),
        ("tier-relevance", "adcb"),
        ("edges", "bcad"),
        ("as-given", "abcd"),
        ("cache-stable", "cadb"),
        ("custom", "dcba"),
    ],
)
def test_what_is_kept_is_read_in_the_order_wanted(order: Any, expected: str) -> None:
    """D5-49."""
    found = [
        fragment("a", 5, 0.2, tier="hot", created_at=NOON - timedelta(days=3)),
        fragment("b", 5, 0.9, tier="cold", created_at=NOON - timedelta(days=1)),
        fragment("c", 5, 0.5, created_at=NOON - timedelta(days=2)),
        fragment("d", 5, 0.7, created_at=NOON),
    ]
    config = FusionConfig(order_key=lambda f: -ord(f.uko_node))
    result = FusionEngine(config).fuse(found, 100, order=order, previous=[found[2]])
    assert "".join(nodes(result)) == expected
    configured = FusionConfig(order=order, order_key=config.order_key)
    assert "".join(nodes(FusionEngine(configured).fuse(found, 100, previous=[found[2]]))) == (
        expected
    )


def test_as_given_keeps_the_rank_of_what_was_re_rendered_or_merged_a2() -> None:
    source = Renderings(b={2: "fewer words of b", 9: "x " * 50})
    found = [
        fragment("a", 5, 0.1),
        fragment("b", 50, 0.9),
        fragment("c", 5, 0.2),
        fragment("a", 5, 0.8),
    ]
    engine = FusionEngine(FusionConfig(order="as-given", min_fragment_tokens=1))
    assert nodes(engine.fuse(found, 20, renderings=source)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "options",
    [
        {"order": "random"},
        {"order": "custom"},
        {"tier_priority": ("hot", "hot")},
        {"exclude_tiers": ("tepid",)},
        {"tier_budget": {"hot": -1}},
        {"depth_fallback_steps": (10,)},
        {"min_fragment_tokens": -1},
        {"evidence_weights": {"words": -1}},
        {"min_relevance": 1.5},
        {"container_share": -0.1},
        {"dedup_strategy": "best"},
        {"unknown": 1},
    ],
)
def test_a_configuration_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(options))):
        FusionConfig(**options)


def test_tier_budgets_may_be_named_as_documented_s6() -> None:
    """S6.quotas, D4-63."""
    config = FusionConfig(tier_budget={"hot_tier": 10, "cold": 5})
    assert config.tier_budget == {"hot": 10, "cold": 5}
    found = [fragment("a", 6, tier="hot"), fragment("b", 6, tier="cold"), fragment("c", 9)]
    assert nodes(FusionEngine(config).fuse(found, 100)) == ["a", "c"]


# --- the overage guard


def test_the_guard_drops_the_least_relevant_first_and_says_so(caplog: Any) -> None:
    """D1-21, D1-22, D1-23."""
    found = [fragment("a", 50, 0.9), fragment("b", 50, 0.1), fragment("c", 50, 0.5)]
    with caplog.at_level(logging.WARNING, logger="acms_adapters"):
        outcome = guard_overage(found, 60)
    assert outcome.kept == (found[0],)
    assert [(e.uko_node, e.reason, e.needed, e.had) for e in outcome.left_out] == [
        ("b", LeftOut.GUARD, 150, 60),
        ("c", LeftOut.GUARD, 100, 60),
    ]
    first, second = caplog.records
    assert (first.levelname, first.name) == ("WARNING", "acms_adapters")
    assert first.event == second.event == "overage_guard_drop"
    assert (first.uko_node, first.token_count, first.relevance_score) == ("b", 50, 0.1)
    assert (first.tokens, first.available_tokens) == (150, 60)
    assert first.fragment_id == found[1].fragment_id


def test_the_guard_goes_by_the_text_that_is_read_s4() -> None:
    found = [fragment("a", 1, 0.9, "one two three"), fragment("b", 1, 0.1, "four five")]
    pricing = Pricing(Words(), layout="bare")
    assert guard_overage(found, 5, pricing=pricing).kept == tuple(found)
    assert guard_overage(found, 4, pricing=pricing).kept == (found[0],)


def test_the_guard_has_nothing_to_do_after_the_packer(caplog: Any) -> None:
    """S4.guard."""
    found = [fragment(f"n{i}", 1, text="many words " * i) for i in range(1, 20)]
    for enabled in (True, False):
        engine = FusionEngine(FusionConfig(overage_guard_enabled=enabled))
        result = engine.fuse(found, 50, counter=Words())
        assert result.dropped_by_overage_guard == 0
        assert result.rendered_tokens <= 50
    assert caplog.records == []


# --- promises

texts = st.lists(st.sampled_from(["a", "bb", "c d", "e\n"]), max_size=6).map(" ".join)
fragments = st.builds(
    lambda node, tokens, relevance, text, place, strategy, **other: fragment(
        node,
        tokens,
        relevance,
        text,
        provenance=FragmentProvenance(
            resource_uri="r", location=place, strategy=strategy, score=strategy and relevance
        ),
        **other,
    ),
    node=st.sampled_from("abcdef"),
    tokens=st.integers(0, 9),
    relevance=st.sampled_from([0.1, 0.5, 0.9]),
    text=texts,
    place=st.sampled_from(["", "there"]),
    strategy=st.sampled_from([None, "words", "vectors", "graph"]),
    tier=st.sampled_from(["hot", "warm", "cold"]),
    detail_depth=st.sampled_from([0, 2, 4, 9]),
    created_at=st.sampled_from([NOON, NOON - timedelta(days=30)]),
    metadata=st.sampled_from([{}, {"plan_id": "p", "nested": {"k": [1]}}]),
)
requests = st.sampled_from(
    [
        None,
        ContextRequest(),
        ContextRequest(detail_level=3, min_relevance=0.2, exclude_tiers=("cold",)),
        ContextRequest(as_of=NOON - timedelta(days=10), focus_nodes=("a",)),
    ]
)
SOURCE = Renderings(
    a={0: "a", 4: "a bb", 9: "a bb c d e"}, b={2: "bb bb", 9: "bb " * 9}, c={9: "c d " * 3}
)


@given(
    st.lists(fragments, max_size=14),
    st.integers(1, 60),
    requests,
    st.sampled_from([FusionConfig(), EVERYTHING]),
    st.sampled_from([None, Words()]),
    st.sampled_from([None, SOURCE]),
    st.none() | st.integers(0, 3),
    st.data(),
)
def test_every_promise_holds_for_any_input(
    found: list[ContextFragment],
    budget: int,
    request: ContextRequest | None,
    config: FusionConfig,
    counter: Words | None,
    source: Renderings | None,
    limit: int | None,
    data: Any,
) -> None:
    """F7."""
    before = [f.model_dump_json() for f in found]
    options: dict[str, Any] = {
        "request": request,
        "counter": counter,
        "renderings": source,
        "max_fragments": limit,
        "plan_context": PlanContext(plan_id="p"),
    }
    result = FusionEngine(config).fuse(found, budget, **options)

    # never over budget, by either count
    assert result.total_tokens == sum(f.token_count for f in result.fragments) <= budget
    assert result.rendered_tokens <= budget
    if counter:
        assert result.rendered_tokens == counter.count(render(result.fragments))
    assert limit is None or len(result.fragments) <= limit

    # every candidate is read or in the ledger, exactly once
    accounted = [f.fragment_id for f in result.fragments]
    accounted += [entry.fragment_id for entry in result.ledger.entries]
    assert Counter(accounted) == Counter(f.fragment_id for f in found)

    # inputs stay as they were
    assert [f.model_dump_json() for f in found] == before

    # the order of the input decides nothing
    shuffled = data.draw(st.permutations(found))
    cut = data.draw(st.integers(0, len(found)))
    again = FusionEngine(config).fuse(shuffled[cut:], budget, reserve=shuffled[:cut], **options)
    assert render(again.fragments) == render(result.fragments)
    assert again.ledger.by_reason() == result.ledger.by_reason()
    first, second = (
        [f.model_dump(exclude={"fragment_id"}) for f in r.fragments] for r in (result, again)
    )
    assert first == second


def test_results_share_nothing_with_the_input_shared_mutable_state() -> None:
    found = [fragment("a", 5, metadata={"tags": ["x"]}), fragment("b", 5)]
    engine = FusionEngine()
    first = engine.fuse(found, 100)
    for kept in first.fragments:
        kept.metadata["tags"] = "mine"
        kept.metadata.setdefault("more", []).append(1)
    first.fragments.clear()
    assert found[0].metadata == {"tags": ["x"]}
    assert found[1].metadata == {}
    second = engine.fuse(found, 100)
    assert [f.metadata for f in second.fragments] == [{"tags": ["x"]}, {}]


def test_interleaved_calls_of_one_engine_do_not_cross_shared_mutable_state() -> None:
    from concurrent.futures import ThreadPoolExecutor

    engine = FusionEngine(EVERYTHING)
    inputs = [
        ([fragment(f"{kind}{i}", 7, i / 50) for i in range(50)], budget)
        for kind, budget in (("a", 40), ("b", 90))
    ]
    expected = [nodes(engine.fuse(found, budget)) for found, budget in inputs]
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda n: nodes(engine.fuse(*inputs[n % 2])), range(100))
        assert list(answers) == [expected[n % 2] for n in range(100)]


PROGRAM = """
import random
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from acms_adapters.models import ContextFragment, FragmentProvenance
from acms_adapters.models.layout import render
from acms_adapters.pipeline import FusionConfig, FusionEngine, ScorerWeights

chance, found = random.Random(1), []
for number in range(200):
    found.append(
        ContextFragment(
            uko_node=f"n{chance.randrange(90)}",
            content=" ".join(chance.choices("abcdefgh", k=chance.randrange(1, 9))),
            token_count=chance.randrange(1, 9),
            relevance_score=chance.choice([0.2, 0.4]),
            tier=chance.choice(["hot", "warm"]),
            detail_depth=chance.choice([2, 9]),
            created_at=datetime(2025, 1, chance.randrange(1, 28), tzinfo=UTC),
            provenance=FragmentProvenance(
                resource_uri=chance.choice("xyz"), location=chance.choice(["", "p"])
            ),
        )
    )
random.shuffle(found)
config = FusionConfig(scorer_weights=ScorerWeights(), order="edges")
result = FusionEngine(config).fuse(found, 120)
print(sha256(render(result.fragments).encode()).hexdigest(), len(result.fragments))
"""


def test_any_process_reads_the_same_m9() -> None:
    """M9.process, D4-2."""
    seen = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    (only,) = seen
    assert int(only.split()[1]) > 10


def test_the_clock_decides_nothing_m9() -> None:
    engine = FusionEngine(FusionConfig(scorer_weights=ScorerWeights(recency=5)))
    found = [
        fragment(str(d), 5, d / 99, created_at=NOON - timedelta(days=d)) for d in range(0, 90, 9)
    ]

    def read(now: datetime | None) -> list[str]:
        return nodes(engine.fuse(found, 20, now=now))

    assert read(None) == read(NOON) == read(NOON + timedelta(days=999))


def test_a_fragment_from_the_future_does_not_make_the_others_old() -> None:
    engine = FusionEngine(FusionConfig(scorer_weights=ScorerWeights()))
    found = [fragment("a", 5, 0.1), fragment("b", 5, 0.3, created_at=NOON - timedelta(days=60))]
    future = fragment("z", 500, 0.1, created_at=NOON + timedelta(days=9_999))
    assert nodes(engine.fuse(found, 5)) == ["a"]
    assert nodes(engine.fuse([*found, future], 5, now=NOON)) == ["a"]


def test_the_ledger_is_made_once() -> None:
    result = FusionEngine().fuse([fragment("a", 50), fragment("b", 50)], 60)
    assert result.ledger is result.ledger
    assert "steps" not in repr(result)


def test_texts_are_hashed_once_and_only_where_a_node_repeats(monkeypatch: Any) -> None:
    """D4-82."""
    hashed: list[str] = []

    def spy(content: str) -> str:
        hashed.append(content)
        return hashlib.sha256(content.encode()).hexdigest()

    monkeypatch.setattr("acms_adapters.pipeline.ranking.content_hash", spy)
    places = [FragmentProvenance(resource_uri="r", location=str(i)) for i in range(3)]
    found = [fragment("n", 5, text=f"text {i}", provenance=p) for i, p in enumerate(places)]
    FusionEngine().fuse([*found, fragment("alone", 5)], 100)
    assert sorted(hashed) == ["text 0", "text 1", "text 2"]


@pytest.mark.slow
def test_ten_times_as_many_fragments_need_no_more_comparisons_of_texts() -> None:
    """Comparing every text with every other would take minutes here."""
    source = FragmentProvenance(resource_uri="one")
    texts = (" ".join(f"{i}-{j}" for j in range(i % 50 + 5)) for i in range(20_000))
    found = [fragment(f"n{i}", 5, text=text, provenance=source) for i, text in enumerate(texts)]
    assert len(FusionEngine().fuse(found, 10**9).fragments) == 20_000


def test_relevance_never_rises_along_the_packing_order() -> None:
    """D1-19."""
    found = [fragment(f"n{i}", 3, (i * 7 % 11) / 11) for i in range(30)]
    kept = FusionEngine().fuse(found, 40).fragments
    assert all(a.relevance_score >= b.relevance_score for a, b in pairwise(kept))
