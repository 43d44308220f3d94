"""Agents that read a block in their one leading system message, whatever their kind."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, ReActAgent
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.prompts import PromptTemplate

A = TypeVar("A", BaseWorkflowAgent, AgentWorkflow)

_GAP = "\n\n"
_SLOT = "inherited_context"


def reading(agent: A, block: str) -> A:
    """A copy of an agent that reads the block; of a workflow, one whose root does.

    The block is never in the history, and the given agent stays as it is. A ReAct or code agent
    makes its system message itself and throws away what stands there, so it gets the block with
    that.
    """
    if isinstance(agent, AgentWorkflow):
        workflow = copy.copy(agent)
        root = agent.agents[agent.root_agent]
        workflow.agents = {**agent.agents, agent.root_agent: reading(root, block)}
        return workflow
    return agent.model_copy(update=_changes(agent, block))


def _changes(agent: BaseWorkflowAgent, block: str) -> dict[str, Any]:
    if isinstance(agent, ReActAgent):
        formatter = agent.formatter
        header = formatter.system_header
        changes = {
            "context": _joined(formatter.context, block),
            "system_header": header if "{context}" in header else f"{header}{_GAP}{{context}}",
        }
        return {"formatter": formatter.model_copy(update=changes)}
    if isinstance(agent, CodeActAgent):
        prompt = agent.code_act_system_prompt
        template = prompt if isinstance(prompt, str) else prompt.get_template()
        longer = PromptTemplate(f"{template}{_GAP}{{{_SLOT}}}")
        return {"code_act_system_prompt": longer.partial_format(**{_SLOT: block})}
    return {"system_prompt": _joined(agent.system_prompt, block)}


def _joined(text: str | None, block: str) -> str:
    return f"{text.strip()}{_GAP}{block}" if text and text.strip() else block
