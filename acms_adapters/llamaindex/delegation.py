"""Sub-agents that know what their parent knows, as far as it helps with their task."""

# no `from __future__ import annotations`: the framework looks for `Context` among the annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Self

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.memory import Memory
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from acms_adapters.llamaindex.agent import ACMSFunctionAgent
from acms_adapters.llamaindex.handover import context_of, hand_over
from acms_adapters.llamaindex.reading import reading
from acms_adapters.models import ContextPayload, SkeletonMetadata
from acms_adapters.models.base import FrozenModel
from acms_adapters.pipeline.fencing import fenced
from acms_adapters.pipeline.handoff import Handoff
from acms_adapters.pipeline.inherited import Inherited
from acms_adapters.protocols import BackendSet

TOKEN_LIMIT = 30_000
"""Tokens of a child's memory."""

Source = ContextPayload | Callable[[], ContextPayload | None]


class Delegated(FrozenModel):
    """A child's answer; as text, the answer alone.

    Attributes:
        answer: What it said.
        receipt: Receipt of the compression; None when nothing was handed down.
        fragment_ids: What was handed down.
    """

    answer: str
    receipt: SkeletonMetadata | None = None
    fragment_ids: tuple[str, ...] = ()

    @classmethod
    def of(cls, answer: str, handed: ContextPayload) -> Self:
        """An answer with what had been handed down for it."""
        ids = tuple(fragment.fragment_id for fragment in handed.fragments)
        return cls(answer=answer, receipt=handed.skeleton_metadata, fragment_ids=ids)

    def __str__(self) -> str:
        """The answer."""
        return self.answer


def delegate_tool(
    agent: Any,
    *,
    name: str | None = None,
    description: str | None = None,
    context: Source | None = None,
    ratio: float | None = None,
    tokens: int | None = None,
    focus_nodes: Sequence[str] = (),
    backends: BackendSet | None = None,
    token_limit: int = TOKEN_LIMIT,
) -> FunctionTool:
    """Make an agent a tool of another one.

    The child is given its task and a skeleton of the parent's context, focused on that task, in a
    memory of its own, and nothing of the parent's conversation. Children may run beside each other.
    It reads the skeleton in its one leading system message (ruling A3); an `ACMSFunctionAgent`
    beside what it finds by itself. The tool's raw output is a `Delegated`.

    Args:
        agent: The child: an agent, or an `AgentWorkflow` whose root is given the skeleton.
        name: Name of the tool; left out, the agent's.
        description: When to use it; left out, the agent's.
        context: The parent's context, or what gives it at each call. Left out, that of the parent's
            `ACMSFunctionAgent`, or of the `ACMSMemoryBlock` in its memory.
        ratio: Fraction of the parent's context to remove; left out with `tokens`, 0.3.
        tokens: Most tokens of the skeleton, instead of a ratio.
        focus_nodes: Nodes that the child works on.
        backends: The parent's; give lower renderings and nearness where they are there.
        token_limit: Tokens of the child's memory.

    Raises:
        ValueError: Both a ratio and tokens, or one that is out of its range.
    """
    handoff = Handoff(ratio=ratio, tokens=tokens, focus_nodes=focus_nodes, backends=backends)
    root = agent.agents[agent.root_agent] if isinstance(agent, AgentWorkflow) else agent

    async def run(parent: ContextPayload | None, task: str) -> Delegated:
        inherited = await asyncio.to_thread(handoff.of, parent, task)
        answer = await _answer(agent, root, task, inherited, token_limit)
        if inherited is None:
            return Delegated(answer=answer)
        return Delegated.of(answer, inherited.payload)

    async def delegate_known(task: str) -> Delegated:
        return await run(context() if callable(context) else context, task)

    async def delegate(ctx: Context, task: str) -> Delegated:
        return await run(await context_of(ctx), task)

    return FunctionTool.from_defaults(
        async_fn=delegate if context is None else delegate_known,
        name=name or root.name,
        description=description or root.description,
    )


async def _answer(
    agent: Any, root: Any, task: str, inherited: Inherited | None, token_limit: int
) -> str:
    """Run a child in a context and with a memory of its own."""
    if inherited is not None and not inherited.payload.fragments:
        inherited = None
    if inherited is not None and not isinstance(root, ACMSFunctionAgent):
        agent = reading(agent, fenced(inherited.payload.render()))
    ctx = Context(agent)
    if inherited is not None:
        await hand_over(ctx, root.name, inherited)
    memory = Memory.from_defaults(token_limit=token_limit)
    handler = agent.run(user_msg=task, memory=memory, ctx=ctx)
    try:
        return str(await handler)
    except asyncio.CancelledError:
        await handler.cancel_run()
        raise
