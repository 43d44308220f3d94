"""Sub-agents of deepagents, with the package itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.messages import HumanMessage, ToolMessage

from acms_adapters import ContextStore, token_counter
from acms_adapters.langchain import (
    ACMSContextMiddleware,
    ACMSDelegationMiddleware,
    receipt_of,
)
from acms_adapters.pipeline.fencing import FENCE, NOTICE

COUNTER = token_counter()
BLOCK = re.compile(rf"<{FENCE}>\n{re.escape(NOTICE)}\n\n(.*?)\n</{FENCE}>", re.DOTALL)


def task(child: str, description: str) -> tuple[str, dict[str, str]]:
    return "task", {"subagent_type": child, "description": description}


def blocks(message: Any) -> list[str]:
    return BLOCK.findall(str(message.text))


def spec(name: str, model: Any, *middleware: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"Knows about {name}.",
        "system_prompt": f"I am {name}.",
        "model": model,
        "tools": [],
        "middleware": list(middleware),
    }


def test_parallel_children_get_skeletons_of_their_own_by_state_and_behind_their_task_g(
    run: Callable[..., Any], animals: ContextStore, scripted: Any
) -> None:
    aware, unaware = scripted("aware is done"), scripted("unaware is done")
    model = scripted(
        [task("aware", "look for the owl"), task("unaware", "look for the cat")], "all done"
    )
    agent = create_deep_agent(
        model,
        subagents=[spec("aware", aware, ACMSContextMiddleware()), spec("unaware", unaware)],
        middleware=[
            ACMSContextMiddleware(animals.pipeline(), max_tokens=600),
            ACMSDelegationMiddleware(children={"aware": "state"}, tokens=50),
        ],
    )
    result = run(agent, {"messages": [HumanMessage("Where do the animals sleep?")]})
    system, question = aware.seen[0]
    (first,) = blocks(system)
    assert question.content == "look for the owl"
    assert "the owl sleeps" in first
    assert COUNTER.count(first) <= 50
    system, question = unaware.seen[0]
    assert not blocks(system)
    (second,) = blocks(question)
    assert str(question.content).startswith("look for the cat\n\n")
    assert "the cat sleeps" in second
    assert COUNTER.count(second) <= 50
    assert first != second
    told = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert {message.content for message in told} == {"aware is done", "unaware is done"}
    for message in told:
        receipt = receipt_of(message)
        assert receipt is not None
        assert 0 < receipt.compressed_tokens <= 50
    calls = [call for message in result["messages"] for call in getattr(message, "tool_calls", ())]
    assert {call["args"]["description"] for call in calls} == {
        "look for the owl",
        "look for the cat",
    }
    assert "acms_inherited" not in result


def test_a_child_hands_a_skeleton_of_what_it_reads_and_not_what_its_parent_handed_it(
    animals: ContextStore, scripted: Any
) -> None:
    leaf = scripted("leaf is done")
    middle = scripted([task("leaf", "the owl")], "middle is done")
    inner = create_deep_agent(
        middle,
        subagents=[spec("leaf", leaf, ACMSContextMiddleware())],
        middleware=[
            ACMSContextMiddleware(),
            ACMSDelegationMiddleware(children={"leaf": "state"}, tokens=22),
        ],
    )
    agent = create_deep_agent(
        scripted([task("middle", "the owl and the cat")], "done"),
        subagents=[{"name": "middle", "description": "Delegates.", "runnable": inner}],
        middleware=[
            ACMSContextMiddleware(animals.pipeline()),
            ACMSDelegationMiddleware(children={"middle": "state"}, tokens=60),
        ],
    )
    agent.invoke({"messages": [HumanMessage("Where do the animals sleep?")]})
    (above,) = blocks(middle.seen[0][0])
    (below,) = blocks(leaf.seen[0][0])
    assert COUNTER.count(above) <= 60
    assert COUNTER.count(below) <= 22
    assert below in above


def test_a_child_that_is_handed_nothing_and_other_tools_are_left_alone(
    run: Callable[..., Any], animals: ContextStore, scripted: Any
) -> None:
    fork = scripted("done")
    model = scripted([task("fork", "the owl"), ("ls", {"path": "/"})], "all done")
    agent = create_deep_agent(
        model,
        subagents=[spec("fork", fork)],
        middleware=[
            ACMSContextMiddleware(animals.pipeline()),
            ACMSDelegationMiddleware(children={"fork": "nothing"}),
        ],
    )
    result = run(agent, {"messages": [HumanMessage("Where do the animals sleep?")]})
    assert fork.seen[0][-1].content == "the owl"
    told = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert all(receipt_of(message) is None for message in told)


@pytest.mark.parametrize(
    "options", [{"default": "post"}, {"children": {"a": "post"}}, {"ratio": 2.0}, {"tokens": 1.5}]
)
def test_a_value_outside_its_range_is_refused(options: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        ACMSDelegationMiddleware(**options)
