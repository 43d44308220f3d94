"""A child plan reads a part of its parent's context (ruling K4)."""

import copy
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    ContextRequest,
    FragmentProvenance,
    IndexedNode,
    IndexedResource,
    LeftOut,
    Plan,
    PlanContext,
)
from acms_adapters.models.layout import render
from acms_adapters.pipeline import Inheritance, SkeletonCompressor, inherit, skeleton_allowance
from acms_adapters.pipeline.containment import contains, passage
from acms_adapters.protocols import BackendSet
from acms_adapters.tokens import token_counter

LETTERS = token_counter(len)
BACKENDS = BackendSet(counter=LETTERS)


def fragment(
    name: str, relevance: float = 0.5, tokens: int = 100, **fields: Any
) -> ContextFragment:
    fields.setdefault("content", f"text of {name}".ljust(tokens - 2, "."))
    return ContextFragment(
        uko_node=f"project://app/{name}",
        fragment_id=name,
        relevance_score=relevance,
        token_count=tokens,
        **fields,
    )


def parent_of(*fragments: ContextFragment) -> ContextPayload:
    return ContextPayload(fragments=fragments, plan_id="parent")


# 1,000 tokens in ten fragments, the most relevant first
PARENT = parent_of(*(fragment(f"f{i}", 0.9 - i / 20) for i in range(10)))


def child(parent: ContextPayload | None = PARENT, **fields: Any) -> ContextRequest:
    return ContextRequest(parent_context=parent, **fields)


def inherited(request: ContextRequest, budget: Any = 100_000, **options: Any) -> Inheritance:
    options.setdefault("layout", "bare")
    options.setdefault("backends", BACKENDS)
    return inherit(request, budget, **options)


def ids(inheritance: Inheritance) -> list[str]:
    return [f.fragment_id for f in inheritance.fragments]


def outlined(node: str, texts: dict[int, str]) -> BackendSet:
    made = IndexedNode(uko_node=node, kind="class", resource_uri=node, renderings=texts)
    index = SQLiteStore(None)
    with index.transaction():
        index.replace(IndexedResource(resource_uri=node, content_hash="1", nodes=(made,)))
    return BackendSet(counter=LETTERS, renderings=index.renderings)


class TestStrategy:
    def test_k4_a_parents_context_means_skeleton_unless_said_otherwise(self) -> None:
        """K4.default."""
        assert inherited(child()).strategy == "skeleton"
        assert inherited(child()) == inherited(child(inherit_strategy="skeleton"))

    def test_without_a_parents_context_nothing_is_inherited(self) -> None:
        for strategy in (None, "full", "skeleton", "none"):
            assert inherited(child(None, inherit_strategy=strategy)) == Inheritance()

    def test_none_starts_fresh(self) -> None:
        """D4-58."""
        result = inherited(child(inherit_strategy="none"))
        assert result == Inheritance()
        assert result.metadata is None

    def test_full_inherits_everything_that_fits_without_the_15_percent_cap(self) -> None:
        """K4.full, D4-56."""
        result = inherited(child(inherit_strategy="full"), 1000)
        assert (result.strategy, len(result.fragments)) == ("full", 10)
        assert result.metadata is not None
        assert result.metadata.ratio == 0.0
        assert result.metadata.compressed_tokens == 1000
        assert result.left_out == ()

    def test_full_that_does_not_fit_falls_back_to_skeleton_and_tells_the_remainder(self) -> None:
        """K4.full."""
        result = inherited(child(inherit_strategy="full"), 999)
        assert result == inherited(child(inherit_strategy="skeleton"), 999)
        assert ids(result) == ["f0"]
        assert [e.fragment_id for e in result.left_out] == [f"f{i}" for i in range(1, 10)]
        assert {e.reason for e in result.left_out} == {LeftOut.OVER_BUDGET}

    def test_full_never_lowers_a_rendering_and_calls_it_full(self) -> None:
        backends = outlined("project://app/a", {0: "outline of a"})
        request = child(parent_of(fragment("a")), inherit_strategy="full", skeleton_ratio=0.0)
        assert inherited(request, 100, backends=backends).strategy == "full"
        assert inherited(request, 99, backends=backends).strategy == "skeleton"


class TestAllowance:
    def test_k4_it_is_15_percent_of_the_childs_available_tokens(self) -> None:
        budget = ContextBudget(max_tokens=2500, reserved_tokens=500)
        assert skeleton_allowance(child(), budget) == 300
        assert ids(inherited(child(), budget)) == ["f0", "f1", "f2"]

    def test_k4_or_what_the_ratio_leaves_of_the_parent_if_that_is_less(self) -> None:
        assert skeleton_allowance(child(skeleton_ratio=0.5), 100_000) == 500
        assert len(inherited(child(skeleton_ratio=0.5)).fragments) == 5

    def test_it_is_exact_and_rounded_down(self) -> None:
        assert skeleton_allowance(child(), 1000) == 150  # 0.15 * 1000 is 150.0 only by luck
        assert skeleton_allowance(child(), 19) == 2
        tenth = parent_of(fragment("a", tokens=10))
        assert skeleton_allowance(child(tenth, skeleton_ratio=0.9), 100_000) == 1

    def test_ratio_0_leaves_the_cap_alone_and_ratio_1_leaves_nothing(self) -> None:
        assert len(inherited(child(skeleton_ratio=0.0)).fragments) == 10
        nothing = inherited(child(skeleton_ratio=1.0))
        assert nothing.fragments == ()
        assert len(nothing.left_out) == 10

    def test_nothing_is_allowed_without_a_parent(self) -> None:
        assert skeleton_allowance(child(None), 1000) == 0

    def test_what_is_free_of_the_budget_bounds_both_strategies(self) -> None:
        assert len(inherited(child(), limit=200).fragments) == 2
        full = inherited(child(inherit_strategy="full"), limit=999)
        assert full.strategy == "skeleton"
        assert inherited(child(), limit=0).fragments == ()
        assert inherited(child(), limit=-5).fragments == ()

    def test_a_child_sees_at_most_half_of_1000_tokens_at_ratio_one_half(self) -> None:
        result = inherited(child(skeleton_ratio=0.5), 100_000, layout="payload")
        assert 0 < LETTERS.count(render(result.fragments)) <= result.rendered_tokens <= 500

    def test_headers_count_inside_the_allowance(self) -> None:
        budget = 2000
        result = inherited(child(), budget, layout="payload")
        assert LETTERS.count(render(result.fragments)) <= 300
        assert len(result.fragments) == 2

    @pytest.mark.parametrize("budget", [0, -1, "4096", 1.5, True])
    def test_a_bad_budget_is_refused(self, budget: Any) -> None:
        with pytest.raises(ValueError, match="budget"):
            inherited(child(), budget)


class TestRatio:
    """K4: the ratio of the request, else its plan, else the project, else 0.3."""

    def test_the_request_comes_first_then_the_plan_then_the_project(self) -> None:
        """K4.ratio."""
        plan = PlanContext(skeleton_ratio=0.6)
        both = child(skeleton_ratio=0.9, plan_context=plan)
        assert skeleton_allowance(both, 100_000, 0.1) == 100
        assert skeleton_allowance(child(plan_context=plan), 100_000, 0.1) == 400
        assert skeleton_allowance(child(plan_context=PlanContext()), 100_000, 0.1) == 900
        assert skeleton_allowance(child(), 100_000) == 700

    def test_an_explicit_zero_is_a_ratio(self) -> None:
        plan = PlanContext(skeleton_ratio=0.0)
        assert skeleton_allowance(child(plan_context=plan), 100_000, 0.5) == 1000
        assert skeleton_allowance(child(), 100_000, 0.0) == 1000

    def test_the_receipt_names_the_ratio(self) -> None:
        metadata = inherited(child(), project_ratio=0.8).metadata
        assert metadata is not None
        assert metadata.ratio == 0.8

    @pytest.mark.parametrize("ratio", [-0.1, 1.5, float("nan")])
    def test_a_bad_project_ratio_is_refused(self, ratio: float) -> None:
        with pytest.raises(ValueError, match="skeleton_ratio"):
            inherited(child(), project_ratio=ratio)


class TestAgain:
    """The pipeline inherits once to keep room free, and again when it knows what was fetched."""

    @pytest.mark.parametrize("strategy", ["full", "skeleton"])
    @pytest.mark.parametrize("layout", ["payload", "bare"])
    def test_the_room_that_it_took_is_enough_for_it(self, strategy: Any, layout: Any) -> None:
        words = [fragment(f"w{i}", content=f"def f{i}():\n    return 'é{i}'\n") for i in range(9)]
        request = child(parent_of(*words), inherit_strategy=strategy, skeleton_ratio=0.0)
        backends = BackendSet(counter=token_counter())
        first = inherited(request, 9000, layout=layout, backends=backends)
        limit = first.rendered_tokens
        again = inherited(request, 9000, layout=layout, backends=backends, limit=limit)
        assert again == first
        assert first.fragments

    def test_declared_tokens_are_kept_free_where_they_are_more(self) -> None:
        declared = parent_of(*(fragment(name, content=name, tokens=100) for name in "abc"))
        first = inherited(child(declared, skeleton_ratio=0.0))
        assert first.rendered_tokens == 300
        assert inherited(child(declared, skeleton_ratio=0.0), limit=300) == first


class TestRepetition:
    """K4: nothing inherited repeats what the child fetched."""

    def test_f1_the_same_node_and_text_is_not_inherited(self) -> None:
        """K4.repeat."""
        own = PARENT.fragments[0].model_copy(update={"fragment_id": "own"})
        result = inherited(child(), fetched=[own])
        assert "f0" not in ids(result)
        assert (result.left_out[0].reason, result.left_out[0].other) == (LeftOut.DUPLICATE, "own")

    def test_f1_other_line_ends_do_not_make_another_text(self) -> None:
        lines = fragment("a", content="one\ntwo")
        own = lines.model_copy(update={"content": "one\r\ntwo", "fragment_id": "own"})
        assert inherited(child(parent_of(lines)), fetched=[own]).fragments == ()

    def test_f9_a_text_inside_a_fetched_text_is_not_inherited(self) -> None:
        """K4.repeat."""
        source = FragmentProvenance(resource_uri="project://app/a.py")
        part = fragment("part", content="    def m(self): ...", provenance=source)
        own = fragment("own", content="class A:\n    def m(self): ...\n", provenance=source)
        result = inherited(child(parent_of(part)), fetched=[own])
        assert result.fragments == ()
        assert (result.left_out[0].reason, result.left_out[0].other) == (LeftOut.CONTAINED, "own")

    def test_an_equal_text_of_another_node_of_the_resource_is_not_inherited(self) -> None:
        source = FragmentProvenance(resource_uri="project://app/a.py")
        own = fragment("a.py", content="x = 1\n", provenance=source)
        same = fragment("a.py#x", content="x = 1", provenance=source)
        result = inherited(child(parent_of(same)), fetched=[own])
        assert result.fragments == ()
        assert result.left_out[0].reason is LeftOut.CONTAINED

    def test_a_text_around_a_fetched_text_is_not_inherited_either(self) -> None:
        source = FragmentProvenance(resource_uri="project://app/a.py")
        whole = fragment("whole", content="class A:\n    def m(self): ...\n", provenance=source)
        own = fragment("own", content="    def m(self): ...", provenance=source)
        result = inherited(child(parent_of(whole)), fetched=[own])
        assert result.fragments == ()
        assert [e.reason for e in result.left_out] == [LeftOut.CONTAINED]

    def test_its_lower_rendering_without_that_text_is(self) -> None:
        source = FragmentProvenance(resource_uri="project://app/a.py")
        whole = fragment("whole", content="class A:\n    def m(self): ...\n", provenance=source)
        own = fragment("own", content="    def m(self): ...", provenance=source)
        result = inherited(
            child(parent_of(whole), inherit_strategy="full"),
            fetched=[own],
            backends=outlined("project://app/whole", {4: "class A: m"}),
        )
        assert [(f.fragment_id, f.content) for f in result.fragments] == [("whole", "class A: m")]
        assert result.strategy == "full"

    def test_f8_another_depth_of_a_fetched_node_is_not_inherited(self) -> None:
        outline = fragment("a", content="class A: ...", detail_depth=4)
        own = fragment("own", content="class A:\n    x = 1").model_copy(
            update={"uko_node": outline.uko_node}
        )
        result = inherited(child(parent_of(outline)), fetched=[own])
        assert result.fragments == ()
        assert result.left_out[0].reason is LeftOut.SUPERSEDED_DEPTH

    def test_the_same_words_in_another_resource_are_inherited(self) -> None:
        own = fragment("own", content=PARENT.fragments[0].content)
        assert "f0" in ids(inherited(child(), fetched=[own]))

    def test_what_is_not_repeated_makes_room_for_others(self) -> None:
        result = inherited(child(skeleton_ratio=0.8), fetched=PARENT.fragments[:3])
        assert ids(result) == ["f3", "f4"]

    def test_full_that_fits_but_for_repetition_is_full(self) -> None:
        request = child(inherit_strategy="full")
        result = inherited(request, fetched=PARENT.fragments[:3])
        assert (result.strategy, len(result.fragments)) == ("full", 7)
        assert len(result.left_out) == 3


class TestWhatIsWanted:
    def test_k3_decisions_and_the_focus_come_first(self) -> None:
        decision = fragment("decision", 0.1, metadata={"decision_id": "D1"})
        near = fragment("near", 0.2)
        parent = parent_of(*PARENT.fragments, near, decision)
        request = child(parent, focus_nodes=["project://app/near"])
        assert ids(inherited(request, 2000))[:2] == ["decision", "near"]
        planned = child(parent, plan_context=PlanContext(focus_nodes=("project://app/near",)))
        assert ids(inherited(planned, 2000))[:2] == ["decision", "near"]
        metadata = inherited(request, 2000).metadata
        assert metadata is not None
        assert metadata.source_decision_ids == ("D1",)

    def test_k3_what_was_fetched_tells_where_the_focus_stands(self) -> None:
        source = FragmentProvenance(resource_uri="file:a")
        own = fragment("own", content="fetched", provenance=source)
        near = fragment("near", 0.1, provenance=source)
        request = child(parent_of(*PARENT.fragments, near), focus_nodes=["project://app/own"])
        assert ids(inherited(request))[0] == "f0"
        assert ids(inherited(request, fetched=[own]))[0] == "near"

    @pytest.mark.parametrize(
        ("filters", "reason"),
        [
            ({"scope": ["project://app/other"]}, LeftOut.OUT_OF_SCOPE),
            ({"resource_types": ["decision"]}, LeftOut.OUT_OF_SCOPE),
            ({"metadata_filter": {"team": "b"}}, LeftOut.OUT_OF_SCOPE),
            ({"exclude_tiers": ["cold"]}, LeftOut.EXCLUDED_TIER),
            ({"min_relevance": 0.6}, LeftOut.BELOW_THRESHOLD),
        ],
    )
    def test_the_filters_of_the_request_hold_for_what_is_inherited(
        self, filters: dict[str, Any], reason: LeftOut
    ) -> None:
        kind = FragmentProvenance(resource_uri="project://app/a.py", resource_type="source_file")
        part = fragment("a", tier="cold", provenance=kind, metadata={"team": "a"})
        result = inherited(child(parent_of(part), **filters))
        assert result.fragments == ()
        assert [entry.reason for entry in result.left_out] == [reason]

    def test_a4_empty_filters_hold_everything(self) -> None:
        request = child(scope=[], resource_types=[], exclude_tiers=[], metadata_filter={})
        assert len(inherited(request).fragments) == len(inherited(child()).fragments)

    def test_fragments_that_meet_the_filters_are_inherited(self) -> None:
        kind = FragmentProvenance(resource_uri="project://app/a.py", resource_type="source_file")
        part = fragment("a.py", provenance=kind, metadata={"team": "a"})
        by_metadata = fragment("b.py", metadata={"team": "a", "resource_type": "source_file"})
        request = child(
            parent_of(part, by_metadata),
            scope=["project://app"],
            resource_types=["source_file"],
            metadata_filter={"team": ["a", "b"]},
            min_relevance=0.5,
            exclude_tiers=["cold"],
            skeleton_ratio=0.0,
        )
        assert ids(inherited(request)) == ["a.py", "b.py"]


class TestPlans:
    def test_the_receipt_goes_on_the_childs_plan(self) -> None:
        """K4.receipt, D2-33."""
        result = inherited(child(skeleton_ratio=0.5))
        plan = Plan(title="child", parent="parent", skeleton_metadata=result.metadata)
        assert plan.as_cli_dict()["skeleton"] == {
            "ratio": 0.5,
            "original_tokens": 1000,
            "compressed_tokens": 500,
            "source_decision_ids": [],
        }

    def test_a_plan_made_with_its_context_takes_the_receipt_from_it(self) -> None:
        result = inherited(child(skeleton_ratio=0.5))
        payload = ContextPayload(
            fragments=result.fragments,
            skeleton_ids=ids(result),
            skeleton_metadata=result.metadata,
        )
        assert payload.skeleton_fragments == result.fragments
        assert Plan(context_payload=payload).skeleton_metadata == result.metadata

    def test_the_parent_is_never_changed_and_siblings_are_apart(self) -> None:
        """K4.apart."""
        parent = parent_of(fragment("a", metadata={"tags": ["x"]}))
        request = child(parent, inherit_strategy="full")
        before = copy.deepcopy(parent)
        first = inherited(request)
        first.fragments[0].metadata["tags"].append("forged")
        second = inherited(request)
        assert parent == before
        assert second.fragments[0].metadata == {"tags": ["x"]}

    def test_a_disabled_compressor_inherits_the_whole_or_nothing(self) -> None:
        """D5-46."""
        off = SkeletonCompressor(enabled=False)
        assert len(inherited(child(skeleton_ratio=0.0), compressor=off).fragments) == 10
        nothing = inherited(child(skeleton_ratio=0.1), compressor=off)
        assert nothing.fragments == ()
        assert len(nothing.left_out) == 10


TEXTS = st.text("ab \n=", max_size=30)
PARTS = st.lists(
    st.tuples(st.sampled_from("abc"), TEXTS, st.integers(0, 50), st.sampled_from([0.1, 0.9])),
    max_size=8,
)


def made(rows: list[Any], prefix: str) -> list[ContextFragment]:
    return [
        ContextFragment(
            uko_node=node,
            content=text,
            token_count=tokens,
            relevance_score=relevance,
            fragment_id=f"{prefix}{i}",
        )
        for i, (node, text, tokens, relevance) in enumerate(rows)
    ]


@given(
    parent=PARTS.map(lambda rows: parent_of(*made(rows, "p"))),
    own=PARTS.map(lambda rows: made(rows, "c")),
    strategy=st.sampled_from(["full", "skeleton", None]),
    ratio=st.floats(0, 1),
    available=st.integers(1, 600),
)
def test_k4_whatever_is_inherited_fits_repeats_nothing_and_is_accounted_for(
    parent: ContextPayload,
    own: list[ContextFragment],
    strategy: Any,
    ratio: float,
    available: int,
) -> None:
    request = child(parent, inherit_strategy=strategy, skeleton_ratio=ratio)
    before = parent.model_dump_json()
    result = inherited(request, available, fetched=own, layout="payload")
    bound = available
    if result.strategy == "skeleton":
        bound = math.floor(min(0.15 * available + 1e-9, parent.total_tokens * (1 - ratio) + 1e-9))
    assert LETTERS.count(render(result.fragments)) <= bound
    assert sum(f.token_count for f in result.fragments) <= bound
    assert not {f.key for f in result.fragments} & {f.key for f in own}
    for kept in result.fragments:
        near = [f for f in own if f.provenance.resource_uri == kept.provenance.resource_uri]
        text = passage(kept.content)
        assert not any(contains(passage(f.content), text) for f in near)
        assert text not in [passage(f.content) for f in near]
    told = [*ids(result), *(entry.fragment_id for entry in result.left_out)]
    assert sorted(told) == [f.fragment_id for f in parent.fragments]
    assert parent.model_dump_json() == before
