"""The assembled context and its derived figures (rulings M9, M10, S4, K4)."""

import copy
import hashlib
import json
import pickle
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    FragmentProvenance,
    Ledger,
    LedgerEntry,
    LeftOut,
    SkeletonMetadata,
    StrategyFailure,
)
from acms_adapters.models.payload import payload_metrics

BUDGET = ContextBudget(max_tokens=4096, reserved_tokens=512)


def fragment(name: str = "a", tokens: int = 10, **fields: Any) -> ContextFragment:
    fields.setdefault("content", f"text of {name}")
    return ContextFragment(uko_node=f"project://app/{name}", token_count=tokens, **fields)


def payload(*fragments: ContextFragment, **fields: Any) -> ContextPayload:
    return ContextPayload(fragments=fragments, **fields)


class TestDerived:
    def test_m10_only_fragments_are_required(self) -> None:
        """D4-18, D4-19, D4-20, D4-21, D4-59."""
        made = ContextPayload(fragments=[fragment("a", 10), fragment("b", 20)])
        assert made.total_tokens == made.rendered_tokens == made.available_tokens == 30
        assert made.budget_used == 1.0
        assert made.remaining_tokens == 0
        assert made.is_within_budget
        assert set(made.provenance_map) == {f.fragment_id for f in made.fragments}
        assert (made.plan_id, made.preamble, made.strategies_used) == (None, "", ())
        assert (made.layout, made.degraded, made.failures) == ("payload", False, ())
        assert (made.skeleton_ids, made.skeleton_metadata) == ((), None)
        assert len(made.ledger) == 0
        assert made.assembled_at.tzinfo is UTC
        assert made.payload_id != ContextPayload(fragments=()).payload_id

    def test_m10_2048_of_3584_tokens_are_57_percent(self) -> None:
        """M10.used, D4-22."""
        made = payload(fragment(tokens=2048), budget=BUDGET, budget_used=0.57)
        assert made.budget_used == 2048 / 3584
        assert made.remaining_tokens == 1536

    def test_nothing_at_all_is_a_payload_with_finite_figures(self) -> None:
        made = payload()
        assert (made.total_tokens, made.budget_used, made.render()) == (0, 0.0, "")
        assert made.is_within_budget
        json.dumps(made.metrics, allow_nan=False)

    def test_s4_the_larger_count_decides_what_remains(self) -> None:
        """S4.larger, D4-21."""
        made = payload(fragment(tokens=90), budget=100, rendered_tokens=101)
        assert (made.total_tokens, made.remaining_tokens) == (90, -1)
        assert not made.is_within_budget
        assert payload(fragment(tokens=101), budget=100, rendered_tokens=1).remaining_tokens == -1
        assert payload(fragment(tokens=90), budget=100, rendered_tokens=100).is_within_budget

    def test_s3_a_number_is_a_budget(self) -> None:
        """S3.int."""
        assert payload(fragment(), budget=50).budget == ContextBudget(max_tokens=50)
        with pytest.raises(ValueError, match="budget"):
            payload(fragment(), budget=0)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("total_tokens", 11),
            ("total_tokens", 0),
            ("total_tokens", -1),
            ("rendered_tokens", -1),
            ("budget_used", 0.5),
            ("budget_used", -1.0),
            ("budget_used", float("nan")),
            ("provenance_map", {"other": FragmentProvenance(resource_uri="r")}),
            ("context_hash", "abc123"),
            ("skeleton_ids", ("nobody",)),
            ("available_tokens", 99),
            ("remaining_tokens", 99),
            ("is_within_budget", False),
            ("layout", "html"),
            ("unknown", 1),
        ],
    )
    def test_m10_a_value_that_contradicts_the_others_is_refused(
        self, field: str, value: Any
    ) -> None:
        """M10.contradiction, D4-20."""
        with pytest.raises(ValueError, match=field):
            payload(fragment(tokens=10), budget=100, **{field: value})

    def test_m10_values_that_agree_are_accepted(self) -> None:
        one = fragment(tokens=10)
        made = payload(one, budget=100)
        again = payload(
            one,
            budget=100,
            total_tokens=10,
            budget_used=0.1,
            provenance_map={one.fragment_id: one.provenance},
            context_hash=made.context_hash,
            available_tokens=100,
            remaining_tokens=90,
            is_within_budget=True,
        )
        assert again.context_hash == made.context_hash

    def test_k4_inherited_fragments_come_out_as_skeleton_fragments(self) -> None:
        """K4.receipt."""
        own, old = fragment("own"), fragment("old")
        made = payload(own, old, skeleton_ids=[old.fragment_id])
        assert made.skeleton_fragments == (old,)
        assert made.total_tokens == 20


class TestHash:
    def test_m9_it_is_sha_256_in_hexadecimal(self) -> None:
        made = payload(fragment())
        assert len(made.context_hash) == len(hashlib.sha256().hexdigest())
        int(made.context_hash, 16)

    def test_m9_ids_and_clocks_do_not_change_it(self) -> None:
        early = fragment(created_at=datetime(2020, 1, 1))
        late = fragment(created_at=datetime(2024, 1, 1), relevance_score=0.1, tier="hot")
        hashes = {
            payload(early).context_hash,
            payload(early, plan_id="p", assembled_at=datetime(2020, 1, 1)).context_hash,
            payload(late).context_hash,
        }
        assert len(hashes) == 1

    def test_m9_whatever_is_read_or_the_budget_changes_it(self) -> None:
        one, two = fragment("a"), fragment("b")
        made = [
            payload(one, two, budget=100),
            payload(two, one, budget=100),
            payload(one, budget=100),
            payload(one, two, budget=101),
            payload(one, two, budget=ContextBudget(max_tokens=101, reserved_tokens=1)),
            payload(one, two, budget=100, preamble="Context"),
            payload(one, two, budget=100, layout="bare"),
            payload(one, fragment("b", content="other"), budget=100),
            payload(one, two.model_copy(update={"detail_depth": 4}), budget=100),
        ]
        assert len({p.context_hash for p in made}) == len(made)

    def test_m9_every_process_derives_the_same_one(self) -> None:
        """M9.process."""
        code = (
            "from acms_adapters.models import *\n"
            "f = ContextFragment(uko_node='n', content='x\\ud83d é', token_count=3,"
            " metadata={'b': 1, 'a': {2, 3}})\n"
            "print(ContextPayload(fragments=[f], budget=50, preamble='p').context_hash)"
        )
        hashes = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={"PYTHONHASHSEED": seed, "PATH": ""},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for seed in ("0", "1", "2")
        }
        here = ContextFragment(uko_node="n", content="x\ufffd é", token_count=3)
        assert hashes == {payload(here, budget=50, preamble="p").context_hash}


class TestMetrics:
    EVERY = frozenset(
        {
            "payload_id",
            "plan_id",
            "assembly_time_ms",
            "fragments_selected",
            "fragments_total",
            "coverage",
            "tokens_used",
            "budget_used",
            "remaining_tokens",
            "strategies_used",
            "avg_fragment_tokens",
            "avg_relevance",
            "strategy_success_rate",
            "dedup_ratio",
            "tier_distribution",
        }
    )

    def test_m10_it_holds_each_documented_figure_once(self) -> None:
        """M10.metrics, D4-64, D4-65, D4-66, D5-55, D5-56, D5-59."""
        left = LedgerEntry.of(fragment("c"), LeftOut.OVER_BUDGET, needed=5, had=1)
        made = payload(
            fragment("a", 10, relevance_score=0.9, tier="hot"),
            fragment("b", 30, relevance_score=0.5),
            budget=80,
            plan_id="plan-1",
            strategies_used=("arce",),
            ledger=Ledger(entries=(left, left)),
        )
        assert made.metrics == {
            "payload_id": made.payload_id,
            "plan_id": "plan-1",
            "assembly_time_ms": 0.0,
            "fragments_selected": 2,
            "fragments_total": 4,
            "coverage": 0.5,
            "tokens_used": 40,
            "budget_used": 0.5,
            "remaining_tokens": 40,
            "strategies_used": ["arce"],
            "avg_fragment_tokens": 20.0,
            "avg_relevance": pytest.approx(0.7),
            "strategy_success_rate": 0.0,
            "dedup_ratio": 0.0,
            "tier_distribution": {"hot": 1, "warm": 1, "cold": 0},
        }
        assert made.metrics.keys() == self.EVERY

    def test_m10_they_are_zero_where_nothing_was_selected(self) -> None:
        """M10.metrics."""
        metrics = payload().metrics
        assert metrics.keys() == self.EVERY
        for name in ("coverage", "avg_fragment_tokens", "avg_relevance", "dedup_ratio"):
            assert metrics[name] == 0.0

    def test_figures_of_the_assembly_are_given(self) -> None:
        """D4-64, D5-55, D5-57, D5-58."""
        metrics = payload_metrics(
            payload(fragment()),
            fragments_total=45,
            duplicates=9,
            assembly_time_ms=234.0,
            strategy_success_rate=0.5,
        )
        assert (metrics["fragments_total"], metrics["dedup_ratio"]) == (45, 0.2)
        assert (metrics["assembly_time_ms"], metrics["strategy_success_rate"]) == (234.0, 0.5)
        assert metrics["coverage"] == pytest.approx(1 / 45)


class TestStorage:
    FULL = payload(
        fragment("a", 10, metadata={"decision_id": "D1", "tags": ["x", {"y": None}]}),
        fragment("b", 20, detail_depth=4, tier="cold"),
        budget=BUDGET,
        plan_id="plan-1",
        rendered_tokens=55,
        strategies_used=("arce", "simple-keyword"),
        preamble="Context includes 2 fragments…",
        failures=(StrategyFailure(strategy="x", kind="timeout", message="30 s"),),
        ledger=Ledger(
            entries=(LedgerEntry.of(fragment("c"), LeftOut.OVER_BUDGET, needed=5, had=1),)
        ),
        skeleton_metadata=SkeletonMetadata(ratio=0.5, original_tokens=20, compressed_tokens=10),
    )

    def test_it_survives_json_equal(self) -> None:
        loaded = ContextPayload.model_validate_json(self.FULL.model_dump_json())
        assert loaded == self.FULL
        assert loaded.render() == self.FULL.render()

    def test_it_survives_dicts_pickle_and_copying_equal(self) -> None:
        assert ContextPayload(**self.FULL.model_dump()) == self.FULL
        assert ContextPayload.model_validate(self.FULL.model_dump(mode="json")) == self.FULL
        assert pickle.loads(pickle.dumps(self.FULL)) == self.FULL
        assert copy.deepcopy(self.FULL) == self.FULL

    def test_m10_the_dump_holds_what_is_computed(self) -> None:
        """M10.available, D5-51."""
        dumped = json.loads(self.FULL.model_dump_json())
        assert dumped["available_tokens"] == dumped["budget"]["available_tokens"] == 3584
        assert (dumped["remaining_tokens"], dumped["is_within_budget"]) == (3529, True)

    def test_a_dump_that_was_tampered_with_is_refused(self) -> None:
        dumped = self.FULL.model_dump(mode="json")
        dumped["fragments"][0]["content"] = "forged"
        with pytest.raises(ValueError, match="context_hash"):
            ContextPayload.model_validate(dumped)

    def test_it_cannot_be_changed(self) -> None:
        with pytest.raises(ValueError, match="frozen"):
            self.FULL.fragments = ()  # type: ignore[misc]

    @given(
        st.lists(
            st.tuples(
                st.text(st.characters(exclude_categories=[]), max_size=20),
                st.integers(0, 100),
                st.floats(0, 1),
                st.sampled_from(["hot", "warm", "cold"]),
            ),
            max_size=4,
        ),
        st.integers(1, 300),
    )
    def test_any_payload_survives_json_equal(self, rows: list[Any], budget: int) -> None:
        made = payload(
            *(
                fragment(str(i), tokens, content=text, relevance_score=score, tier=tier)
                for i, (text, tokens, score, tier) in enumerate(rows)
            ),
            budget=budget,
        )
        assert ContextPayload.model_validate_json(made.model_dump_json()) == made


class TestSkeletonMetadata:
    def test_it_holds_four_figures(self) -> None:
        """D2-20."""
        made = SkeletonMetadata(ratio=0.3, original_tokens=10, compressed_tokens=7)
        assert made.model_dump() == {
            "ratio": 0.3,
            "original_tokens": 10,
            "compressed_tokens": 7,
            "source_decision_ids": (),
        }

    @pytest.mark.parametrize(
        "change",
        [
            {"ratio": -0.1},
            {"ratio": 1.1},
            {"ratio": float("nan")},
            {"original_tokens": -1},
            {"compressed_tokens": -1},
            {"source_decision_ids": "01HX"},
            {"unknown": 1},
        ],
    )
    def test_a_figure_outside_its_range_is_refused(self, change: dict[str, Any]) -> None:
        fields = {"ratio": 0.3, "original_tokens": 10, "compressed_tokens": 7, **change}
        with pytest.raises(ValueError, match=next(iter(change))):
            SkeletonMetadata(**fields)
