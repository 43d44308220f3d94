"""What a temporal backend must do (rulings M5, M8, T1 to T3)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import ClassVar

import pytest

from acms_adapters.models import Decision, Plan, SearchHit, Tier
from acms_adapters.protocols import TemporalBackend
from acms_adapters.testing.clock import START, Clock
from acms_adapters.testing.filters import KINDS
from acms_adapters.testing.suite import Suite, in_threads, needs


class TemporalBackendCompliance(Suite, ABC):
    """Subclass it and say how an empty backend is made that reads a clock.

    Capabilities: ``as_of`` (shows the past as it stood), ``supersedes`` (a decision ends another).
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"as_of", "supersedes"})

    @abstractmethod
    def make_backend(self, clock: Callable[[], datetime]) -> TemporalBackend:
        """A backend without any record."""

    @cached_property
    def clock(self) -> Clock:
        """What the backend reads the time from."""
        return Clock()

    @cached_property
    def backend(self) -> TemporalBackend:
        """The backend of a case, made when it is first asked."""
        return self.make_backend(self.clock)

    @cached_property
    def said(self) -> dict[str, list[str]]:
        """What was decided, by the id of the decision."""
        return {}

    def _plan(self, title: str, *, parent: str | None = None) -> Plan:
        plan = Plan(title=title, plan_id=title, parent=parent, created_at=self.clock())
        self.backend.record(plan)
        return plan

    def _decide(
        self,
        text: str,
        *,
        plan: str = "plan",
        supersedes: str | None = None,
        key: str | None = None,
    ) -> Decision:
        decision = Decision(
            plan_id=plan,
            text=text,
            decision_id=key or f"decision-{text}",
            supersedes=supersedes,
            decided_at=self.clock(),
        )
        self.backend.record(decision)
        self.said.setdefault(decision.decision_id, []).append(text)
        return decision

    def _texts(
        self,
        tier: Tier = "warm",
        *,
        window: str | None = None,
        plan_ids: Sequence[str] | None = None,
        as_of: datetime | None = None,
        limit: int | None = None,
    ) -> list[str]:
        hits = self.backend.query_by_tier(
            tier,
            window=window,
            plan_ids=plan_ids,
            as_of=as_of,
            limit=limit,
            resource_types=("decision",),
        )
        return [self._text(hit) for hit in hits]

    def _text(self, hit: SearchHit) -> str:
        content = hit.content or ""
        texts = self.said.get(hit.metadata["decision_id"], [content])
        return next(text for text in texts if text in content)

    def test_b1_it_is_a_temporal_backend(self) -> None:
        assert isinstance(self.backend, TemporalBackend)

    def test_nothing_is_found_before_anything_is_recorded(self) -> None:
        tiers: tuple[Tier, ...] = ("hot", "warm", "cold")
        assert [self._texts(tier) for tier in tiers] == [[], [], []]
        assert self.backend.plan("nobody") is None
        assert list(self.backend.ancestors("nobody")) == []
        assert self.backend.archive("nobody") == 0

    def test_t3_decisions_of_a_living_plan_are_warm(self) -> None:
        self._plan("plan")
        self._decide("one")
        assert self._texts("warm") == ["one"]
        assert self._texts("cold") == []

    def test_m1_a_decision_says_whose_it_is(self) -> None:
        self._plan("plan")
        decision = self._decide("one")
        (hit,) = self.backend.query_by_tier("warm", resource_types=("decision",))
        assert hit.metadata["decision_id"] == decision.decision_id
        assert hit.metadata["plan_id"] == "plan"
        assert hit.created_at == decision.decided_at
        assert hit.tier == "warm"
        assert hit.provenance is not None
        assert hit.provenance.resource_type == "decision"

    def test_m5_a_plan_comes_back_with_its_decisions(self) -> None:
        plan = self._plan("plan").record_decision("one", decided_at=self.clock())
        self.backend.record(plan)
        self.clock.move(days=1)
        second = self._decide("two")
        kept = self.backend.plan("plan")
        assert kept is not None
        assert (kept.title, kept.status) == ("plan", "active")
        assert kept.decisions == (*plan.decisions, second)
        assert self._texts() == ["two", "one"]

    def test_b3_the_same_id_replaces_what_was_recorded(self) -> None:
        self._plan("plan")
        for text in ("one", "two"):
            self._decide(text, key="same")
        assert self._texts() == ["two"]
        self.backend.record(Plan(title="renamed", plan_id="plan", created_at=START))
        kept = self.backend.plan("plan")
        assert kept is not None
        assert kept.title == "renamed"

    def test_the_newest_comes_first_and_a_limit_keeps_it(self) -> None:
        self._plan("plan")
        for text in ("one", "two", "three"):
            self._decide(text)
            self.clock.move(days=1)
        assert self._texts() == ["three", "two", "one"]
        assert self._texts(limit=2) == ["three", "two"]
        assert self._texts(limit=0) == []

    def test_only_decisions_of_wanted_plans_are_found(self) -> None:
        for plan in ("p", "q", "r"):
            self._plan(plan)
            self._decide(plan, plan=plan)
        assert sorted(self._texts(plan_ids=["p", "r"])) == ["p", "r"]
        assert self._texts(plan_ids=["nobody"]) == []

    @pytest.mark.parametrize(
        ("window", "number"),
        [
            ("1d", 1),
            ("7d", 2),
            ("7D", 2),
            ("5w", 3),
            ("2m", 4),
            ("1y", 5),
            ("all", 6),
            ("3000d", 6),
        ],
    )
    def test_t1_a_window_ends_now(self, window: str, number: int) -> None:
        self.clock.move(days=-500)
        self._plan("plan")
        ages = (400.0, 200.0, 50.0, 20.0, 3.0, 0.5)
        for age in ages:
            self.clock.now = START - timedelta(days=age)
            self._decide(f"{age}")
        self.clock.now = START
        assert self._texts(window=window) == [f"{age}" for age in reversed(ages)][:number]

    @pytest.mark.parametrize("window", ["7", "d", "0d", "-1d", "1h", "soon", "1.5d"])
    def test_t1_any_other_window_is_an_error_that_says_so(self, window: str) -> None:
        self._plan("plan")
        self._decide("one")
        with pytest.raises(ValueError, match="window"):
            self.backend.query_by_tier("warm", window=window)

    def test_t3_a_completed_plan_is_archived_to_the_cold_tier(self) -> None:
        for plan in ("done", "living"):
            self._plan(plan)
            self._decide(f"{plan} one", plan=plan)
        self._decide("done two", plan="done")
        self.clock.move(days=1)
        assert self.backend.archive("done") >= 2
        assert self._texts("warm") == ["living one"]
        assert sorted(self._texts("cold")) == ["done one", "done two"]
        kept = self.backend.plan("done")
        assert kept is not None
        assert (kept.status, len(kept.decisions)) == ("completed", 2)
        assert self.backend.archive("done") == 0

    @needs("supersedes")
    def test_t2_a_superseded_decision_is_no_longer_current(self) -> None:
        self._plan("plan")
        first = self._decide("one")
        self.clock.move(days=2)
        self._decide("two", supersedes=first.decision_id)
        assert self._texts() == ["two"]

    @needs("as_of", "supersedes")
    def test_t2_the_past_is_shown_as_it_stood(self) -> None:
        self._plan("plan")
        before = self.clock() - timedelta(days=1)
        first = self._decide("one")
        between = self.clock.move(days=2)
        self.clock.move(days=2)
        self._decide("two", supersedes=first.decision_id)
        after = self.clock.move(days=2)
        self.backend.archive("plan")
        self.clock.move(days=2)
        assert self._texts("warm", as_of=before) == []
        assert self._texts("warm", as_of=between) == ["one"]
        assert self._texts("warm", as_of=after - timedelta(days=1)) == ["two"]
        assert self._texts("warm") == []
        assert "two" in self._texts("cold")

    @needs("as_of")
    def test_t2_a_plan_is_shown_as_it_stood(self) -> None:
        self._plan("plan")
        self._decide("one")
        then = self.clock.move(days=1)
        self.clock.move(days=1)
        self._decide("two")
        self.backend.archive("plan")
        past, present = self.backend.plan("plan", as_of=then), self.backend.plan("plan")
        assert past is not None
        assert present is not None
        assert (past.status, len(past.decisions)) == ("active", 1)
        assert (present.status, len(present.decisions)) == ("completed", 2)
        assert self.backend.plan("plan", as_of=START - timedelta(days=1)) is None

    @needs("as_of")
    def test_t2_a_window_ends_at_the_moment_asked_for(self) -> None:
        self._plan("plan")
        self._decide("one")
        then = self.clock.move(days=10)
        self._decide("two")
        self.clock.move(days=100)
        assert self._texts(window="7d") == []
        assert self._texts(window="7d", as_of=then) == ["two"]
        assert self._texts(window="30d", as_of=then) == ["two", "one"]

    @needs("as_of")
    def test_m8_a_naive_moment_is_utc(self) -> None:
        self._plan("plan")
        self._decide("one")
        later = self.clock.move(days=1).replace(tzinfo=None)
        assert self._texts(as_of=later) == ["one"]
        assert self._texts(as_of=later - timedelta(days=2)) == []

    def test_ancestors_are_nearest_first(self) -> None:
        self._plan("root")
        self._plan("middle", parent="root")
        self._plan("leaf", parent="middle")
        assert list(self.backend.ancestors("leaf")) == ["middle", "root"]
        assert list(self.backend.ancestors("root")) == []

    def test_ancestors_end_on_a_cycle_and_where_a_parent_is_unknown(self) -> None:
        self._plan("a", parent="b")
        self._plan("b", parent="a")
        self._plan("self", parent="self")
        self._plan("orphan", parent="gone")
        assert list(self.backend.ancestors("a")) == ["b"]
        assert list(self.backend.ancestors("self")) == []
        assert list(self.backend.ancestors("orphan")) in ([], ["gone"])

    def test_text_of_any_kind_comes_back(self) -> None:
        text = 'keep "quotes", NUL \x00, 检索 and 🚀\r\n\tas they are'
        self._plan("plan")
        self.backend.record(Decision(plan_id="plan", text=text, decided_at=self.clock()))
        kept = self.backend.plan("plan")
        assert kept is not None
        assert kept.decisions[0].text == text

    def test_b4_metadata_of_every_kind_comes_back(self) -> None:
        self._plan("plan")
        for kind, value in KINDS.items():
            said = Decision(plan_id="plan", text=kind, metadata={"value": value})
            self.backend.record(said)
        kept = self.backend.plan("plan")
        assert kept is not None
        found = {one.text: json.dumps(one.metadata) for one in kept.decisions}
        assert found == {kind: json.dumps({"value": value}) for kind, value in KINDS.items()}

    def test_records_of_many_threads_are_all_kept(self) -> None:
        self._plan("plan")
        in_threads(lambda: self.backend.record(Decision(plan_id="plan", text="one")))
        assert len(self._texts()) == 8
