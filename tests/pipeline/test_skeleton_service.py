"""A plan's context is compressed by a fraction of its tokens (rulings K1 and K2)."""

import copy
import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters import DEFAULT_SKELETON_RATIO, SkeletonCompressorService, SkeletonMetadata
from acms_adapters.errors import RequestError
from acms_adapters.models import ContextFragment, LeftOut, Plan
from acms_adapters.pipeline import SkeletonResult

SERVICE = SkeletonCompressorService()


def fragment(name: str, relevance: float, tokens: int, **fields: Any) -> ContextFragment:
    return ContextFragment(
        uko_node=f"project://app/{name}",
        content=f"text of {name}",
        fragment_id=name,
        relevance_score=relevance,
        token_count=tokens,
        **fields,
    )


def decision(name: str, relevance: float, tokens: int, decision_id: str) -> ContextFragment:
    return fragment(name, relevance, tokens, metadata={"decision_id": decision_id})


A = decision("A", 0.9, 400, "01HX")
B = decision("B", 0.6, 300, "01HY")
C = decision("C", 0.3, 300, "01HZ")


def kept_ids(fragments: list[ContextFragment], ratio: float | None) -> list[str]:
    return [f.fragment_id for f in SERVICE.compress(fragments, ratio).fragments]


class TestRatio:
    def test_none_means_the_default_of_three_tenths(self) -> None:
        """M1.ratio, D2-11."""
        assert DEFAULT_SKELETON_RATIO == 0.3
        result = SERVICE.compress([A, B, C])
        assert result == SERVICE.compress([A, B, C], None)
        assert result == SERVICE.compress([A, B, C], 0.3)
        assert result.metadata.ratio == 0.3

    def test_zero_keeps_every_fragment_as_it_is(self) -> None:
        """D2-4."""
        assert SERVICE.compress([A, B, C], 0.0).fragments == (A, B, C)

    def test_one_keeps_the_most_relevant_fragment_alone(self) -> None:
        """K2.best, D2-8."""
        assert kept_ids([C, A, B], 1.0) == ["A"]

    def test_one_keeps_no_second_fragment_even_without_tokens(self) -> None:
        assert kept_ids([fragment("a", 0.9, 0), fragment("b", 0.8, 0)], 1.0) == ["a"]

    @pytest.mark.parametrize("ratio", [0, 1, 0.0, 1.0, Decimal("0.5"), Fraction(1, 2)])
    def test_the_bounds_and_every_kind_of_number_are_accepted(self, ratio: Any) -> None:
        """D2-10."""
        assert SERVICE.compress([A], ratio).metadata.ratio == float(ratio)

    @pytest.mark.parametrize("ratio", [-0.1, 1.1, -1e-9, 1.0000001, float("inf"), float("-inf")])
    def test_a_ratio_outside_zero_and_one_is_refused_by_name_and_range(self, ratio: float) -> None:
        """K2.range, D2-9."""
        with pytest.raises(ValueError, match=r"skeleton_ratio .* from 0 to 1") as caught:
            SERVICE.compress([A], ratio)
        assert repr(ratio) in str(caught.value)

    def test_a_ratio_that_is_no_number_is_refused(self) -> None:
        """K2.range."""
        for ratio in (float("nan"), Decimal("NaN"), "0.5", True, [0.5]):
            with pytest.raises(ValueError, match="skeleton_ratio|NaN"):
                SERVICE.compress([A], ratio)  # type: ignore[arg-type]

    def test_a_bad_ratio_is_refused_even_when_there_is_nothing_to_compress(self) -> None:
        """D2-15."""
        with pytest.raises(ValueError, match="skeleton_ratio"):
            SERVICE.compress([], 2.0)

    def test_a_ratio_means_the_decimal_it_was_written_as(self) -> None:
        """K1."""
        # in binary 10 * (1 - 0.9) is 0.9999999999999998, which would keep one token too few
        parts = [fragment("a", 0.9, 0), fragment("b", 0.5, 1)]
        rest = fragment("c", 0.1, 9)
        assert kept_ids([*parts, rest], 0.9) == ["a", "b"]

    @pytest.mark.parametrize(("ratio", "tokens"), [(0.3, 70), (0.5, 50), (0.8, 20), (0.0, 100)])
    def test_the_rest_of_the_ratio_is_what_stays(self, ratio: float, tokens: int) -> None:
        """K1, D2-5, D2-6, D2-7, D2-17."""
        hundred = [fragment(f"{i:03}", 0.5, 1) for i in range(100)]
        assert SERVICE.compress(hundred, ratio).metadata.compressed_tokens == tokens

    def test_the_two_arguments_have_one_name_each(self) -> None:
        assert SERVICE.compress(fragments=[A], skeleton_ratio=0.5).fragments == (A,)
        with pytest.raises(TypeError):
            SERVICE.compress([A], ratio=0.5)  # type: ignore[call-arg]


class TestOrder:
    def test_the_more_relevant_comes_first(self) -> None:
        """K1.sorted, D2-13."""
        assert kept_ids([C, A, B], 0.0) == ["A", "B", "C"]

    def test_equal_relevance_is_ordered_by_fragment_id(self) -> None:
        """K1.sorted, D2-13."""
        twins = [fragment(name, 0.5, 1) for name in ("c", "a", "b")]
        assert kept_ids(twins, 0.0) == ["a", "b", "c"]

    def test_every_order_of_arrival_gives_the_same_result(self) -> None:
        """D2-14."""
        results = [SERVICE.compress(order, 0.5) for order in itertools.permutations([A, B, C])]
        assert all(result == results[0] for result in results)

    def test_equal_relevance_in_any_order_keeps_the_same_fragments(self) -> None:
        twins = [fragment(name, 0.5, 10) for name in "abcd"]
        for order in itertools.permutations(twins):
            assert kept_ids(list(order), 0.5) == ["a", "b"]

    def test_the_order_of_what_was_left_out_does_not_depend_on_arrival(self) -> None:
        left = [SERVICE.compress(o, 1.0).left_out for o in itertools.permutations([A, B, C])]
        assert [entry.fragment_id for entry in left[0]] == ["B", "C"]
        assert all(entries == left[0] for entries in left)


class TestMetadata:
    def test_half_of_the_documented_plan_keeps_400_of_1000_tokens(self) -> None:
        """D2-22, D2-27."""
        fragments, metadata = SERVICE.compress([A, B, C], 0.5)
        assert fragments == (A,)
        assert metadata == SkeletonMetadata(
            ratio=0.5,
            original_tokens=1000,
            compressed_tokens=400,
            source_decision_ids=("01HX",),
        )

    def test_the_result_has_names_and_unpacks(self) -> None:
        """K1, D2-19."""
        result = SERVICE.compress([A, B, C], 0.5)
        fragments, metadata = result
        assert isinstance(result, SkeletonResult)
        assert (fragments, metadata) == (result.fragments, result.metadata)

    def test_tokens_are_those_that_the_fragments_declare(self) -> None:
        """D2-16."""
        metadata = SERVICE.compress([A, B, C], 0.0).metadata
        assert (metadata.original_tokens, metadata.compressed_tokens) == (1000, 1000)

    def test_decision_ids_are_those_of_kept_fragments_in_their_order(self) -> None:
        """M1.decision, D2-21."""
        plain = fragment("D", 0.95, 100)
        metadata = SERVICE.compress([C, B, plain, A], 0.2).metadata
        assert metadata.source_decision_ids == ("01HX", "01HY")

    def test_a_decision_told_in_two_fragments_is_named_once(self) -> None:
        again = decision("A2", 0.8, 1, "01HX")
        assert SERVICE.compress([A, again], 0.0).metadata.source_decision_ids == ("01HX",)

    def test_metadata_cannot_be_changed(self) -> None:
        """D2-2."""
        metadata = SERVICE.compress([A], 0.5).metadata
        with pytest.raises(ValueError, match="frozen"):
            metadata.ratio = 0.1  # type: ignore[misc]

    def test_what_was_left_out_is_told_with_its_numbers(self) -> None:
        entries = SERVICE.compress([A, B, C], 0.5).left_out
        assert [(e.fragment_id, e.reason, e.needed, e.had) for e in entries] == [
            ("B", LeftOut.OVER_BUDGET, 300, 100),
            ("C", LeftOut.OVER_BUDGET, 300, 100),
        ]


class TestEdges:
    def test_nothing_gives_nothing(self) -> None:
        """D2-28."""
        for ratio in (0.0, 0.3, 1.0):
            fragments, metadata = SERVICE.compress([], ratio)
            assert fragments == ()
            assert (metadata.original_tokens, metadata.compressed_tokens) == (0, 0)

    def test_k2_one_fragment_larger_than_what_may_stay_is_kept(self) -> None:
        """K2.best, D2-29."""
        assert SERVICE.compress([A], 0.5).metadata.compressed_tokens == 400

    def test_k2_the_best_fragment_is_kept_and_nothing_beside_it(self) -> None:
        assert kept_ids([fragment("a", 0.9, 90), fragment("b", 0.8, 10)], 0.5) == ["a"]

    def test_k2_what_does_not_fit_is_skipped_and_smaller_ones_follow(self) -> None:
        parts = [fragment("a", 0.9, 50), fragment("b", 0.8, 60), fragment("c", 0.7, 20)]
        assert kept_ids(parts, 0.4) == ["a", "c"]

    def test_a_fragment_that_fits_exactly_is_kept(self) -> None:
        """D2-18."""
        assert kept_ids([fragment("a", 0.9, 50), fragment("b", 0.8, 50)], 0.5) == ["a"]
        assert kept_ids([fragment(n, 0.9, 25) for n in "abcd"], 0.5) == ["a", "b"]

    def test_fragments_without_tokens_cost_nothing(self) -> None:
        """D2-30."""
        parts = [fragment("a", 0.9, 10), fragment("b", 0.2, 0), fragment("c", 0.5, 10)]
        assert kept_ids(parts, 0.5) == ["a", "b"]

    def test_any_iterable_is_read_once(self) -> None:
        assert SERVICE.compress(iter([C, B, A]), 0.0).fragments == (A, B, C)

    @pytest.mark.parametrize("item", ["text", None, {"content": "x"}, 7])
    def test_what_is_no_fragment_is_refused(self, item: Any) -> None:
        """D2-15."""
        with pytest.raises(RequestError, match="ContextFragment"):
            SERVICE.compress([A, item], 0.5)

    @pytest.mark.parametrize(
        "change", [{"relevance_score": float("nan")}, {"relevance_score": 2.0}, {"token_count": -5}]
    )
    def test_a_fragment_that_was_copied_with_bad_values_is_refused(self, change: Any) -> None:
        """D2-15."""
        with pytest.raises(ValueError, match="fragment 'A'"):
            SERVICE.compress([A.model_copy(update=change)], 0.5)

    def test_the_input_stays_as_it_is(self) -> None:
        """D2-31."""
        given_list = [C, A, B]
        before = copy.deepcopy(given_list)
        SERVICE.compress(given_list, 0.5)
        assert given_list == before

    def test_a_sibling_cannot_change_what_the_next_one_gets(self) -> None:
        """D2-31."""
        first = SERVICE.compress([A], 0.0).fragments[0]
        first.metadata["decision_id"] = "forged"
        assert SERVICE.compress([A], 0.0).metadata.source_decision_ids == ("01HX",)
        assert A.metadata == {"decision_id": "01HX"}

    def test_calls_from_many_threads_give_the_same_result(self) -> None:
        """D2-1."""
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _: SERVICE.compress([C, B, A], 0.5), range(64)))
        assert all(result == results[0] for result in results)


class TestPlan:
    def test_a_plan_keeps_the_metadata(self) -> None:
        """D2-23."""
        metadata = SERVICE.compress([A, B, C], 0.5).metadata
        assert Plan(skeleton_metadata=metadata).skeleton_metadata == metadata

    def test_the_summary_of_a_plan_shows_it_under_skeleton(self) -> None:
        """D2-24."""
        metadata = SERVICE.compress([A, B, C], 0.5).metadata
        shown = Plan(skeleton_metadata=metadata).as_cli_dict()["skeleton"]
        assert json.loads(json.dumps(shown)) == {
            "ratio": 0.5,
            "original_tokens": 1000,
            "compressed_tokens": 400,
            "source_decision_ids": ["01HX"],
        }

    def test_a_plan_that_inherited_nothing_shows_no_skeleton(self) -> None:
        """D2-25."""
        assert Plan().as_cli_dict()["skeleton"] is None

    def test_the_metadata_survives_as_json(self) -> None:
        """D2-26."""
        plan = Plan(skeleton_metadata=SERVICE.compress([A, B, C], 0.5).metadata)
        assert Plan.model_validate_json(plan.model_dump_json()) == plan

    def test_the_ratio_of_a_plan_can_be_handed_on(self) -> None:
        """D2-12."""
        plan = Plan(skeleton_ratio=0.5)
        assert SERVICE.compress([A, B, C], plan.skeleton_ratio).metadata.ratio == 0.5
        assert SERVICE.compress([A, B, C], Plan().skeleton_ratio).metadata.ratio == 0.3


RATIOS = st.one_of(st.floats(0, 1), st.integers(0, 1000).map(lambda n: n / 1000))
FRAGMENTS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.integers(0, 400)), max_size=12
).map(lambda rows: [fragment(f"f{i:02}", r, t) for i, (r, t) in enumerate(rows)])


@given(FRAGMENTS, RATIOS)
def test_what_stays_is_within_the_ratio_unless_it_is_the_best_alone(
    fragments: list[ContextFragment], ratio: float
) -> None:
    """D2-17, D2-22."""
    kept, metadata = SERVICE.compress(fragments, ratio)
    bound = sum(f.token_count for f in fragments) * (1 - Fraction(repr(ratio)))
    assert metadata.compressed_tokens == sum(f.token_count for f in kept)
    assert metadata.compressed_tokens <= bound or len(kept) == 1


@given(FRAGMENTS, RATIOS, st.randoms(use_true_random=False))
def test_the_result_does_not_depend_on_the_order_and_leaves_the_input_alone(
    fragments: list[ContextFragment], ratio: float, random: Any
) -> None:
    """D2-14."""
    shuffled = list(fragments)
    random.shuffle(shuffled)
    before = copy.deepcopy(shuffled)
    assert SERVICE.compress(shuffled, ratio) == SERVICE.compress(fragments, ratio)
    assert shuffled == before


@given(FRAGMENTS, RATIOS)
def test_each_fragment_is_kept_or_accounted_for_once(
    fragments: list[ContextFragment], ratio: float
) -> None:
    result = SERVICE.compress(fragments, ratio)
    told = [*result.fragments, *result.left_out]
    assert sorted(item.fragment_id for item in told) == [f.fragment_id for f in fragments]


@given(FRAGMENTS, RATIOS)
def test_nothing_that_was_left_out_would_still_have_fitted(
    fragments: list[ContextFragment], ratio: float
) -> None:
    """D2-18."""
    result = SERVICE.compress(fragments, ratio)
    bound = sum(f.token_count for f in fragments) * (1 - Fraction(repr(ratio)))
    room = bound - result.metadata.compressed_tokens
    if ratio < 1:
        assert all(entry.token_count > room for entry in result.left_out)
