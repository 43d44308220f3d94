"""Sub-agents and what they are handed."""

from __future__ import annotations

import asyncio
import copy
import json
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from acms_adapters import (
    ContextFragment,
    ContextPayload,
    ContextStore,
    SkeletonMetadata,
    token_counter,
)
from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.langchain import (
    INHERITED_KEY,
    ACMSContextMiddleware,
    delegate_tool,
    hand_down,
    receipt_of,
)
from acms_adapters.langchain.handoff import with_receipt
from acms_adapters.pipeline.fencing import FENCE, NOTICE
from acms_adapters.pipeline.inherited import Inherited

COUNTER = token_counter()
BLOCK = re.compile(rf"<{FENCE}>\n{re.escape(NOTICE)}\n\n(.*?)\n</{FENCE}>", re.DOTALL)


def inside(messages: list[BaseMessage]) -> str:
    """What stands in the one block of some messages."""
    (found,) = BLOCK.findall("\n".join(str(message.text) for message in messages))
    return str(found)


def nodes_in(text: str) -> set[str]:
    return set(re.findall(r"^=== (\S+)", text, re.MULTILINE))


def ask(text: str = "Where do the animals sleep?") -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def thread(name: str = "t") -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def answers(result: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def receipts(result: dict[str, Any]) -> list[SkeletonMetadata]:
    return [receipt for m in answers(result) if (receipt := receipt_of(m)) is not None]


def test_a_child_reads_its_task_and_a_skeleton_within_its_tokens_and_nothing_else_g(
    run: Callable[..., Any], animals: ContextStore, scripted: Any
) -> None:
    child_model = scripted("in box 2")
    child = create_agent(
        child_model, [], system_prompt="CHILD", middleware=[ACMSContextMiddleware()]
    )
    delegate = delegate_tool(child, name="look", description="Look it up.", tokens=60)
    model = scripted([("look", {"task": "find the owl"})], "done")
    agent = create_agent(
        model,
        [delegate],
        system_prompt="PARENT",
        middleware=[ACMSContextMiddleware(animals.pipeline())],
        checkpointer=InMemorySaver(),
    )
    result = run(agent, ask("A secret of the parent: where do the animals sleep?"), thread())
    (read,) = child_model.seen
    assert [message.type for message in read] == ["system", "human"]
    assert read[1].content == "find the owl"
    assert str(read[0].content).startswith("CHILD\n\n")
    assert "secret" not in "".join(str(message.content) for message in read)
    skeleton = inside(read)
    assert "the owl sleeps in box 2" in skeleton
    assert COUNTER.count(skeleton) <= 60
    assert nodes_in(skeleton) < nodes_in(inside(model.seen[0]))
    (answer,) = answers(result)
    assert answer.content == "in box 2"
    (receipt,) = receipts(result)
    assert 0 < receipt.compressed_tokens <= 60 < receipt.original_tokens


@pytest.mark.parametrize(("ratio", "share"), [(0.0, 1.0), (0.5, 0.5), (None, 0.7), (1.0, 0.0)])
def test_a_ratio_removes_that_fraction_of_the_parents_context_k4(
    ratio: float | None, share: float, animals: ContextStore, scripted: Any
) -> None:
    child_model = scripted("ok")
    child = create_agent(child_model, [], middleware=[ACMSContextMiddleware(max_tokens=20_000)])
    delegate = delegate_tool(child, name="look", description="Look.", ratio=ratio)
    model = scripted([("look", {"task": "find the owl"})], "done")
    middleware = [ACMSContextMiddleware(animals.pipeline())]
    agent = create_agent(model, [delegate], middleware=middleware, checkpointer=InMemorySaver())
    result = agent.invoke(ask(), thread())
    state = agent.get_state(thread()).values
    parent = ContextPayload.model_validate_json(state["acms_context"])
    (receipt,) = receipts(result)
    assert receipt.original_tokens == parent.total_tokens
    assert receipt.ratio == pytest.approx(0.3 if ratio is None else ratio)
    assert receipt.compressed_tokens <= share * parent.total_tokens
    if ratio == 0.0:
        assert receipt.compressed_tokens == parent.total_tokens
        assert nodes_in(inside(child_model.seen[0])) == {f.uko_node for f in parent.fragments}
    if ratio == 1.0:
        assert not BLOCK.search(str(child_model.seen[0][0].content))


def test_a_skeleton_by_ratio_takes_at_most_15_percent_of_the_childs_tokens_k4(
    animals: ContextStore, scripted: Any
) -> None:
    child_model = scripted("ok")
    child = create_agent(child_model, [], middleware=[ACMSContextMiddleware(max_tokens=340)])
    delegate = delegate_tool(child, name="look", description="Look.", ratio=0.0)
    agent = create_agent(
        scripted([("look", {"task": "find the owl"})], "done"),
        [delegate],
        middleware=[ACMSContextMiddleware(animals.pipeline())],
    )
    agent.invoke(ask())
    skeleton = inside(child_model.seen[0])
    assert 0 < COUNTER.count(skeleton) <= 0.15 * 340
    assert "the owl" in skeleton


def test_what_a_child_has_no_room_for_of_a_skeleton_is_told_where_the_child_runs_k4_a5(
    run: Callable[..., Any], scripted: Any, listener: Any
) -> None:
    fragments = tuple(
        ContextFragment(uko_node=f"n{n}", content=f"passage {n} " * 12) for n in range(6)
    )
    handed = Inherited(payload=hand_down(ContextPayload(fragments=fragments), ratio=0.0))
    child = create_agent(
        scripted("ok"), [], middleware=[ACMSContextMiddleware(max_tokens=800)], name="child"
    )
    run(child, {**ask(), INHERITED_KEY: handed.dump()}, config={"callbacks": [listener]})
    ((name, told, _),) = listener.events
    assert name == "acms.assembled"
    assert 1 <= len(told["left_out"]) < 6
    assert told["metrics"]["fragments_selected"] + len(told["left_out"]) == 6


def test_a_child_with_context_of_its_own_reads_both_in_one_block_and_nothing_twice_k4(
    run: Callable[..., Any], animals: ContextStore, scripted: Any
) -> None:
    own = ContextStore.in_memory(embedder=None)
    own.add_documents(
        [
            _document("fact-owl", "Fact 2: the owl sleeps in box 2 of the barn."),
            _document("own", "The owl eats mice."),
        ]
    )
    child_model = scripted("ok")
    child = create_agent(child_model, [], middleware=[ACMSContextMiddleware(own.pipeline())])
    delegate = delegate_tool(child, name="look", description="Look.", tokens=90)
    agent = create_agent(
        scripted([("look", {"task": "what does the owl eat?"})], "done"),
        [delegate],
        middleware=[ACMSContextMiddleware(animals.pipeline())],
    )
    run(agent, ask())
    text = inside(child_model.seen[0])
    assert text.count("the owl sleeps in box 2") == 1
    assert "The owl eats mice." in text
    assert len(nodes_in(text)) > 2


def _document(name: str, text: str) -> Any:
    from langchain_core.documents import Document

    return Document(id=name, page_content=text)


class Family:
    """A parent with two parallel children, one of which has two parallel children of its own."""

    def __init__(self, animals: ContextStore, scripted: Any) -> None:
        self.together = threading.Barrier(2)
        self.leaves = {name: scripted(f"{name} found it") for name in ("a1", "a2", "b")}
        leaf = {name: self._agent(model) for name, model in self.leaves.items()}
        self.middle = scripted(
            [("a1", {"task": "the cat in the barn"}), ("a2", {"task": "the dog in the barn"})],
            "a found it",
        )
        middle = self._agent(
            self.middle,
            delegate_tool(
                Meeting(leaf["a1"], self.together), name="a1", description="A1.", ratio=0.5
            ),
            delegate_tool(
                Meeting(leaf["a2"], self.together), name="a2", description="A2.", ratio=0.5
            ),
        )
        self.top = scripted(
            [("a", {"task": "the cat and the dog"}), ("b", {"task": "only the hen"})], "done"
        )
        self.agent = create_agent(
            self.top,
            [
                delegate_tool(middle, name="a", description="A.", tokens=100),
                delegate_tool(leaf["b"], name="b", description="B.", tokens=30),
            ],
            middleware=[ACMSContextMiddleware(animals.pipeline())],
            checkpointer=InMemorySaver(),
        )

    def _agent(self, model: Any, *tools: Any) -> Any:
        return create_agent(model, list(tools), middleware=[ACMSContextMiddleware()])


class Meeting:
    """An agent that begins once its sibling has been called as well."""

    def __init__(self, agent: Any, together: threading.Barrier) -> None:
        self.bound = agent
        self._together = together

    def invoke(self, state: Any) -> Any:
        self._together.wait(30)
        return self.bound.invoke(state)

    async def ainvoke(self, state: Any) -> Any:
        await asyncio.to_thread(self._together.wait, 30)
        return await self.bound.ainvoke(state)


def test_three_levels_deep_each_child_reads_its_own_skeleton_and_ids_lead_back_to_the_parent_g(
    run: Callable[..., Any], animals: ContextStore, scripted: Any
) -> None:
    family = Family(animals, scripted)
    result = run(family.agent, ask(), thread())
    state = family.agent.get_state(thread()).values
    parent = ContextPayload.model_validate_json(state["acms_context"])
    ids = {fragment.fragment_id for fragment in parent.fragments}
    for answer in answers(result):
        handed = answer.artifact["acms_skeleton"]["fragment_ids"]
        assert handed
        assert set(handed) < ids
    middle, only = inside(family.middle.seen[0]), inside(family.leaves["b"].seen[0])
    assert "the cat" in middle
    assert "the dog" in middle
    assert COUNTER.count(middle) <= 100
    assert "the hen" in only
    assert COUNTER.count(only) <= 30
    first, second = (inside(family.leaves[name].seen[0]) for name in ("a1", "a2"))
    assert "the cat" in first
    assert "the dog" in second
    for leaf in (first, second):
        assert nodes_in(leaf) < nodes_in(middle)
    inner = [m for m in family.middle.seen[1] if isinstance(m, ToolMessage)]
    for answer in inner:
        assert set(answer.artifact["acms_skeleton"]["fragment_ids"]) < ids
        receipt = receipt_of(answer)
        assert receipt is not None
        assert 0 < receipt.compressed_tokens <= receipt.original_tokens / 2
    tasks = {"a1": "the cat in the barn", "a2": "the dog in the barn", "b": "only the hen"}
    for name, task in tasks.items():
        assert [m.type for m in family.leaves[name].seen[0]] == ["system", "human"]
        assert family.leaves[name].seen[0][1].content == task
    assert [answer.content for answer in answers(result)] == ["a found it", "b found it"]


def test_the_parent_is_the_same_before_and_after_its_children_g(
    run: Callable[..., Any], animals: ContextStore, scripted: Any
) -> None:
    child = create_agent(scripted("ok", "ok"), [], middleware=[ACMSContextMiddleware()])
    delegate = delegate_tool(child, name="look", description="Look.", tokens=60)
    model = scripted([("look", {"task": "the owl"}), ("look", {"task": "the cat"})], "done")
    agent = create_agent(
        model,
        [delegate],
        middleware=[ACMSContextMiddleware(animals.pipeline())],
        checkpointer=InMemorySaver(),
    )
    history = [HumanMessage(f"message {n}") for n in range(9)] + ask()["messages"]
    given = copy.deepcopy(history)
    run(agent, {"messages": history}, thread())
    states = [s.values for s in agent.get_state_history(thread()) if s.values.get("acms_context")]
    assert len({state["acms_context"] for state in states}) == 1
    assert all(not state.get(INHERITED_KEY) for state in states)
    assert [m.content for m in states[0]["messages"][:10]] == [m.content for m in given]
    assert str(model.seen[0][0].content) == str(model.seen[1][0].content)


def test_a_child_that_cannot_be_changed_reads_the_skeleton_behind_its_task(
    run: Callable[..., Any], animals: ContextStore, scripted: Any
) -> None:
    child_model = scripted("ok")
    child = create_agent(child_model, [], system_prompt="CHILD")
    delegate = delegate_tool(child, name="look", description="Look.", tokens=40)
    agent = create_agent(
        scripted([("look", {"task": "find the owl"})], "done"),
        [delegate],
        middleware=[ACMSContextMiddleware(animals.pipeline())],
    )
    result = run(agent, ask())
    system, task = child_model.seen[0]
    assert system.content == "CHILD"
    assert str(task.content).startswith(f"find the owl\n\n<{FENCE}>\n")
    assert COUNTER.count(inside([task])) <= 40
    assert receipts(result)
    history = "".join(str(message.content) for message in result["messages"])
    assert FENCE not in history


def test_any_runnable_from_a_state_to_a_state_can_be_a_child(
    run: Callable[..., Any], animals: ContextStore, scripted: Any
) -> None:
    child = RunnableLambda(lambda state: {"messages": [AIMessage("it is"), AIMessage("")]})
    agent = create_agent(
        scripted([("look", {"task": "find the owl"})], "done"),
        [delegate_tool(child, name="look", description="Look.")],
        middleware=[ACMSContextMiddleware(animals.pipeline())],
    )
    assert answers(run(agent, ask()))[0].content == "it is"


def test_a_structured_answer_comes_back_as_json(
    run: Callable[..., Any], animals: ContextStore, scripted: Any
) -> None:
    class Box(BaseModel):
        """A box."""

        number: int

    child = create_agent(scripted([("Box", {"number": 2})]), [], response_format=ToolStrategy(Box))
    agent = create_agent(
        scripted([("look", {"task": "find the owl"})], "done"),
        [delegate_tool(child, name="look", description="Look.")],
        middleware=[ACMSContextMiddleware(animals.pipeline())],
    )
    assert json.loads(str(answers(run(agent, ask()))[0].content)) == {"number": 2}


def test_a_parent_without_context_hands_nothing_down(
    run: Callable[..., Any], scripted: Any
) -> None:
    child_model = scripted("ok")
    child = create_agent(child_model, [], middleware=[ACMSContextMiddleware()])
    agent = create_agent(
        scripted([("look", {"task": "find the owl"})], "done"),
        [delegate_tool(child, name="look", description="Look.")],
    )
    result = run(agent, ask())
    assert [message.type for message in child_model.seen[0]] == ["human"]
    assert receipts(result) == []


def test_what_was_handed_down_for_one_turn_is_gone_in_the_next(
    animals: ContextStore, scripted: Any
) -> None:
    model = scripted("ok", "ok")
    child = create_agent(
        model, [], middleware=[ACMSContextMiddleware()], checkpointer=InMemorySaver()
    )
    skeleton = Inherited(payload=animals.pipeline().assemble("the owl", budget=200))
    child.invoke({**ask(), INHERITED_KEY: skeleton.dump()}, thread())
    child.invoke(ask("and now?"), thread())
    assert inside(model.seen[0])
    assert [message.type for message in model.seen[1]] == ["human", "ai", "human"]


def test_plans_of_children_hang_below_the_plan_of_their_parent_m5(
    run: Callable[..., Any], animals: ContextStore, scripted: Any
) -> None:
    kept = SQLiteStore(None).temporal
    grand = create_agent(scripted("ok"), [], middleware=[ACMSContextMiddleware(archive=kept)])
    child = create_agent(
        scripted([("deep", {"task": "the owl again"})], "ok"),
        [delegate_tool(grand, name="deep", description="Deep.", ratio=0.0)],
        middleware=[ACMSContextMiddleware()],  # keeps no plans of its own
    )
    agent = create_agent(
        scripted([("look", {"task": "find the owl"})], "done"),
        [delegate_tool(child, name="look", description="Look.", tokens=100)],
        middleware=[ACMSContextMiddleware(animals.pipeline(), archive=kept)],
    )
    run(agent, ask())
    plans = {h.content: h.metadata["plan_id"] for h in kept.query_by_tier("cold")}
    top, leaf = plans["Where do the animals sleep?"], plans["the owl again"]
    assert kept.ancestors(leaf) == [top]
    plan = kept.plan(leaf)
    assert plan is not None
    assert plan.skeleton_metadata is not None
    assert plan.context_payload is not None
    assert plan.skeleton_metadata.compressed_tokens == plan.context_payload.total_tokens
    assert plan.as_cli_dict()["skeleton"]["compressed_tokens"] > 0


def test_what_a_tool_returned_is_read_as_a_receipt_only_if_it_is_one() -> None:
    assert receipt_of(ToolMessage("a", tool_call_id="1")) is None
    assert receipt_of(ToolMessage("a", tool_call_id="1", artifact=["other"])) is None
    assert receipt_of(ToolMessage("a", tool_call_id="1", artifact={"acms_skeleton": 1})) is None


@pytest.mark.parametrize(
    "result",
    [
        Command(update={"files": {}}),
        Command(goto="elsewhere"),
        Command(update=[("files", {})]),
        Command(update={"messages": ToolMessage("a", tool_call_id="1")}),
        ToolMessage("a", tool_call_id="1", artifact=["other"]),
        "a text",
    ],
)
def test_a_result_with_no_room_for_a_receipt_comes_back_as_it_is(result: Any) -> None:
    skeleton = hand_down(context("the cat eats"), "the cat", tokens=20)
    assert with_receipt(result, Inherited(payload=skeleton)) == result


@pytest.mark.parametrize(
    "options",
    [{"ratio": 0.5, "tokens": 5}, {"ratio": 1.5}, {"ratio": float("nan")}, {"tokens": -1}],
)
def test_a_size_that_cannot_be_is_refused_when_the_tool_is_made_k2(
    options: Any, scripted: Any
) -> None:
    with pytest.raises(ValueError, match="ratio|tokens"):
        delegate_tool(create_agent(scripted("ok"), []), name="n", description="d", **options)


def context(*texts: str, **fields: Any) -> ContextPayload:
    return ContextPayload(
        fragments=tuple(
            ContextFragment(
                uko_node=f"n{place}",
                content=text,
                token_count=COUNTER.count(text),
                relevance_score=0.9 - place / 100,
                **fields,
            )
            for place, text in enumerate(texts)
        )
    )


def test_decisions_and_hot_fragments_come_before_what_the_task_names_k3() -> None:
    parent = context("the cat eats", "the dog barks", "the owl flies", "the hen lays")
    decided, hot, *rest = parent.fragments
    decided = decided.model_copy(update={"metadata": {"decision_id": "d1"}})
    hot = hot.model_copy(update={"tier": "hot"})
    parent = parent.model_copy(update={"fragments": (*reversed(rest), hot, decided)})
    kept = hand_down(parent, "what does the hen lay?", tokens=30).fragments
    assert [fragment.uko_node for fragment in kept] == ["n0", "n1", "n3"]


@pytest.mark.parametrize("task", ["", "???", "the unicorn", "{x} </acms_context>", "hen " * 5_000])
def test_any_task_is_a_task(task: str) -> None:
    parent = context("the cat eats", "the dog barks", "the owl flies", "the hen lays")
    before = parent.model_dump_json()
    skeleton = hand_down(parent, task, ratio=0.5)
    assert skeleton.total_tokens <= parent.total_tokens / 2
    assert parent.model_dump_json() == before


def test_nothing_is_handed_down_of_nothing() -> None:
    skeleton = hand_down(ContextPayload(fragments=()), "task")
    assert skeleton.fragments == ()
    assert skeleton.skeleton_metadata is not None
    assert skeleton.skeleton_metadata.original_tokens == 0
