"""Scope, refresh and the life of a plan, on a real store (rulings K4, M5, T3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acms_adapters import (
    ACMSPipeline,
    ContextFragment,
    ContextRequest,
    ContextStore,
    Plan,
    RequestError,
    SearchHit,
)
from acms_adapters.models.estimate import estimate_tokens
from acms_adapters.pipeline import PlanLifecycle
from acms_adapters.pipeline.scope import resolve_scope

SOURCE = '''"""Limits."""


class TokenBucket:
    """Refills once a second."""

    def acquire(self):
        """Take a token if there is one."""
        return self.tokens > 0

    def refill(self):
        """Add what time has earned."""
        self.tokens += 1


class Window:
    """Counts calls in a sliding window."""

    def allow(self):
        """Whether one more call is allowed."""
        return len(self.calls) < self.most
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "limits.py").write_text(SOURCE)
    (folder / "notes.md").write_text("# Notes\n\nThe window was chosen for its memory.\n")
    return folder


@pytest.fixture
def store(project: Path) -> Iterator[ContextStore]:
    with ContextStore.in_memory(embedder=None) as store:
        store.add_path(project)
        yield store


@pytest.fixture
def pipeline(store: ContextStore) -> ACMSPipeline:
    return store.pipeline()


@pytest.fixture(params=["sync", "async"])
def do(request: pytest.FixtureRequest) -> Callable[..., Any]:
    def call(subject: Any, name: str, *args: Any, **options: Any) -> Any:
        if request.param == "sync":
            return getattr(subject, name)(*args, **options)
        return asyncio.run(getattr(subject, f"a{name}")(*args, **options))

    return call


FOCUS = "project://shop/limits.py#TokenBucket"


def nodes(payload: Any) -> list[str]:
    return [f.uko_node.removeprefix("project://shop") for f in payload.fragments]


def test_a_scope_goes_up_then_down_then_sideways(pipeline: ACMSPipeline) -> None:
    """D4-51."""
    around = resolve_scope(ContextRequest(focus_nodes=[FOCUS]), pipeline.backends)
    assert [f.uko_node.removeprefix("project://shop") for f in around] == [
        "/limits.py#TokenBucket",
        "/limits.py",
        "",
        "/limits.py#TokenBucket.acquire",
        "/limits.py#TokenBucket.refill",
        "/limits.py#Window",
    ]
    relevance = [f.relevance_score for f in around]
    assert relevance == sorted(relevance, reverse=True)


def test_a_scope_ends_when_the_budget_is_full_and_says_what_stayed_out(
    pipeline: ACMSPipeline,
) -> None:
    """D4-53."""
    payload = pipeline.resolve_scope({"focus_nodes": [FOCUS]}, budget=80)
    assert payload.rendered_tokens <= 80
    assert "class TokenBucket" in payload.render()
    assert payload.ledger.entries


def test_a_scope_keeps_to_the_wanted_resource_types(pipeline: ACMSPipeline) -> None:
    """D4-52."""
    request = {"focus_nodes": ["project://shop"], "resource_types": ["document"]}
    found = pipeline.resolve_scope(request, budget=2000).fragments
    assert found
    assert {f.provenance.resource_type for f in found} == {"document"}


def test_a_focus_that_is_not_there_gives_an_empty_scope(pipeline: ACMSPipeline) -> None:
    assert not pipeline.resolve_scope({"focus_nodes": ["project://nowhere"]}).fragments


def test_f7_a_scope_tells_of_nodes_that_have_no_text() -> None:
    """F7."""

    class Bare:
        """A graph of nodes whose texts are elsewhere."""

        def neighbors(self, nodes: Any, **options: Any) -> list[Any]:
            return []

        def get(self, nodes: Any, **options: Any) -> list[SearchHit]:
            return [SearchHit(uko_node=node, score=1.0) for node in nodes]

    payload = ACMSPipeline(backends={"graph": Bare()}).resolve_scope({"focus_nodes": ["a"]})
    assert [(e.uko_node, e.reason.value) for e in payload.ledger.entries] == [("a", "empty")]


def test_s2_a_scope_within_a_callers_fragments_is_made_of_those_fragments() -> None:
    """S2, F7."""
    near, far = (ContextFragment(uko_node=name, content=f"text of {name}") for name in "ab")
    payload = ACMSPipeline().resolve_scope({"focus_nodes": ["a"]}, fragments=[near, far])
    assert [f.fragment_id for f in payload.fragments] == [near.fragment_id]
    assert [e.fragment_id for e in payload.ledger.entries] == [far.fragment_id]


def test_a_payload_of_which_nothing_changed_comes_back_as_it_is(pipeline, do) -> None:
    """D4-77."""
    payload = do(pipeline, "assemble", "how is a token acquired?", budget=400)
    assert do(pipeline, "refresh", payload) is payload


def test_s4_a_refresh_within_a_smaller_budget_keeps_to_it_although_nothing_changed(
    pipeline, do
) -> None:
    """S4."""
    payload = do(pipeline, "assemble", "how is a token acquired?", budget=400)
    smaller = do(pipeline, "refresh", payload, budget=60)
    assert payload.rendered_tokens > 60 >= smaller.rendered_tokens > 0
    left_out = {entry.uko_node for entry in smaller.ledger.entries}
    kept = {fragment.uko_node for fragment in smaller.fragments}
    assert kept | left_out == {fragment.uko_node for fragment in payload.fragments}
    bare = do(pipeline, "refresh", payload, layout="bare")
    assert bare.layout == "bare"
    assert bare.rendered_tokens < payload.rendered_tokens


def test_m2_a_step_keeps_to_a_budget_of_its_own(pipeline, do) -> None:
    """M2.budget."""
    lifecycle = PlanLifecycle(pipeline)
    plan = do(lifecycle, "create", Plan(title="how is a token acquired?"), budget=400)
    stepped = do(lifecycle, "step", plan, "what does a window count?", budget=100)
    assert plan.context_payload.rendered_tokens > 100 >= stepped.context_payload.rendered_tokens
    request = ContextRequest(query="what does a window count?", budget=100)
    assert do(pipeline, "refresh", plan.context_payload, request).rendered_tokens <= 100


def test_an_option_of_a_refresh_that_nobody_reads_is_refused(pipeline, do) -> None:
    payload = do(pipeline, "assemble", "how is a token acquired?", budget=400)
    with pytest.raises(TypeError, match="did you mean 'budget'"):
        do(pipeline, "refresh", payload, budgt=60)


def test_a_refresh_fetches_what_changed_and_keeps_the_rest_in_its_place(
    pipeline, do, project: Path, store: ContextStore
) -> None:
    """D4-77."""
    payload = do(pipeline, "assemble", "token window notes", budget=1000)
    (project / "notes.md").write_text("# Notes\n\nThe window was replaced by a bucket.\n")
    store.add_path(project)
    fresh = do(pipeline, "refresh", payload)
    assert "replaced by a bucket" in fresh.render()
    assert "chosen for its memory" not in fresh.render()
    assert set(nodes(fresh)) == set(nodes(payload))
    assert fresh.is_within_budget


@pytest.mark.parametrize("of_the_step", [None, "estimate"])
def test_a_refresh_counts_as_the_request_or_else_the_payload_was_counted(
    pipeline, do, project: Path, store: ContextStore, of_the_step: str | None
) -> None:
    first = ContextRequest(
        query="token window notes", tokenizer="estimate" if of_the_step is None else None
    )
    payload = do(pipeline, "assemble", first, budget=1000)
    (project / "notes.md").write_text("# Notes\n\nThe window was replaced by a bucket.\n")
    store.add_path(project)
    step = None if of_the_step is None else ContextRequest(tokenizer=of_the_step)
    fresh = do(pipeline, "refresh", payload, step)
    assert fresh.rendered_tokens == estimate_tokens(fresh.render())
    (changed,) = (f for f in fresh.fragments if "replaced by a bucket" in f.content)
    assert changed.token_count == estimate_tokens(changed.content)


def test_a_refresh_for_another_tokenizer_counts_what_did_not_change_anew(pipeline, do) -> None:
    payload = do(pipeline, "assemble", "token window notes", budget=1000)
    fresh = do(pipeline, "refresh", payload, ContextRequest(tokenizer="estimate"))
    assert nodes(fresh) == nodes(payload)
    counts = [f.token_count for f in fresh.fragments]
    assert counts == [estimate_tokens(f.content) for f in fresh.fragments]
    assert counts != [f.token_count for f in payload.fragments]


def test_what_is_gone_leaves_the_payload_with_its_reason(
    pipeline, do, project: Path, store: ContextStore
) -> None:
    payload = do(pipeline, "assemble", "token window notes", budget=1000)
    (project / "notes.md").unlink()
    store.add_path(project)
    fresh = do(pipeline, "refresh", payload)
    assert "chosen for its memory" not in fresh.render()
    assert "gone" in {e.reason.value for e in fresh.ledger.entries}


def test_a_refresh_with_a_question_adds_to_what_is_there(pipeline, do) -> None:
    payload = do(pipeline, "assemble", "how is a token acquired?", budget=600, max_fragments=1)
    more = do(pipeline, "refresh", payload, "which calls does the window allow?", budget=600)
    assert payload.fragments[0].content in more.render()
    assert "def allow" in more.render()
    assert "def allow" not in payload.render()


def test_a_plan_lives_from_its_first_context_to_the_cold_tier_t3(
    pipeline: ACMSPipeline, do
) -> None:
    """D4-76, D4-79."""
    lifecycle = PlanLifecycle(pipeline)
    plan = Plan(plan_id="p1", title="how is a token acquired?")
    started = do(lifecycle, "create", plan, budget=400)
    assert plan.context_payload is None
    assert started.context_hash == started.context_payload.context_hash
    decided = started.record_decision("Use a bucket.", title="bucket", nodes=(FOCUS,))
    stepped = do(lifecycle, "step", decided)
    temporal = pipeline.backends.temporal
    assert temporal.plan("p1").decisions[0].text == "Use a bucket."
    done = do(lifecycle, "complete", stepped)
    assert done.status == "completed"
    assert temporal.plan("p1").status == "completed"
    cold = [hit.content for hit in temporal.query_by_tier("cold", plan_ids=["p1"])]
    assert any("Use a bucket." in (content or "") for content in cold)
    assert not temporal.query_by_tier("warm", plan_ids=["p1"])


def test_a_child_inherits_a_skeleton_and_its_receipt_is_recorded_k4(
    pipeline: ACMSPipeline, do
) -> None:
    """K4.receipt, D2-32, D4-78, E2-smoke."""
    lifecycle = PlanLifecycle(pipeline)
    parent = do(lifecycle, "create", Plan(plan_id="p1", title="token bucket"), budget=1000)
    before = parent.model_dump_json()
    child = do(
        lifecycle,
        "spawn",
        parent,
        Plan(plan_id="p2", title="which calls does the window allow?"),
        budget=400,
    )
    assert child.parent == "p1"
    assert child.skeleton_metadata is not None
    assert child.as_cli_dict()["skeleton"]["original_tokens"] > 0
    inherited = {f.fragment_id for f in child.context_payload.skeleton_fragments}
    assert inherited <= {f.fragment_id for f in parent.context_payload.fragments}
    assert parent.model_dump_json() == before
    assert pipeline.backends.temporal.ancestors("p2") == ["p1"]


@pytest.mark.parametrize(
    ("own", "parents", "expected"), [(0.2, 0.5, 0.2), (None, 0.5, 0.5), (0.2, None, 0.2)]
)
def test_k4_a_ratio_of_the_child_itself_comes_before_its_parents(
    pipeline, own: float | None, parents: float | None, expected: float
) -> None:
    lifecycle = PlanLifecycle(pipeline)
    parent = lifecycle.create(Plan(title="token bucket", skeleton_ratio=parents), budget=400)
    child = lifecycle.spawn(parent, Plan(title="window", skeleton_ratio=own), budget=400)
    assert child.skeleton_metadata is not None
    assert child.skeleton_metadata.ratio == expected


def test_what_a_parent_decided_is_found_by_a_child_that_is_spawned_next_m5(pipeline, do) -> None:
    lifecycle = PlanLifecycle(pipeline)
    parent = do(lifecycle, "create", Plan(plan_id="p1", title="token bucket"), budget=400)
    decided = do(lifecycle, "decide", parent, "Five attempts.", title="Limits", nodes=(FOCUS,))
    assert parent.decisions == ()
    assert decided.decisions[0].nodes == (FOCUS,)
    child = do(
        lifecycle,
        "spawn",
        decided,
        Plan(plan_id="p2", title="how many attempts?"),
        strategy="plan-decision-context",
        budget=400,
    )
    assert "Five attempts." in child.context_payload.render()


def test_a_step_of_a_plan_without_context_is_refused_by_its_id(pipeline, do) -> None:
    with pytest.raises(RequestError, match="p9"):
        do(PlanLifecycle(pipeline), "step", Plan(plan_id="p9"))


def test_a_plan_that_moved_to_another_parent_has_the_ancestors_of_that_one(
    store: ContextStore, do, stub: Any
) -> None:
    """M5."""
    told: list[Any] = []
    listener = stub("listener", assemble=lambda *given: told.append(given[3]) or [], uses_text=True)
    pipeline = ACMSPipeline(backends=store.backends(), strategies=[listener])
    life = PlanLifecycle(pipeline)
    root = do(life, "create", Plan(plan_id="root", title="root"))
    old, new = (do(life, "spawn", root, Plan(plan_id=name, title=name)) for name in ("old", "new"))
    child = do(life, "spawn", old, Plan(plan_id="child", title="child"))
    do(life, "spawn", new, child)
    assert [told[-2].ancestors, told[-1].ancestors] == [("old", "root"), ("new", "root")]
