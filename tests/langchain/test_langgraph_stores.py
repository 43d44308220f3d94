"""LangGraph stores as a temporal backend and as a place for skeletons."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from langgraph.store.base import GetOp, SearchItem
from langgraph.store.memory import InMemoryStore

from acms_adapters import BackendError, ContextFragment, ContextPayload, Decision, Plan
from acms_adapters.langchain import LangGraphTemporalBackend, SkeletonStore
from acms_adapters.protocols import TemporalBackend
from acms_adapters.testing import TemporalBackendCompliance
from acms_adapters.testing.clock import START, Clock


class TestLangGraphTemporalBackend(TemporalBackendCompliance):
    def make_backend(self, clock: Callable[[], datetime]) -> TemporalBackend:
        return LangGraphTemporalBackend(InMemoryStore(), clock=clock)

    def test_names_with_dots_do_not_become_other_namespaces(self) -> None:
        for plan in ("project://app/v1.2", "project://app/v1", "", "langgraph"):
            name = plan or "."
            self.backend.record(Plan(title=name, plan_id=name))
            self._decide(f"of {name}", plan=name)
        assert self._texts(plan_ids=["project://app/v1"]) == ["of project://app/v1"]
        assert self._texts(plan_ids=["project://app/v1.2"]) == ["of project://app/v1.2"]
        assert self._texts(plan_ids=["."]) == ["of ."]

    def test_a_store_that_matches_beginnings_of_labels_does_not_mix_plans(self) -> None:
        self.backend = LangGraphTemporalBackend(Greedy(), clock=self.clock)
        for plan in ("plan1", "plan10"):
            self._plan(plan)
            self._decide(f"of {plan}", plan=plan)
        assert self._texts(plan_ids=["plan1"]) == ["of plan1"]
        kept = self.backend.plan("plan1")
        assert kept is not None
        assert len(kept.decisions) == 1

    def test_more_records_than_a_store_gives_at_once_are_all_found(self) -> None:
        self._plan("plan")
        for number in range(230):
            self.backend.record(
                Decision(plan_id="plan", text=f"{number}.", decided_at=self.clock())
            )
        assert len(self.backend.query_by_tier("warm", resource_types=("decision",))) == 230

    def test_two_backends_on_one_store_see_the_same_and_other_namespaces_nothing(self) -> None:
        store = InMemoryStore()
        LangGraphTemporalBackend(store).record(Plan(title="p", plan_id="p"))
        assert LangGraphTemporalBackend(store).plan("p") is not None
        assert LangGraphTemporalBackend(store, namespace=("other", "a.b")).plan("p") is None


class Greedy(InMemoryStore):
    """Finds by the beginning of the joined namespace, as some databases do."""

    def search(self, namespace_prefix: tuple[str, ...], /, **options: Any) -> list[SearchItem]:
        everything = super().search((), **{**options, "limit": 10_000, "offset": 0})
        start = ".".join(namespace_prefix)
        found = [item for item in everything if ".".join(item.namespace).startswith(start)]
        offset = options.get("offset", 0)
        return found[offset : offset + options.get("limit", 10)]


def skeleton(*texts: str) -> ContextPayload:
    return ContextPayload(
        fragments=tuple(ContextFragment(uko_node=text, content=text) for text in texts)
    )


def embed(texts: list[str]) -> list[list[float]]:
    return [[float("cat" in text), float("dog" in text), 0.1] for text in texts]


def test_a_skeleton_comes_back_as_it_was_and_replaces_the_one_before() -> None:
    store = SkeletonStore(InMemoryStore(), namespace=("acms", "team.a"))
    kept = skeleton('{braces} \x00 "quotes" 检索')
    store.save("plan://a.b/c", skeleton("before"))
    store.save("plan://a.b/c", kept)
    loaded = store.load("plan://a.b/c")
    assert loaded is not None
    assert loaded.render() == kept.render()
    assert [f.fragment_id for f in loaded.fragments] == [f.fragment_id for f in kept.fragments]
    assert store.load("plan://a/b/c") is None
    asyncio.run(store.asave("other", kept))
    assert asyncio.run(store.aload("other")) == store.load("other")


def test_a_store_with_an_index_ranks_skeletons() -> None:
    store = SkeletonStore(InMemoryStore(index={"dims": 3, "embed": embed, "fields": ["text"]}))
    for name in ("dog", "cat"):
        store.save(name, skeleton(f"about the {name}"))
    found = store.search("the cat")
    assert [hit.plan_id for hit in found] == ["cat", "dog"]
    assert found[0].score > found[1].score
    assert asyncio.run(store.asearch("the cat", limit=1)) == found[:1]


def test_a_store_without_an_index_is_an_error_and_not_an_arbitrary_order() -> None:
    store = SkeletonStore(InMemoryStore())
    assert store.search("anything") == []
    store.save("cat", skeleton("about the cat"))
    with pytest.raises(BackendError, match="InMemoryStore cannot rank: give it an index"):
        store.search("the cat")
    with pytest.raises(BackendError, match="InMemoryStore cannot rank: give it an index"):
        asyncio.run(store.asearch("the cat"))


def test_b3_recording_what_is_there_already_neither_searches_nor_writes_for_each_decision() -> None:
    class Counted(InMemoryStore):
        asked = 0

        def batch(self, ops: Any) -> Any:
            ops = list(ops)
            self.asked += sum(not isinstance(op, GetOp) for op in ops)
            return super().batch(ops)

    def asked_for(decisions: int) -> int:
        store = Counted()
        backend = LangGraphTemporalBackend(store, clock=Clock())
        plan = Plan(plan_id="p")
        for number in range(decisions):
            plan = plan.record_decision(f"decision {number}", decided_at=START)
        backend.record(plan)
        store.asked = 0
        backend.record(plan)
        return store.asked

    assert asked_for(30) == asked_for(3)
