"""What a strategy must do."""

from __future__ import annotations

import asyncio
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar

import pytest

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    FragmentProvenance,
    PlanContext,
    StrategyCapabilities,
)
from acms_adapters.models.matching import in_scope
from acms_adapters.protocols import BackendSet, ContextStrategy
from acms_adapters.testing.sample import sample_backends, sample_request
from acms_adapters.testing.suite import Suite, in_threads, needs

_HOSTILE = ('"', "NEAR(", "\x00", "🚀", "故乡", "\ud83d", "???", " ", "x " * 5_000)

Told = tuple[str, int, str, float]


class StrategyCompliance(Suite, ABC):
    """Subclass it and say how a strategy is made.

    It is asked about a small sample; `make_backends` and `make_request` may put something else in
    its place.

    Capabilities: ``answers`` (the request is answered with at least one fragment), ``scope`` and
    ``resource_types`` (nothing else is delivered).
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"answers", "scope", "resource_types"})

    @abstractmethod
    def make_strategy(self) -> ContextStrategy:
        """A new strategy."""

    def make_backends(self) -> BackendSet:
        """What it may ask."""
        return sample_backends()

    def make_request(self) -> ContextRequest:
        """What it is asked."""
        return sample_request()

    @cached_property
    def strategy(self) -> ContextStrategy:
        """The strategy of a case."""
        return self.make_strategy()

    @cached_property
    def backends(self) -> BackendSet:
        """What it may ask in a case."""
        return self.make_backends()

    @cached_property
    def request(self) -> ContextRequest:
        """What it is asked in a case."""
        return self.make_request()

    def _ask(
        self, request: ContextRequest | None = None, *, tokens: int = 4_096
    ) -> list[ContextFragment]:
        asked = self.request if request is None else request
        plan = asked.plan_context or PlanContext(plan_id=asked.plan_id)
        budget = ContextBudget(max_tokens=tokens)
        return list(self.strategy.assemble(asked, self.backends, budget, plan))

    def _changed(self, **fields: Any) -> ContextRequest:
        return self.request.model_copy(update=fields)

    def test_it_is_a_strategy_with_a_name_and_a_word_for_people(self) -> None:
        assert isinstance(self.strategy, ContextStrategy)
        assert self.strategy.name.strip() == self.strategy.name != ""
        assert self.make_strategy().name == self.strategy.name
        assert self.strategy.explain().strip()

    def test_it_declares_what_it_needs(self) -> None:
        declared = self.strategy.capabilities
        assert isinstance(declared, StrategyCapabilities)
        assert declared.needs, "a strategy declares at least one backend"
        assert 0.0 <= declared.quality_score <= 1.0

    def test_s5_its_confidence_lies_between_0_and_1(self) -> None:
        for request in (self.request, ContextRequest()):
            assert 0.0 <= self.strategy.can_handle(request, self.backends) <= 1.0
        if "answers" in self.capabilities:
            assert self.strategy.can_handle(self.request, self.backends) > 0.0

    def test_s5_it_has_no_confidence_without_what_it_needs(self) -> None:
        assert self.strategy.can_handle(self.request, BackendSet()) == 0.0
        for missing in self.strategy.capabilities.needs:
            without = self.backends.with_(**{missing: None})
            assert self.strategy.can_handle(self.request, without) == 0.0

    @needs("answers")
    def test_it_answers_with_fragments_best_first(self) -> None:
        fragments = self._ask()
        assert fragments
        assert all(isinstance(fragment, ContextFragment) for fragment in fragments)
        scores = [fragment.relevance_score for fragment in fragments]
        assert all(a >= b for a, b in itertools.pairwise(scores))

    def test_it_delivers_no_fragment_twice(self) -> None:
        keys = [(fragment.key, fragment.detail_depth) for fragment in self._ask()]
        assert len(set(keys)) == len(keys)

    def test_a_fragment_says_where_it_comes_from(self) -> None:
        for fragment in self._ask():
            assert fragment.content
            assert isinstance(fragment.provenance, FragmentProvenance)
            assert fragment.provenance.strategy in (None, self.strategy.name)

    def test_m9_equal_questions_have_equal_answers(self) -> None:
        first = _told(self._ask())
        assert _told(self._ask()) == first
        del self.strategy, self.backends  # made anew
        assert _told(self._ask()) == first

    def test_the_smallest_budget_is_no_error(self) -> None:
        assert all(isinstance(fragment, ContextFragment) for fragment in self._ask(tokens=1))

    def test_a_request_that_asks_for_nothing_is_no_error(self) -> None:
        assert all(isinstance(one, ContextFragment) for one in self._ask(ContextRequest()))

    def test_unknown_nodes_and_plans_are_no_error(self) -> None:
        plan = PlanContext(plan_id="nobody", parent_id="none", ancestors=("none",))
        request = self._changed(
            focus_nodes=("project://nowhere/x",), plan_id="nobody", plan_context=plan
        )
        assert all(isinstance(fragment, ContextFragment) for fragment in self._ask(request))

    @pytest.mark.parametrize("query", _HOSTILE, ids=lambda query: repr(query)[:20])
    def test_b2_no_text_of_a_user_is_an_error(self, query: str) -> None:
        request = ContextRequest.of({**dict(self.request), "query": query})
        assert all(isinstance(fragment, ContextFragment) for fragment in self._ask(request))

    def test_b6_walks_end_however_far_they_may_go(self) -> None:
        fragments = self._ask(self._changed(breadth=1_000_000, depth=1_000_000))
        nodes = [(fragment.uko_node, fragment.detail_depth) for fragment in fragments]
        assert len(set(nodes)) == len(nodes)

    @needs("scope")
    def test_b5_nothing_out_of_scope_is_delivered(self) -> None:
        for uri in {fragment.provenance.resource_uri for fragment in self._ask()}:
            scope = (uri.rpartition("/")[0] or uri,)
            for fragment in self._ask(self._changed(scope=scope)):
                inside = (fragment.provenance.resource_uri, fragment.uko_node)
                assert any(in_scope(one, scope) for one in inside)
        assert self._ask(self._changed(scope=("project://nowhere",))) == []

    @needs("resource_types")
    def test_nothing_of_another_resource_type_is_delivered(self) -> None:
        for kind in {fragment.provenance.resource_type for fragment in self._ask()}:
            found = self._ask(self._changed(resource_types=(kind,)))
            assert found
            assert {fragment.provenance.resource_type for fragment in found} == {kind}
        assert self._ask(self._changed(resource_types=("nothing of the kind",))) == []

    def test_what_a_caller_does_to_a_fragment_does_not_change_the_next(self) -> None:
        first = self._ask()
        before = [dict(fragment.metadata) for fragment in first]
        for fragment in first:
            fragment.metadata["new"] = 1
        assert [fragment.metadata for fragment in self._ask()] == before

    def test_it_changes_neither_request_nor_plan(self) -> None:
        before = self.request.model_dump_json(exclude={"tokenizer"})
        self._ask()
        assert self.request.model_dump_json(exclude={"tokenizer"}) == before

    def test_the_same_question_has_the_same_answer_in_every_thread(self) -> None:
        expected = _told(self._ask())
        assert all(answer == expected for answer in in_threads(lambda: _told(self._ask())))

    def test_an_asynchronous_twin_gives_the_same(self) -> None:
        twin = getattr(self.strategy, "aassemble", None)
        if twin is not None:
            plan = self.request.plan_context or PlanContext()
            budget = ContextBudget(max_tokens=4_096)
            found = asyncio.run(twin(self.request, self.backends, budget, plan))
            assert _told(found) == _told(self._ask())


def _told(fragments: Iterable[ContextFragment]) -> list[Told]:
    """What a fragment says, without its id and the time it was made."""
    return [(one.uko_node, one.detail_depth, one.content, one.relevance_score) for one in fragments]
