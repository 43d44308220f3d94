"""Choosing what fits (rulings F3, F4, F6, F7, F9, S4, S6)."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    FragmentProvenance,
    LedgerEntry,
    LeftOut,
    Rendering,
)
from acms_adapters.models.layout import header, render
from acms_adapters.pipeline import BudgetPacker
from acms_adapters.pipeline.budget_packer import Packing
from acms_adapters.pipeline.budget_packer import pack as pack_candidates
from acms_adapters.pipeline.containment import PackedTexts, contains, passage
from acms_adapters.pipeline.packing_rules import PackingRules
from acms_adapters.pipeline.pricing import Pricing
from acms_adapters.pipeline.ranking import place
from acms_adapters.pipeline.renderings import LowerRenderings

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


class Words:
    """Counts words, and remembers what it counted."""

    name = "words"
    exact = True

    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        self.texts.append(text)
        return len(text.split())


class Quarters(Words):
    """Loses up to three characters of each text, so that a whole counts more than its parts."""

    def count(self, text: str) -> int:
        return len(text) // 4


class Characters(Words):
    """Counts the characters, those of separators too."""

    def count(self, text: str) -> int:
        return len(text)


class Renderings:
    def __init__(self, **nodes: dict[int, str]) -> None:
        self.nodes = nodes
        self.asked = 0

    def at(self, node: str, depth: int) -> Rendering | None:
        self.asked += 1
        found = max((d for d in self.depths(node) if d <= depth), default=None)
        if found is None:
            return None
        text = self.nodes[node][found]
        return Rendering(
            uko_node=node, detail_depth=found, content=text, token_count=len(text.split())
        )

    def depths(self, node: str) -> Sequence[int]:
        self.asked += 1
        return sorted(self.nodes.get(node, {}))


def fragment(node: str, tokens: int, text: str | None = None, **fields: Any) -> ContextFragment:
    source = FragmentProvenance(resource_uri=fields.pop("resource", node))
    return ContextFragment(
        uko_node=node,
        content=f"text of {node}" if text is None else text,
        token_count=tokens,
        provenance=source,
        **{"created_at": NOON, **fields},
    )


def ranked(*fragments: ContextFragment) -> list[tuple[ContextFragment, float]]:
    """Scores fall from one fragment to the next."""
    return [(f, 1 - place / 100) for place, f in enumerate(fragments)]


def pack(
    scored: Sequence[tuple[ContextFragment, float]], available: int, **options: Any
) -> Packing:
    fragments, scores = [f for f, _ in scored], [score for _, score in scored]
    return pack_candidates(fragments, scores, available, **options)


def nodes(fragments: Sequence[ContextFragment]) -> list[str]:
    return [f.uko_node for f in fragments]


def reasons(packing: Packing) -> dict[str, LeftOut]:
    return {entry.uko_node: entry.reason for entry in packing.left_out}


def entry_of(packing: Packing, node: str) -> LedgerEntry:
    (entry,) = [e for e in packing.left_out if e.uko_node == node]
    return entry


# --- greedy packing


def test_a_misfit_is_passed_over_and_never_a_stop_f3_greedy_stops_or_cheats() -> None:
    """D4-17, D5-33."""
    big, one, two = fragment("big", 900), fragment("one", 50), fragment("two", 50)
    packed = BudgetPacker().pack(scored_fragments=ranked(big, one, two), budget=120)
    assert packed == [one, two]
    assert sum(f.token_count for f in packed) == 100


def test_the_documented_call_takes_a_budget_with_reserved_tokens() -> None:
    """D5-33."""
    found = [fragment("a", 60), fragment("b", 60)]
    budget = ContextBudget(max_tokens=100, reserved_tokens=40)
    assert BudgetPacker().pack(ranked(*found), budget) == found[:1]


@pytest.mark.parametrize("budget", [0, -1, 1.5, True, None])
def test_a_budget_that_cannot_be_is_refused_degenerate_budgets(budget: Any) -> None:
    with pytest.raises(ValueError, match="budget"):
        BudgetPacker().pack([], budget)


def test_nothing_is_packed_from_nothing() -> None:
    assert BudgetPacker().pack([], 1) == []
    assert pack([], 0).kept == pack(ranked(fragment("a", 1)), -5).kept == ()


def test_a_single_misfit_leaves_an_empty_result_with_its_numbers_f6_bigger_than_the_budget() -> (
    None
):
    packing = pack(ranked(fragment("a", 10_000)), 200)
    assert packing.kept == ()
    entry = entry_of(packing, "a")
    assert (entry.reason, entry.needed, entry.had) == (LeftOut.OVER_BUDGET, 10_000, 200)


def test_tiers_are_served_in_order_whatever_the_score_f3() -> None:
    """F3.order, D4-4, D5-34."""
    cold, warm, hot = (fragment(t, 50, tier=t) for t in ("cold", "warm", "hot"))
    assert nodes(BudgetPacker().pack(ranked(cold, warm, hot), 100)) == ["hot", "warm"]
    assert nodes(BudgetPacker(tier_priority=None).pack(ranked(cold, warm, hot), 100)) == [
        "cold",
        "warm",
    ]
    only_cold_first = BudgetPacker(tier_priority=["cold"])
    assert nodes(only_cold_first.pack(ranked(hot, warm, cold), 100)) == ["cold", "hot"]


def test_equal_scores_fall_back_to_relevance_depth_size_node_and_text_f3() -> None:
    """F3.order."""

    def tied(node: str, tokens: int = 5, **fields: Any) -> ContextFragment:
        return fragment(node, tokens, **fields)

    by_text = sorted(
        (tied("d", text=text) for text in ("one", "two", "three")), key=lambda f: f.content_hash
    )
    expected = [
        tied("z", relevance_score=0.9, detail_depth=2, tokens=9),
        tied("y", detail_depth=9, tokens=9),
        tied("x", detail_depth=4, tokens=3),
        tied("b", detail_depth=4),
        tied("c", detail_depth=4),
        *(f.model_copy(update={"detail_depth": 4}) for f in by_text),
    ]
    given_backwards = [(f, 0.5) for f in reversed(expected)]
    assert BudgetPacker().pack(given_backwards, 1_000) == expected


def test_an_unknown_tier_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"tier_priority.*lukewarm"):
        BudgetPacker(tier_priority=["lukewarm"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="tier_budget"):
        BudgetPacker(tier_budget={"hot": -1})
    with pytest.raises(ValueError, match="depth_fallback_steps"):
        BudgetPacker(depth_fallback_steps=[10])
    with pytest.raises(ValueError, match="max_fragments"):
        BudgetPacker(max_fragments=-1)
    with pytest.raises(ValueError, match="layout"):
        BudgetPacker(layout="bear")  # type: ignore[arg-type]


def plain_greedy(scored: list[tuple[ContextFragment, float]], budget: int) -> list[ContextFragment]:
    def key(item: tuple[ContextFragment, float]) -> Any:
        f, score = item
        tier = ["hot", "warm", "cold"].index(f.tier)
        return (
            *(tier, -score, -f.relevance_score, -f.detail_depth),
            *(f.token_count, f.uko_node, f.content_hash),
        )

    chosen = []
    for f, _ in sorted(scored, key=key):
        if f.token_count <= budget:
            budget -= f.token_count
            chosen.append(f)
    return chosen


few_values = st.tuples(
    st.integers(0, 40),
    st.sampled_from([0.1, 0.2, 0.3]),
    st.sampled_from([0.1, 0.2]),
    st.sampled_from([2, 9]),
    st.sampled_from(["hot", "warm", "cold"]),
)


@given(st.lists(few_values, max_size=30), st.integers(1, 120), st.randoms(use_true_random=False))
def test_packing_equals_a_plain_greedy_run_in_any_order_of_the_input_f3(
    parts: list[Any], budget: int, chance: Any
) -> None:
    """F3.order, D1-19, D4-33."""
    scored = [
        (fragment(f"n{i}", tokens, relevance_score=rel, detail_depth=depth, tier=tier), score)
        for i, (tokens, score, rel, depth, tier) in enumerate(parts)
    ]
    expected = plain_greedy(scored, budget)
    chance.shuffle(scored)
    assert BudgetPacker().pack(scored, budget) == expected


# --- limits beside the budget


def test_the_number_of_fragments_is_an_upper_bound_and_the_rest_is_beyond_it_f7() -> None:
    found = [fragment(name, 1) for name in "abc"]
    packing = pack(ranked(*found), 100, rules=PackingRules(max_fragments=2))
    assert packing.kept == tuple(found[:2])
    (entry,) = packing.left_out
    assert (entry.reason, entry.threshold) == (LeftOut.BEYOND_LIMIT, 2)
    assert BudgetPacker(max_fragments=0).pack(ranked(*found), 100) == []


def test_a_tier_does_not_exceed_its_quota_and_leaves_room_to_others_s6() -> None:
    """S6.quotas."""
    hot = [fragment(f"h{i}", 40, tier="hot") for i in range(3)]
    cold = fragment("c", 40, tier="cold")
    rules = PackingRules(tier_budget={"hot": 80})
    packing = pack(ranked(*hot, cold), 1_000, rules=rules)
    assert packing.kept == (*hot[:2], cold)
    entry = entry_of(packing, "h2")
    assert (entry.reason, entry.needed, entry.had) == (LeftOut.OVER_BUDGET, 40, 0)


def test_a_quota_prices_the_layout_like_the_budget_does() -> None:
    a, b = fragment("a", 3), fragment("b", 3)  # "text of a", and "=== a" above it
    rules = PackingRules(tier_budget={"warm": 10})
    assert pack(ranked(a, b), 99, rules=rules, pricing=Pricing(Words())).kept == (a, b)
    rules = PackingRules(tier_budget={"warm": 9})
    assert pack(ranked(a, b), 99, rules=rules, pricing=Pricing(Words())).kept == (a,)


def test_a_quota_is_freed_by_what_gives_way_to_a_text_that_holds_it_s6_f9() -> None:
    part = fragment("C.m", 30, "def m(self): pass", resource="f")
    whole = fragment("C", 60, "class C:\n  def m(self): pass", resource="f")
    for quota, kept in ((60, ["C"]), (59, ["C.m"])):
        rules = PackingRules(tier_budget={"warm": quota})
        assert nodes(pack(ranked(part, whole), 1_000, rules=rules).kept) == kept
    cold = part.model_copy(update={"tier": "cold"})
    rules = PackingRules(tier_budget={"warm": 59})
    assert nodes(pack(ranked(cold, whole), 1_000, rules=rules).kept) == ["C.m"]


# --- lower renderings


def test_a_lower_rendering_from_the_pool_is_read_in_place_of_a_misfit_f4() -> None:
    """D1-20."""
    deep, low = fragment("n", 900), fragment("n", 60, detail_depth=5, resource="other")
    packing = pack(ranked(deep), 100, alternatives={("n", ""): [low]})
    assert packing.kept == (low,)
    assert packing.drawn == {id(low)}
    entry = entry_of(packing, "n")
    assert (entry.fragment_id, entry.other) == (deep.fragment_id, low.fragment_id)
    assert (entry.reason, entry.needed, entry.had) == (LeftOut.OVER_BUDGET, 900, 100)


@pytest.mark.parametrize(
    ("steps", "budget", "depth"),
    [
        ((9, 4, 2, 0), 70, 6),
        ((9, 4, 2, 0), 50, 4),
        ((9, 4, 2, 0), 30, 2),
        ((4, 2, 0), 70, 4),
        ((0, 4), 70, 0),
        ((), 70, None),
    ],
)
def test_each_step_stands_for_the_deepest_rendering_at_or_below_it_f3(
    steps: tuple[int, ...], budget: int, depth: int | None
) -> None:
    """F3.steps, F4."""
    texts = {0: 10, 2: 30, 4: 50, 6: 70, 9: 90}
    source = Renderings(n={d: " ".join([f"d{d}"] * size) for d, size in texts.items()})
    full = fragment("n", 90, relevance_score=0.7, metadata={"k": "v"})
    packer = BudgetPacker(depth_fallback_steps=steps, renderings=source)
    packed = packer.pack(ranked(full), budget)
    assert [f.detail_depth for f in packed] == ([] if depth is None else [depth])
    for lower in packed:
        changed = {"content", "detail_depth", "token_count"}
        assert lower.model_dump(exclude=changed) == full.model_dump(exclude=changed)
        assert lower.token_count == texts[lower.detail_depth]


def test_renderings_below_the_least_size_are_not_read_but_small_fragments_are_f3() -> None:
    """F3.least."""
    source = Renderings(n={0: "a b c", 9: "x " * 90})
    assert BudgetPacker(renderings=source).pack(ranked(fragment("n", 90)), 50) == []
    small = BudgetPacker(renderings=source, min_fragment_tokens=3)
    assert [f.content for f in small.pack(ranked(fragment("n", 90)), 50)] == ["a b c"]
    tiny = fragment("tiny", 2)
    assert BudgetPacker().pack(ranked(tiny), 50) == [tiny]


def test_the_larger_of_pool_and_source_is_read_and_the_pool_wins_a_tie() -> None:
    source = Renderings(n={2: "s " * 20, 4: "s " * 30})
    low = fragment("n", 25, detail_depth=3)
    same = fragment("n", 25, detail_depth=4)
    for pool, content in (([low], "s " * 30), ([same], same.content), ([], "s " * 30)):
        packing = pack(
            ranked(fragment("n", 90)), 40, alternatives={("n", ""): pool}, renderings=source
        )
        assert [f.content for f in packing.kept] == [content]


def test_each_depth_is_tried_once() -> None:
    source = Renderings(n={3: "s " * 20, 9: "x " * 90})
    lower = LowerRenderings(steps=(9, 4, 4, 3, 2), min_tokens=1, source=source)
    assert [low.fragment.detail_depth for low in lower.of(fragment("n", 90))] == [3]


def test_a_source_that_gives_all_renderings_at_once_is_asked_once_for_a_node_f4() -> None:
    class Listing(Renderings):
        def below(self, node: str, depth: int) -> list[Rendering]:
            listed.append((node, depth))
            return [
                r for d in self.depths(node) if d < depth and (r := Renderings.at(self, node, d))
            ]

        def at(self, node: str, depth: int) -> Rendering | None:
            raise AssertionError("asked again")

    texts = {2: "s " * 20, 4: "s " * 30, 9: "x " * 90}
    listed: list[tuple[str, int]] = []
    lower = LowerRenderings(steps=(9, 4, 3, 2), min_tokens=1, source=Listing(n=texts))
    whole = fragment("n", 90)
    found = [(low.fragment.detail_depth, low.fragment.content) for low in lower.of(whole)]
    assert found == [(4, "s " * 30), (2, "s " * 20)]
    assert listed == [("n", 9)]


def test_the_ledger_names_the_cheapest_rendering_that_was_tried_f7() -> None:
    source = Renderings(n={0: "a " * 20, 9: "x " * 90})
    packing = pack(ranked(fragment("n", 90)), 15, renderings=source)
    entry = entry_of(packing, "n")
    assert (entry.needed, entry.had) == (20, 15)


def test_renderings_are_not_fetched_once_the_budget_is_full() -> None:
    """D4-34, D4-82."""
    source = Renderings(**{f"n{i}": {0: "a " * 10, 9: "x " * 20} for i in range(50)})
    found = [fragment(f"n{i}", 20) for i in range(50)]
    packing = pack(ranked(*found), 45, renderings=source)
    assert len(packing.kept) == 2
    assert source.asked == 0


# --- containment


def test_a_text_inside_a_packed_one_of_the_same_resource_is_left_out_f9() -> None:
    whole = fragment("C", 50, "class C:\n    def m(self):\n        pass\n", resource="f")
    part = fragment("C.m", 20, "    def m(self):\n        pass", resource="f")
    stranger = fragment("D.m", 20, "    def m(self):\n        pass", resource="g")
    packing = pack(ranked(whole, part, stranger), 1_000)
    assert nodes(packing.kept) == ["C", "D.m"]
    entry = entry_of(packing, "C.m")
    assert (entry.reason, entry.other) == (LeftOut.CONTAINED, whole.fragment_id)


def test_a_contained_text_is_called_contained_even_when_it_would_not_fit() -> None:
    whole = fragment("C", 50, "one two three", resource="f")
    part = fragment("C.m", 900, "two", resource="f")
    assert reasons(pack(ranked(whole, part), 60)) == {"C.m": LeftOut.CONTAINED}


def test_line_ends_and_blank_edges_do_not_hide_a_contained_text_f9_crlf_twins() -> None:
    whole = fragment("C", 50, "a\nb\nc", resource="f")
    part = fragment("C.m", 20, "\r\na\r\nb\r\n\r\n", resource="f")
    assert nodes(pack(ranked(whole, part), 1_000).kept) == ["C"]


def test_equal_texts_of_two_nodes_stay_two_f1() -> None:
    """F1.uris."""
    twins = [fragment(name, 5, "the same", resource="f") for name in "ab"]
    assert pack(ranked(*twins), 100).kept == tuple(twins)


@pytest.mark.parametrize(
    ("outer", "inner", "inside"),
    [
        ("fragment 10", "fragment 1", False),
        ("fragment 10, fragment 1, fragment 2", "fragment 1", True),
        ("unpacked", "packed", False),
        ("un-packed", "packed", True),
        ("床前明月光疑是地上霜", "明月", True),
        ("x" * 1_000, "x" * 500, False),
        ("text", "", False),
        ("text", "text", False),
    ],
)
def test_a_part_of_a_word_is_not_a_part_of_a_text(outer: str, inner: str, inside: bool) -> None:
    assert contains(outer, inner) is inside


def test_a_text_replaces_the_packed_ones_it_contains_f9() -> None:
    parts = [fragment(f"C.{i}", 30, f"def m{i}(self): pass", resource="f") for i in range(2)]
    other = fragment("D", 30, "def d(): pass", resource="f")
    whole = fragment("C", 65, "class C:\n" + "\n".join(p.content for p in parts), resource="f")
    packing = pack(ranked(parts[0], other, parts[1], whole), 100)
    assert nodes(packing.kept) == ["D", "C"]
    assert {e.uko_node: (e.reason, e.other) for e in packing.left_out} == {
        part.uko_node: (LeftOut.CONTAINED, whole.fragment_id) for part in parts
    }


def test_a_text_that_does_not_fit_in_place_of_its_parts_is_read_lower_f9() -> None:
    part = fragment("C.m", 30, "def m(self): pass", resource="f")
    whole = fragment("C", 200, "class C:\n  def m(self): pass\n  # more", resource="f")
    outline = "class C has a method m and many words more"
    packing = pack(ranked(part, whole), 42, renderings=Renderings(C={2: outline + " or so"}))
    assert [f.content for f in packing.kept] == [part.content, outline + " or so"]
    assert packing.left_out == ()


def test_a_lower_rendering_that_is_read_already_is_contained() -> None:
    part = fragment("C.m", 30, "class C: def m(self): a b c d e f g", resource="f")
    whole = fragment("C", 200, "class C: many words", resource="f")
    source = Renderings(C={2: "def m(self): a b c d e f g"})
    packing = pack(
        ranked(part, whole), 60, rules=PackingRules(min_fragment_tokens=1), renderings=source
    )
    assert reasons(packing) == {"C": LeftOut.CONTAINED}


sentences = st.lists(
    st.sampled_from(["a", "b", "c,", "(d)", "e-e\n", "f."]), min_size=1, max_size=12
).map(" ".join)


OTHERS = tuple(f"unrelated passage {n}" for n in range(150))  # more than are compared one by one


@given(st.lists(sentences, min_size=20, max_size=40, unique=True), st.data())
def test_an_index_of_many_texts_finds_what_comparing_each_would_find_f9(
    texts: list[str], data: Any
) -> None:
    one, other = (data.draw(st.sampled_from(texts)) for _ in range(2))
    start = data.draw(st.integers(0, len(one) - 1))
    end = data.draw(st.integers(start, len(one)))
    text = data.draw(st.sampled_from([one[start:end], f"({one}) {other}"]))
    texts = [*texts[:10], *OTHERS, *texts[10:]]
    fragments = {n: fragment(str(n), 1, text, resource="f") for n, text in enumerate(texts)}
    packed = PackedTexts(fragments)
    for number, added in fragments.items():
        packed.compare(added)
        packed.add(number, added)
    packed.remove(3, fragment("3", 1, texts[3], resource="f"))
    known = {n: passage(t) for n, t in enumerate(texts) if n != 3}
    outer = [n for n, holder in known.items() if contains(holder, passage(text))]
    inner = [n for n, part in known.items() if contains(passage(text), part)]
    found, held = packed.compare(fragment("x", 1, text, resource="f"))
    assert found == (outer[0] if outer else None)
    assert list(held) == ([] if outer else inner)


# --- the text that is read


def test_a_bare_text_that_fits_exactly_is_packed_s4() -> None:
    """S4.layout."""
    found = [fragment("a", 3, "one two three"), fragment("b", 2, "four five")]
    assert pack(ranked(*found), 5, pricing=Pricing(Words(), layout="bare")).kept == tuple(found)
    packing = pack(ranked(*found), 4, pricing=Pricing(Words(), layout="bare"))
    assert packing.kept == (found[0],)
    assert packing.rendered_tokens == 3


def test_there_is_one_separator_fewer_than_texts_s4() -> None:
    found = [fragment("a", 3, "abc"), fragment("b", 2, "de")]
    for budget, kept in ((3, 1), (6, 1), (7, 2)):
        packing = pack(ranked(*found), budget, pricing=Pricing(Characters(), layout="bare"))
        assert len(packing.kept) == kept
    alone = pack(ranked(found[0]), 2, pricing=Pricing(Characters(), layout="bare"))
    assert (entry_of(alone, "a").needed, entry_of(alone, "a").had) == (3, 2)


def test_headers_are_priced_in_the_payload_layout_s4() -> None:
    """S4.layout."""
    found = [fragment("a", 3, "one two three"), fragment("b", 2, "four five")]
    assert len(pack(ranked(*found), 9, pricing=Pricing(Words())).kept) == 2
    packing = pack(ranked(*found), 8, pricing=Pricing(Words()))
    assert packing.kept == (found[0],)
    assert packing.rendered_tokens == 5
    entry = entry_of(packing, "b")
    assert (entry.needed, entry.had) == (4, 3)


def test_honest_counts_are_verified_by_counting_the_finished_text_once_s4() -> None:
    counter = Words()
    found = [fragment(f"n{i}", 4, f"some text of n{i}") for i in range(20)]
    packing = pack(ranked(*found), 33, pricing=Pricing(counter))
    assert len(packing.kept) == 5
    finished = render(packing.kept)
    headers = {header(f) + "\n" for f in found}
    texts = [text for text in counter.texts if text.strip() and text not in headers]
    assert texts == [finished]


def test_a_text_whose_declared_count_is_too_large_is_never_counted_s4() -> None:
    counter = Words()
    big = fragment("big", 900, "short")
    packing = pack(ranked(big, fragment("a", 2, "a b")), 20, pricing=Pricing(counter))
    assert nodes(packing.kept) == ["a"]
    assert "short" not in " ".join(counter.texts)


def test_a_count_declared_too_small_does_not_help_a_text_in_s4() -> None:
    """S4.declared."""
    liar = fragment("liar", 1, "word " * 50)
    honest = fragment("honest", 4, "just four words here")
    packing = pack(ranked(liar, honest), 30, pricing=Pricing(Words()))
    assert nodes(packing.kept) == ["honest"]
    assert packing.rendered_tokens == 6
    entry = entry_of(packing, "liar")
    assert (entry.needed, entry.had) == (52, 30)


def test_many_counts_declared_too_small_count_few_texts() -> None:
    counter = Words()
    liars = [fragment(f"n{i}", 0, "word " * 50) for i in range(30)]
    packing = pack(ranked(*liars), 120, pricing=Pricing(counter))
    assert nodes(packing.kept) == ["n0", "n1"]
    assert all(len(text) < 3 * 300 for text in counter.texts)


def test_a_count_declared_too_large_counts_as_declared_s4() -> None:
    """S4.declared."""
    found = [fragment("a", 10, "one"), fragment("b", 10, "two")]
    assert pack(ranked(*found), 20, pricing=Pricing(Words())).kept == tuple(found)
    assert pack(ranked(*found), 19, pricing=Pricing(Words())).kept == (found[0],)


def test_a_count_declared_too_large_counts_as_declared_among_liars_too_s4() -> None:
    liar = fragment("liar", 1, "word " * 50)
    modest = [fragment("a", 10, "one"), fragment("b", 10, "two")]
    packing = pack(ranked(liar, *modest), 19, pricing=Pricing(Words(), layout="bare"))
    assert nodes(packing.kept) == ["a"]


def test_when_joins_alone_make_the_text_too_long_the_last_one_gives_way_s4() -> None:
    found = [fragment(f"n{i}", 1, "abcdefg") for i in range(6)]
    pricing = Pricing(Quarters(), layout="bare")
    packing = pack(ranked(*found), 9, pricing=pricing)
    # seven characters count 1 alone, but four texts with their separators count 8, five 10
    assert len(packing.kept) == 4
    assert packing.rendered_tokens == 8
    entry = entry_of(packing, "n4")
    assert (entry.reason, entry.needed, entry.had) == (LeftOut.OVER_BUDGET, 1, 0)


class Joins(Words):
    """Counts a separator and a line end before it as one."""

    def count(self, text: str) -> int:
        joined = text.count("\n\n\n")
        return len(text.split()) + text.count("\n") - 2 * joined


def test_what_joins_save_is_filled_as_well_s4() -> None:
    found = [fragment(f"n{i}", 3, f"one two{i}\n") for i in range(5)]
    pricing = Pricing(Joins(), layout="bare")
    # 3 each and 2 for each separator by itself, but 1 for a separator after a line end
    packing = pack(ranked(*found), 15, pricing=pricing)
    assert len(packing.kept) == 4
    assert packing.rendered_tokens == Joins().count(render(packing.kept, layout="bare")) <= 15


def test_the_text_is_counted_in_the_order_in_which_it_will_be_read_s4() -> None:
    counter = Words()
    found = [fragment("a", 1, "one"), fragment("b", 1, "two")]
    pricing = Pricing(counter, layout="bare", arrange=lambda kept: reversed(kept))
    pack(ranked(*found), 10, pricing=pricing)
    assert "two\n\none" in counter.texts


texts = st.lists(st.sampled_from(["a", "bb", "c d", "e\n\nf", "=== g"]), min_size=1, max_size=8)
pieces = st.tuples(texts.map(" ".join), st.integers(0, 12), st.sampled_from(["f", "g", "h"]))


@given(
    st.lists(pieces, max_size=12),
    st.integers(0, 40),
    st.sampled_from(["payload", "bare"]),
    st.sampled_from([Words(), Quarters()]),
    st.booleans(),
)
def test_no_text_ever_exceeds_its_budget_and_every_candidate_is_accounted_for_s4_f7(
    parts: list[Any], available: int, layout: Any, counter: Any, sources: bool
) -> None:
    found = [fragment(f"n{i}", t, text, resource=r) for i, (text, t, r) in enumerate(parts)]
    source = Renderings(**{f.uko_node: {0: "x", 2: "x y z"} for f in found}) if sources else None
    packing = pack(
        ranked(*found),
        available,
        rules=PackingRules(min_fragment_tokens=1),
        pricing=Pricing(counter, layout=layout),
        renderings=source,
    )
    assert counter.count(render(packing.kept, layout=layout)) == packing.rendered_tokens
    assert packing.rendered_tokens <= available
    assert sum(f.token_count for f in packing.kept) <= available
    accounted = [f.fragment_id for f in packing.kept] + [e.fragment_id for e in packing.left_out]
    assert Counter(accounted) == Counter(f.fragment_id for f in found)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 60), st.booleans())
def test_as_many_tokens_more_as_the_ledger_says_admit_another_one_f7(
    sizes: list[int], available: int, counts: bool
) -> None:
    """F7.next."""
    found = [fragment(f"n{i}", size, "w " * size) for i, size in enumerate(sizes)]

    def packed(budget: int) -> Packing:
        return pack(ranked(*found), budget, pricing=Pricing(Words() if counts else None))

    before = packed(available)
    gaps = [entry.needed - entry.had for entry in before.left_out]  # type: ignore[operator]
    if gaps:
        after = packed(available + min(gaps))
        assert set(nodes(after.kept)) - set(nodes(before.kept))
        assert min(gaps) == 1 or nodes(packed(available + min(gaps) - 1).kept) == nodes(before.kept)


def test_lower_renderings_can_wait_until_all_that_fits_whole_was_admitted() -> None:
    """F3, F4: a whole text that is ranked lower then comes before an outline of a misfit."""
    big = ContextFragment(uko_node="big", content="x " * 90, token_count=90, relevance_score=0.9)
    outline = ContextFragment(
        uko_node="big", content="x " * 20, token_count=20, detail_depth=4, relevance_score=0.9
    )
    small = ContextFragment(uko_node="small", content="y " * 30, token_count=30)
    scored = [(big, 0.9), (small, 0.5)]
    alternatives = {place(big): (outline,)}
    for last, room, nodes in (
        (False, 40, ["big"]),
        (True, 40, ["small"]),
        (True, 50, ["small", "big"]),
    ):
        packing = pack(
            scored, room, rules=PackingRules(fallback_last=last), alternatives=alternatives
        )
        assert [fragment.uko_node for fragment in packing.kept] == nodes
        kept = {id(fragment) for fragment in packing.kept}
        left = {entry.fragment_id for entry in packing.left_out}
        assert left == {f.fragment_id for f, _ in scored if id(f) not in kept}


def test_what_waits_for_a_lower_rendering_is_accounted_for_when_there_are_enough() -> None:
    big = ContextFragment(uko_node="big", content="x " * 90, token_count=90, relevance_score=0.9)
    small = ContextFragment(uko_node="small", content="y " * 30, token_count=30)
    other = ContextFragment(uko_node="other", content="z " * 30, token_count=30)
    rules = PackingRules(fallback_last=True, max_fragments=1)
    packing = pack([(big, 0.9), (small, 0.5), (other, 0.4)], 50, rules=rules, renderings=None)
    assert [fragment.uko_node for fragment in packing.kept] == ["small"]
    assert {entry.uko_node for entry in packing.left_out} == {"big", "other"}
