"""What agents of a workflow know of each other's context, kept in its store as JSON."""

from __future__ import annotations

from typing import Any

from llama_index.core.memory import Memory

from acms_adapters.llamaindex.memory import ACMSMemoryBlock
from acms_adapters.models import ContextPayload
from acms_adapters.pipeline.handing_down import hand_down
from acms_adapters.pipeline.inherited import INHERITED_KEY, Inherited, dump_payload, load_json

TURNS_KEY = "acms_turns"
"""Key of a workflow's store: the turn that each agent, by name, is in."""
ACTIVE_KEY = "acms_active"
"""Key of a workflow's store: name of the agent that took the last step."""


async def hand_over(ctx: Any, agent: str, inherited: ContextPayload | Inherited) -> None:
    """Let the agent of that name inherit a context from now on.

    Args:
        ctx: A workflow's context, before or while it runs.
        agent: Name of an `ACMSFunctionAgent`.
        inherited: A skeleton, such as `hand_down` makes it.
    """
    if isinstance(inherited, ContextPayload):
        inherited = Inherited(payload=inherited)
    await _note(ctx, INHERITED_KEY, agent, {"question": None, "inherited": inherited.dump()})


async def context_of(ctx: Any) -> ContextPayload | None:
    """The context that the agent of a workflow reads.

    Its own, or that of its memory's block, or what it was handed down.
    """
    active = await ctx.store.get(ACTIVE_KEY, default="")
    if turn := (await ctx.store.get(TURNS_KEY, default={})).get(active):
        return load_json(ContextPayload, turn["context"])
    memory = await ctx.store.get("memory", default=None)
    for block in memory.memory_blocks if isinstance(memory, Memory) else ():
        if isinstance(block, ACMSMemoryBlock) and block.context is not None:
            return block.context
    handed = await ctx.store.get(INHERITED_KEY, default={})
    known = handed.get(active or await ctx.store.get("current_agent_name", default=""))
    # an agent outside a workflow of several has no name in the store, and is the only one
    known = known or (next(iter(handed.values())) if len(handed) == 1 else None)
    inherited = load_json(Inherited, known["inherited"]) if known else None
    return inherited.payload if inherited is not None else None


async def inherited_for(
    ctx: Any, agent: str, question: str, *, ratio: float | None = None
) -> Inherited | None:
    """What an agent was handed down, or what it takes over from the one before in this turn."""
    known = (await ctx.store.get(INHERITED_KEY, default={})).get(agent)
    if known and known["question"] in (None, question):
        return load_json(Inherited, known["inherited"])
    active = await ctx.store.get(ACTIVE_KEY, default="")
    before = (await ctx.store.get(TURNS_KEY, default={})).get(active)
    if active == agent or not before or before["question"] != question:
        return None
    context = load_json(ContextPayload, before["context"])
    if context is None or not context.fragments:
        return None
    inherited = Inherited(payload=hand_down(context, question, ratio=ratio))
    note = {"question": question, "inherited": inherited.dump()}
    await _note(ctx, INHERITED_KEY, agent, note)
    return inherited


async def known_turn(
    ctx: Any, agent: str, question: str, inherited: Inherited | None
) -> ContextPayload | None:
    """The context that an agent has for a question already, and that it is the active one."""
    turn = (await ctx.store.get(TURNS_KEY, default={})).get(agent)
    await ctx.store.set(ACTIVE_KEY, agent)
    if turn and turn["question"] == question and turn["inherited"] == _dumped(inherited):
        return load_json(ContextPayload, turn["context"])
    return None


async def note_turn(
    ctx: Any, agent: str, question: str, inherited: Inherited | None, context: ContextPayload
) -> None:
    """Remember the context that an agent has for a question."""
    turn = {
        "question": question,
        "inherited": _dumped(inherited),
        "context": dump_payload(context),
    }
    await _note(ctx, TURNS_KEY, agent, turn)


def _dumped(inherited: Inherited | None) -> str:
    return inherited.dump() if inherited is not None else ""


async def _note(ctx: Any, key: str, agent: str, value: dict[str, Any]) -> None:
    known = await ctx.store.get(key, default={})
    await ctx.store.set(key, {**known, agent: value})
