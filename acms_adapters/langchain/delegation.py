"""Sub-agents that know what their parent knows, as far as it helps with their task."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from langchain.agents.middleware import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic_core import to_jsonable_python

from acms_adapters.errors import RequestError
from acms_adapters.langchain.handoff import handed, receipt, told, with_receipt
from acms_adapters.langchain.state import ACMSState
from acms_adapters.pipeline.handoff import Handoff
from acms_adapters.pipeline.inherited import INHERITED_KEY, Inherited
from acms_adapters.protocols import BackendSet

By = Literal["state", "message", "nothing"]
Result = ToolMessage | Command[Any]


def delegate_tool(
    agent: Runnable[Any, Any],
    *,
    name: str,
    description: str,
    ratio: float | None = None,
    tokens: int | None = None,
    focus_nodes: Sequence[str] = (),
    backends: BackendSet | None = None,
) -> BaseTool:
    """Make an agent a tool of another one that has an `ACMSContextMiddleware`.

    The child is given its task and a skeleton of the parent's current context, focused on that
    task, and nothing of the parent's conversation. A child with an `ACMSContextMiddleware` reads
    the skeleton in its system message; any other one reads it behind its task. Its answer comes
    back with a receipt, see `receipt_of`.

    Args:
        agent: The child: an agent, or any runnable from a state with messages to one.
        name: Name of the tool.
        description: When to use it.
        ratio: Fraction of the parent's context to remove.
        tokens: Most tokens of the skeleton, instead of a ratio.
        focus_nodes: Nodes that the child works on.
        backends: The parent's; give lower renderings and nearness where they are there.

    Raises:
        ValueError: Both a ratio and tokens, or one that is out of its range.
    """
    handoff = Handoff(ratio=ratio, tokens=tokens, focus_nodes=focus_nodes, backends=backends)
    reads_state = _reads_state(agent)

    def given(task: str, inherited: Inherited | None) -> dict[str, Any]:
        if not reads_state:
            return {"messages": [HumanMessage(content=told(task, inherited))]}
        dumped = inherited.dump() if inherited is not None else ""
        return {"messages": [HumanMessage(content=task)], INHERITED_KEY: dumped}

    def delegate(task: str, runtime: ToolRuntime) -> tuple[str, dict[str, Any]]:
        inherited = handed(handoff, runtime.state, task)
        return _answer(agent.invoke(given(task, inherited))), receipt(inherited)

    async def adelegate(task: str, runtime: ToolRuntime) -> tuple[str, dict[str, Any]]:
        inherited = await asyncio.to_thread(handed, handoff, runtime.state, task)
        return _answer(await agent.ainvoke(given(task, inherited))), receipt(inherited)

    return StructuredTool.from_function(
        func=delegate,
        coroutine=adelegate,
        name=name,
        description=description,
        response_format="content_and_artifact",
    )


class ACMSDelegationMiddleware(AgentMiddleware[ACMSState, Any, Any]):
    """Hands a skeleton of the agent's context to children that another tool calls.

    Meant for the ``task`` tool of deepagents, beside an `ACMSContextMiddleware`. Each call gets a
    skeleton of its own, focused on its task, and a receipt in the artifact of its message.

    Args:
        tool: Name of the tool.
        argument: Its argument for the task.
        child: Its argument for the name of the child.
        children: How each child is handed the skeleton: ``state`` where it has an
            `ACMSContextMiddleware`; ``message``, behind its task, where it cannot be changed;
            ``nothing`` where it knows everything, such as a fork.
        default: The same for children that `children` does not name.
        ratio: Fraction of the context to remove.
        tokens: Most tokens of a skeleton, instead of a ratio.
        backends: The agent's; give lower renderings and nearness where they are there.
        name: Name among the agent's middleware.

    Raises:
        ValueError: A value is outside its range.
    """

    state_schema = ACMSState

    def __init__(
        self,
        *,
        tool: str = "task",
        argument: str = "description",
        child: str = "subagent_type",
        children: Mapping[str, By] | None = None,
        default: By = "message",
        ratio: float | None = None,
        tokens: int | None = None,
        backends: BackendSet | None = None,
        name: str = "ACMSDelegationMiddleware",
    ) -> None:
        super().__init__()
        self.tools = ()
        self._tool, self._argument, self._child = tool, argument, child
        self._children, self._default = dict(children or {}), default
        for way in (default, *self._children.values()):
            if way not in get_args(By):
                raise RequestError(f"a child is handed things by {get_args(By)}, not {way!r}")
        self._handoff = Handoff(ratio=ratio, tokens=tokens, backends=backends)
        self._name = name

    @property
    def name(self) -> str:
        """Name among the agent's middleware."""
        return self._name

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]
    ) -> Result:
        """Hand the skeleton to the child that is called, and add the receipt to its answer."""
        request, inherited = self._handed(request)
        result: Result = with_receipt(handler(request), inherited)
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        """The same as `wrap_tool_call`, without blocking the event loop."""
        request, inherited = await asyncio.to_thread(self._handed, request)
        result: Result = with_receipt(await handler(request), inherited)
        return result

    def _handed(self, request: ToolCallRequest) -> tuple[ToolCallRequest, Inherited | None]:
        call = request.tool_call
        task = call["args"].get(self._argument)
        way = self._children.get(str(call["args"].get(self._child)), self._default)
        if call["name"] != self._tool or way == "nothing" or not isinstance(task, str):
            return request, None
        inherited = handed(self._handoff, request.state, task)
        dumped = inherited.dump() if inherited is not None and way == "state" else ""
        # what the parent itself inherited must not reach the child as it is
        state = {**request.state, INHERITED_KEY: dumped}
        if way == "message":
            call = {**call, "args": {**call["args"], self._argument: told(task, inherited)}}
        runtime = replace(request.runtime, state=state)
        return replace(request, tool_call=call, state=state, runtime=runtime), inherited


def _reads_state(agent: Any) -> bool:
    """Whether a graph, or what is bound around one, has a place for what is handed down."""
    while not hasattr(agent, "channels") and hasattr(agent, "bound"):
        agent = agent.bound
    return INHERITED_KEY in getattr(agent, "channels", ())


def _answer(result: Any) -> str:
    """A child's structured answer, else its last text that says anything."""
    structured = result.get("structured_response") if isinstance(result, Mapping) else None
    if structured is not None:
        return json.dumps(to_jsonable_python(structured), ensure_ascii=False)
    messages = result.get("messages", ()) if isinstance(result, Mapping) else [result]
    for message in reversed(messages):
        if isinstance(message, AIMessage) and (text := str(message.text).strip()):
            return text
    last = messages[-1] if messages else ""
    return str(last.text) if isinstance(last, BaseMessage) else str(last)
