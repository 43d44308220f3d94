"""The pipeline behind one call."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters import (
    ACMSPipeline,
    BackendSet,
    ConfigError,
    ContextBudget,
    ContextFragment,
    ContextPayload,
    ContextRequest,
    FragmentProvenance,
    NothingAnsweredError,
    Plan,
    PlanContext,
    SearchHit,
    StrategyCapabilities,
    UnknownNameError,
    token_counter,
)
from acms_adapters.models.scores import to_evidence, to_relevance
from acms_adapters.testing import PlainText

Assemble = Callable[..., ContextPayload]

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Callable[[ACMSPipeline], Assemble]:
    """The call of a pipeline, in either colour."""

    def pick(pipeline: ACMSPipeline) -> Assemble:
        if request.param == "sync":
            return pipeline.assemble
        return lambda *a, **k: asyncio.run(pipeline.aassemble(*a, **k))

    return pick


def fragment(name: str, content: str, **fields: Any) -> ContextFragment:
    return ContextFragment(uko_node=f"project://demo/{name}", content=content, **fields)


FACTS = (
    fragment("limiter", "The rate limiter refills its token bucket every second."),
    fragment("parser", "The parser closes the brackets of an unfinished JSON string."),
    fragment("cache", "The cache forgets its oldest entry when it is full."),
)


class Listed:
    """A native strategy that delivers what it was given."""

    capabilities = StrategyCapabilities(
        uses_text=True, resource_types=("document",), quality_score=0.9
    )

    def __init__(self, name: str, found: Sequence[ContextFragment] | Exception) -> None:
        self.name = name
        self._found = found

    def can_handle(self, request: ContextRequest, backends: BackendSet) -> float:
        return 0.9

    def assemble(
        self,
        request: ContextRequest,
        backends: BackendSet,
        budget: ContextBudget,
        plan_context: PlanContext,
    ) -> Sequence[ContextFragment]:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found

    def explain(self) -> str:
        return "Delivers what it was given."


def listed(*strategies: Listed) -> ACMSPipeline:
    return ACMSPipeline(strategies=strategies, backends={"text": True})


def test_a_question_about_given_fragments_finds_the_one_that_answers_it_s2(call) -> None:
    """S2.positional, S2.async, S2.candidates."""
    payload = call(ACMSPipeline())("How is broken JSON parsed?", fragments=FACTS)
    assert payload.fragments[0].fragment_id == FACTS[1].fragment_id
    assert payload.is_within_budget


def test_fragments_without_a_question_are_ranked_as_they_are_s2(call) -> None:
    """S2.positional, S2.ranked."""
    low, high = (fragment(n, n, relevance_score=r) for n, r in (("low", 0.2), ("high", 0.8)))
    payload = call(ACMSPipeline())("plan-1", [low, high], ContextBudget(max_tokens=500))
    assert [f.fragment_id for f in payload.fragments] == [high.fragment_id, low.fragment_id]
    assert payload.plan_id == "plan-1"


def test_the_documented_keyword_form_names_plan_fragments_budget_and_strategy_s2(call) -> None:
    """S2.async, D6-36."""
    payload = call(ACMSPipeline())(
        plan_id="plan-1", fragments=list(FACTS), budget=4096, strategy="simple-keyword"
    )
    assert {f.fragment_id for f in payload.fragments} == {f.fragment_id for f in FACTS}


def test_candidates_that_nothing_found_are_in_the_ledger_f7(call) -> None:
    """S2.candidates."""
    payload = call(ACMSPipeline())(
        "zebra crossing JSON", fragments=FACTS, strategy="simple-keyword"
    )
    assert [f.uko_node for f in payload.fragments] == ["project://demo/parser"]
    assert [e.reason.value for e in payload.ledger.entries] == ["unmatched", "unmatched"]


def test_one_failing_strategy_leaves_the_others_result_and_is_named_s9(call) -> None:
    """D4-75, D5-57."""
    pipeline = listed(Listed("good", FACTS), Listed("bad", RuntimeError("disk on fire")))
    payload = call(pipeline)("anything")
    assert len(payload.fragments) == len(FACTS)
    assert [str(f) for f in payload.failures] == [
        "bad: error (assemble raised RuntimeError: disk on fire)"
    ]
    assert payload.metrics["strategy_success_rate"] == 0.5


def test_when_every_strategy_fails_nothing_answered_is_raised_s9(call) -> None:
    """S9.raised."""
    pipeline = listed(Listed("bad", RuntimeError("disk on fire")))
    with pytest.raises(NothingAnsweredError, match="disk on fire"):
        call(pipeline)("anything")


def test_a_degraded_result_is_empty_and_says_so_on_request_s9(call) -> None:
    """S9.degraded."""
    pipeline = listed(Listed("bad", RuntimeError("disk on fire")))
    payload = call(pipeline)("anything", on_failure="degrade")
    assert payload.degraded
    assert not payload.fragments
    assert payload.failures


def test_what_is_inherited_comes_down_although_every_strategy_fails_s9(call) -> None:
    """S9.inherited."""
    parent = call(ACMSPipeline())("plan-parent", FACTS, 4096)
    pipeline = listed(Listed("bad", RuntimeError("disk on fire")))
    child = call(pipeline)(ContextRequest(query="anything", parent_context=parent))
    assert child.skeleton_fragments == child.fragments != ()
    assert child.degraded
    assert [failure.strategy for failure in child.failures] == ["bad"]
    with pytest.raises(NothingAnsweredError, match="disk on fire"):
        call(pipeline)(
            ContextRequest(query="anything", parent_context=parent, inherit_strategy="none")
        )


def test_what_was_read_stays_although_every_strategy_fails_in_the_next_step_s9() -> None:
    """S9.inherited."""
    pipeline = listed(Listed("bad", RuntimeError("disk on fire")))
    before = pipeline.assemble("plan", FACTS, 4096)
    after = pipeline.refresh(before, "anything else?")
    assert {f.fragment_id for f in after.fragments} == {f.fragment_id for f in FACTS}
    assert after.degraded


def test_finding_nothing_is_an_empty_result_without_failures_s9(call) -> None:
    """S9.nothing."""
    payload = call(listed(Listed("empty", ())))("anything")
    assert not payload.fragments
    assert not payload.degraded
    assert not payload.failures


def test_a_pipeline_without_anything_to_ask_does_not_pretend_to_have_looked_s9(call) -> None:
    """S9.raised."""
    with pytest.raises(NothingAnsweredError):
        call(ACMSPipeline())("anything")


def test_an_empty_question_is_refused_by_value(call) -> None:
    with pytest.raises(ValueError, match="'  '"):
        call(ACMSPipeline())("  ")


def test_an_unknown_strategy_is_refused_and_the_near_one_named(call) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'simple-keyword'"):
        call(ACMSPipeline())("anything", fragments=FACTS, strategy="simple-keywrod")


@pytest.mark.parametrize("budget", [0, -1, 1.5, True])
def test_a_budget_that_cannot_be_is_refused_by_value(budget: Any, call) -> None:
    with pytest.raises(ValueError, match=str(budget)):
        call(ACMSPipeline())("anything", fragments=FACTS, budget=budget)


def test_the_budget_of_the_request_counts_when_the_call_names_none_m2(call) -> None:
    """M2.budget."""
    payload = call(ACMSPipeline())(ContextRequest(query="JSON", budget=77), fragments=FACTS)
    assert payload.budget == ContextBudget(max_tokens=77)


def test_the_preamble_gives_way_before_a_fragment_does_s4(call) -> None:
    """S4.preamble."""
    whole = call(ACMSPipeline())("plan", FACTS, 4096)
    assert whole.preamble
    alone = whole.rendered_tokens - token_counter().count(whole.preamble + "\n\n")
    tight = call(ACMSPipeline())("plan", FACTS, alone + 3)
    assert len(tight.fragments) == len(FACTS)
    assert tight.rendered_tokens <= alone + 3


def test_a_preamble_that_cannot_fit_is_not_counted_with_the_whole_text(call) -> None:
    counted: list[str] = []

    def words(text: str) -> int:
        counted.append(text)
        return len(text.split())

    whole = call(ACMSPipeline(counter=words))("plan", FACTS, 4096)
    tight = whole.rendered_tokens - len(whole.preamble.split())
    counted.clear()
    assert not call(ACMSPipeline(counter=words))("plan", FACTS, tight).preamble
    assert not [text for text in counted if text.startswith("Context includes") and "=== " in text]


def test_a_class_and_its_own_method_never_stand_side_by_side_f9(call) -> None:
    method = "    def invoke(self):\n        return 1"
    source = FragmentProvenance(resource_uri="project://demo/a.py")
    both = (
        fragment("a.py#A.invoke", method, relevance_score=0.9, provenance=source),
        fragment("a.py#A", f"class A:\n{method}\n", relevance_score=0.4, provenance=source),
    )
    payload = call(ACMSPipeline())("plan", both, 4096)
    assert payload.render().count("def invoke") == 1
    assert [e.reason.value for e in payload.ledger.entries] == ["contained"]


def test_a_parents_context_comes_down_as_a_skeleton_within_the_childs_budget_k4(call) -> None:
    """D2-33, D4-55, D4-57."""
    parent = call(ACMSPipeline())("plan-parent", FACTS, 4096)
    own = fragment("own", "The child works on the scheduler.")
    child = call(ACMSPipeline())(
        request=ContextRequest(parent_context=parent), fragments=[own], budget=400
    )
    inherited = child.skeleton_fragments
    assert inherited
    assert {f.fragment_id for f in inherited} <= {f.fragment_id for f in parent.fragments}
    assert sum(f.token_count for f in inherited) <= 60  # 15 % of the child's tokens
    assert child.skeleton_metadata is not None
    assert child.is_within_budget
    assert own.fragment_id in {f.fragment_id for f in child.fragments}


class Seen(list[str]):
    """A counter and an embedder that notes what it was given, and is false before that."""

    name = "seen"
    exact = True
    dimensions = 2
    similarity_threshold = 0.0

    def count(self, text: str) -> int:
        return len(text)

    def embed_query(self, text: str) -> list[float]:
        self.append(text)
        return [1.0, 0.0]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def test_a_counter_or_embedder_that_is_false_is_used_all_the_same(call) -> None:
    by_default = call(ACMSPipeline(counter=Seen()))("bucket", fragments=FACTS, budget=4096)
    by_request = call(ACMSPipeline())(
        ContextRequest(query="bucket", tokenizer=Seen()), fragments=FACTS, budget=4096
    )
    assert by_default.rendered_tokens == len(by_default.render()) == by_request.rendered_tokens
    embedder = Seen()
    call(ACMSPipeline(embedder=embedder))("bucket", fragments=FACTS, strategy="semantic-embedding")
    assert "bucket" in embedder


def test_f7_a_candidate_beyond_a_strategys_share_is_told_of_once_as_the_callers(call) -> None:
    """F7: it was found under the name that it is searched by."""
    given = [fragment(f"n{i}", f"token window {i} " * 10, token_count=30) for i in range(4)]
    pipeline = ACMSPipeline({"context": {"profile": "spec"}})
    payload = call(pipeline)("token window", fragments=given, budget=100)
    told = {entry.fragment_id: entry.reason.value for entry in payload.ledger.entries}
    assert len(told) == len(payload.ledger.entries)
    assert set(told.values()) == {"beyond_share"}
    read = {f.fragment_id for f in payload.fragments}
    assert read | set(told) == {f.fragment_id for f in given}
    assert not read & set(told)


def test_what_the_child_fetched_itself_is_not_inherited_again_k4(call) -> None:
    """K4.repeat."""
    parent = call(ACMSPipeline())("plan-parent", FACTS, 4096)
    child = call(ACMSPipeline())(
        request=ContextRequest(parent_context=parent, inherit_strategy="full"),
        fragments=FACTS,
        budget=4096,
    )
    assert len({f.key for f in child.fragments}) == len(child.fragments) == len(FACTS)


class BlankLinesAreDear:
    """A counter for which a blank line is seven tokens and a word is one."""

    name = "dear"
    exact = True

    def count(self, text: str) -> int:
        return len(text.split()) + 7 * text.count("\n\n")


@pytest.mark.parametrize("layout", ["bare", "payload"])
def test_what_stands_between_the_inherited_and_the_rest_is_paid_for_s4(layout, caplog) -> None:
    """S4: whatever it costs, the last check finds nothing to do."""
    parent = ContextPayload(
        fragments=[fragment(f"parent{i}", "one two three") for i in range(3)],
        budget=ContextBudget(max_tokens=1000),
    )
    own = [fragment(f"own{i}", f"own {i} " * (i % 3 + 1), token_count=1) for i in range(20)]
    pipeline = ACMSPipeline(counter=BlankLinesAreDear())
    for budget in range(70, 90):
        child = pipeline.assemble(
            "plan",
            own,
            budget,
            request=ContextRequest(parent_context=parent, inherit_strategy="full"),
            layout=layout,
        )
        assert child.is_within_budget
        assert child.skeleton_fragments
    assert "dropped fragment" not in caplog.text


def test_inheriting_nothing_leaves_the_parents_context_out_k4(call) -> None:
    """D4-58."""
    parent = call(ACMSPipeline())("plan-parent", FACTS, 4096)
    request = ContextRequest(parent_context=parent, inherit_strategy="none")
    child = call(ACMSPipeline())(request=request, fragments=[fragment("own", "own")])
    assert not child.skeleton_fragments


@pytest.mark.parametrize(
    "plan",
    [
        Plan(plan_id="p", parent="q"),
        PlanContext(plan_id="p", ancestors=("q",)),
        {"plan_id": "p", "ancestors": ["q"]},
        "p",
    ],
)
def test_a_plan_is_given_in_any_form_and_reaches_strategies_and_payload(plan: Any, call) -> None:
    """S2.plan."""
    told: list[PlanContext] = []

    class Asking(Listed):
        def assemble(self, request, backends, budget, plan_context):
            told.append(plan_context)
            return super().assemble(request, backends, budget, plan_context)

    payload = call(listed(Asking("asking", FACTS)))("anything", plan=plan)
    assert payload.plan_id == "p"
    ancestors = () if plan == "p" else ("q",)
    assert [(context.plan_id, context.ancestors) for context in told] == [("p", ancestors)]
    with pytest.raises(ValueError, match="plan must be"):
        call(listed(Listed("x", FACTS)))("anything", plan=7)


def test_there_are_no_more_fragments_than_asked_for_and_the_rest_is_accounted_for(call) -> None:
    """S2.most."""
    payload = call(listed(Listed("good", FACTS)))("anything", max_fragments=2)
    assert len(payload.fragments) == 2
    assert [e.reason.value for e in payload.ledger.entries] == ["beyond_limit"]


def test_a_strategy_that_was_registered_can_be_named_in_both_forms_of_the_protocol(call) -> None:
    """D4-72."""

    class Short:
        name = "my-custom-strategy"
        capabilities = StrategyCapabilities(uses_text=True)

        def can_handle(self, request):
            return 0.0

        def assemble(self, fragments, budget):
            return [f for f in fragments if f.uko_node.endswith("cache")]

        def explain(self):
            return "Keeps the cache."

    pipeline = ACMSPipeline()
    pipeline.register_strategy("my-custom-strategy", Short())
    pipeline.register_strategy("own", Listed("own", FACTS[:1]))
    payload = call(pipeline)("how?", fragments=FACTS, strategy="my-custom-strategy")
    assert [f.fragment_id for f in payload.fragments] == [FACTS[2].fragment_id]
    assert payload.strategies_used == ("my-custom-strategy",)
    assert call(pipeline)("how?", fragments=FACTS, strategy="own").strategies_used == ("own",)


def test_a_strategy_that_is_not_enabled_stands_in_for_one_that_fails_s10(call) -> None:
    """S10.disabled."""

    class Broken:
        def search_text(self, query, **options):
            raise OSError("disk on fire")

    hits = [SearchHit(uko_node="a", content="the parser closes brackets")]
    pipeline = ACMSPipeline(
        {"context": {"strategies": {"enabled": ["semantic-embedding"]}}},
        backends=BackendSet(text=PlainText(hits), vector=Broken()),
    )
    payload = call(pipeline)("parser brackets")
    assert payload.strategies_used == ("simple-keyword",)
    assert [failure.strategy for failure in payload.failures] == ["semantic-embedding"]


def test_the_clock_is_read_once_and_recorded_whatever_moment_is_asked_about_t1(call) -> None:
    """T1.clock."""
    read: list[datetime] = []

    def clock() -> datetime:
        read.append(NOON + timedelta(hours=len(read)))
        return read[-1]

    class Looking(Listed):
        seen: tuple[datetime | None, ...] = ()

        def assemble(self, request, backends, budget, plan_context):
            self.seen += (backends.now,)
            return super().assemble(request, backends, budget, plan_context)

    looking = Looking("looking", FACTS)
    pipeline = ACMSPipeline(strategies=[looking], backends={"text": True}, clock=clock)
    assert call(pipeline)("anything").assembled_at == NOON
    assert read == [NOON]
    then = NOON - timedelta(days=30)
    payload = call(pipeline)(ContextRequest(query="anything", as_of=then))
    assert payload.assembled_at == NOON + timedelta(hours=1)
    assert looking.seen == (NOON, then)


def test_a_payload_is_serialised_with_the_documented_fields(call) -> None:
    """D5-51."""
    budget = ContextBudget(max_tokens=4096, reserved_tokens=512)
    payload = call(ACMSPipeline())("how is JSON parsed?", fragments=FACTS, budget=budget)
    shown = json.loads(payload.model_dump_json())
    assert set(shown) >= {
        "payload_id",
        "plan_id",
        "fragments",
        "total_tokens",
        "budget",
        "budget_used",
        "strategies_used",
        "context_hash",
        "preamble",
        "provenance_map",
        "assembled_at",
    }
    assert shown["budget"] == {
        "max_tokens": 4096,
        "reserved_tokens": 512,
        "available_tokens": 3584,
    }
    assert set(shown["provenance_map"]) == {f.fragment_id for f in payload.fragments}
    assert shown["preamble"].startswith("Context includes")


def test_the_spec_profile_keeps_shares_and_the_highest_relevance_c3(call) -> None:
    """C3: what another strategy says of a node changes nothing, and nothing lies beyond a share."""
    big = fragment("big", "word " * 300, relevance_score=0.6, token_count=300)
    best = fragment("best", "best", relevance_score=0.9, token_count=10)
    again = best.model_copy(update={"relevance_score": 0.5})

    def read(profile: str) -> ContextPayload:
        pipeline = ACMSPipeline(
            {"context": {"profile": profile}},
            strategies=[
                Listed("simple-keyword", (best, big)),
                Listed("semantic-embedding", (again,)),
            ],
            backends={"text": True},
        )
        return call(pipeline)("anything", budget=400)

    kept = {f.uko_node: f.relevance_score for f in read("spec").fragments}
    assert kept[best.uko_node] == 0.9
    assert big.uko_node not in kept
    reasons = {e.uko_node: e.reason.value for e in read("spec").ledger.entries}
    assert reasons[big.uko_node] == "beyond_share"
    tuned = {f.uko_node: f.relevance_score for f in read("tuned").fragments}
    added = 0.35 * to_evidence(0.9) + 0.65 * to_evidence(0.5)
    assert tuned[best.uko_node] == pytest.approx(to_relevance(added))
    assert big.uko_node in tuned


@pytest.mark.parametrize(
    ("filters", "inside"),
    [
        ({"scope": ["project://demo/src"]}, ["src/a.py"]),
        ({"resource_types": ["decision"]}, ["notes/1"]),
        ({"resource_types": ["decision", "document"]}, ["notes/1", "readme"]),
        ({"metadata_filter": {"team": "core"}}, ["readme"]),
        ({"scope": ["project://demo/src"], "resource_types": ["decision"]}, []),
        ({"scope": [], "resource_types": [], "metadata_filter": {}}, None),
    ],
)
def test_filters_hold_for_what_callers_and_strategies_bring(
    filters: dict[str, Any], inside: list[str] | None, call
) -> None:
    """M2.inside, D4-52."""
    kinds = {"src/a.py": "source_file", "notes/1": "decision", "readme": ""}
    brought = [
        fragment(
            name,
            f"text of {name}",
            provenance=FragmentProvenance(
                resource_uri=f"project://demo/{name}", resource_type=kind
            ),
            metadata={"team": "core"} if name == "readme" else {},
        )
        for name, kind in kinds.items()
    ]
    for payload in (
        call(ACMSPipeline())(ContextRequest(**filters), fragments=brought),
        call(listed(Listed("careless", brought)))(ContextRequest(query="text", **filters)),
    ):
        names = sorted(f.uko_node.removeprefix("project://demo/") for f in payload.fragments)
        assert names == sorted(kinds if inside is None else inside)
        left = {e.reason.value for e in payload.ledger.entries}
        assert left == ({"out_of_scope"} if len(names) < 3 else set())


def test_a_record_lies_where_its_store_says(call) -> None:
    record = ContextFragment(
        uko_node="plan://p#d",
        content="Use a bucket.",
        provenance=FragmentProvenance(resource_uri="plan://p", resource_type="decision"),
        metadata={"plan_id": "p", "decision_id": "d", "nodes": ["project://demo/src/a.py"]},
    )
    scoped = ContextRequest(query="bucket", scope=["project://demo/src"])
    assert len(call(listed(Listed("digger", [record])))(scoped).fragments) == 1
    kinds = scoped.model_copy(update={"resource_types": ("test",)})
    assert not call(listed(Listed("digger", [record])))(kinds).fragments


def test_allocation_by_tier_bounds_what_is_read_of_each_tier_s6(call) -> None:
    """D4-84."""
    found = [
        fragment(f"{tier}{n}", f"{tier} {n}", tier=tier, token_count=95, relevance_score=n / 30)
        for tier in ("hot", "warm", "cold")
        for n in range(20)
    ]

    def read(**settings: Any) -> dict[str, int]:
        pipeline = ACMSPipeline({"context": {"strategies": settings}})
        payload = call(pipeline)("plan", found, 3584, layout="bare")
        return payload.metrics["tier_distribution"]

    assert read(allocator_strategy="tier") == {"hot": 10, "warm": 20, "cold": 6}
    assert read() == {"hot": 20, "warm": 17, "cold": 0}
    own = read(allocator_strategy="tier", tier_budget={"hot": 300})
    assert own == {"hot": 3, "warm": 20, "cold": 14}


def test_a_custom_order_sorts_by_the_key_of_the_pipeline(call) -> None:
    """D5-40."""
    settings = {"context": {"strategies": {"orderer_strategy": "custom"}}}
    pipeline = ACMSPipeline(settings, order_key=lambda f: f.uko_node)
    payload = call(pipeline)("plan", FACTS, 4096)
    names = [f.uko_node.rpartition("/")[2] for f in payload.fragments]
    assert names == ["cache", "limiter", "parser"]
    with pytest.raises(ConfigError, match=r"orderer_strategy: 'custom'.*order_key"):
        ACMSPipeline(settings)


def test_the_debug_log_tells_how_each_strategy_fared(call, caplog) -> None:
    """D4-75, D5-60, D6-43."""
    with caplog.at_level(logging.DEBUG, logger="acms_adapters"):
        call(listed(Listed("good", FACTS)))("anything", budget=4096)
    (told,) = [r.getMessage() for r in caplog.records if "Strategy: good" in r.getMessage()]
    lines = [line.strip() for line in told.splitlines()]
    assert [line.partition(":")[0] for line in lines] == [
        "Strategy",
        "Execution Time",
        "Fragments",
        "Tokens",
        "Budget Used",
        "Avg Relevance",
        "Tier Distribution",
    ]
    assert "Fragments: 3" in lines
    assert "Avg Relevance: 0.50" in lines
    assert "Tier Distribution: hot=0, warm=3, cold=0" in lines


TEXTS = st.text(
    alphabet=st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from("👩‍👩‍👧 你好 ＼ \x00\x1f\r\n=== <|endoftext|> \ud83d"),
    ),
    max_size=400,
)


@given(
    texts=st.lists(st.tuples(st.sampled_from("abcd"), TEXTS, st.integers(0, 9)), max_size=12),
    budget=st.integers(1, 8192),
    question=st.sampled_from([None, "hello 你好", "=== ("]),
)
def test_what_is_read_is_within_budget_and_everything_is_accounted_for_once_s4_f7(
    texts: list[tuple[str, str, int]], budget: int, question: str | None
) -> None:
    """D4-1, D4-16."""
    given_fragments = [fragment(n, text, detail_depth=d) for n, text, d in texts]
    before = [f.model_dump() for f in given_fragments]
    payload = ACMSPipeline().assemble(
        request={"query": question} if question else None,
        fragments=given_fragments,
        budget=budget,
    )
    assert token_counter().count(payload.render()) <= budget
    assert payload.is_within_budget
    accounted = [f.fragment_id for f in payload.fragments]
    accounted += [e.fragment_id for e in payload.ledger.entries]
    assert sorted(accounted) == sorted(f.fragment_id for f in given_fragments)
    assert [f.model_dump() for f in given_fragments] == before


@given(st.permutations(range(6)))
def test_any_order_of_the_candidates_gives_the_same_hash_m9(order: list[int]) -> None:
    """M9.order, D4-2."""
    facts = [fragment(str(n), f"fact number {n} " * (n + 1), relevance_score=n / 10) for n in order]
    payload = ACMSPipeline().assemble("plan", facts, 60)
    again = ACMSPipeline().assemble("plan", sorted(facts, key=lambda f: f.uko_node), 60)
    assert payload.context_hash == again.context_hash


def test_the_table_of_a_strategy_counts_when_it_is_registered_later(
    call: Callable[[ACMSPipeline], Assemble],
) -> None:
    """S13, C1: what the configuration says of a strategy holds however late it comes."""
    pipeline = ACMSPipeline(
        settings={"context": {"strategies": {"listed": {"max_fragments": 1}}}}, strategies=()
    )
    pipeline.register_strategy("listed", Listed("listed", FACTS))
    payload = call(pipeline)("limiter", fragments=FACTS, strategy="listed", budget=500)
    assert len(payload.fragments) == 1
    assert "beyond_limit" in {entry.reason.value for entry in payload.ledger.entries}
