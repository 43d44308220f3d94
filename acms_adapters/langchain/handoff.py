"""From an agent's state to what a child is handed, and the receipt that comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.types import Command

from acms_adapters.langchain.state import CONTEXT_KEY, PLAN_KEY
from acms_adapters.models import ContextPayload, Plan, SkeletonMetadata
from acms_adapters.pipeline.fencing import fenced
from acms_adapters.pipeline.handoff import Handoff
from acms_adapters.pipeline.inherited import INHERITED_KEY, Inherited, load_json

RECEIPT_KEY = "acms_skeleton"
"""Key of a tool message's artifact for the receipt of a compression."""


def handed(handoff: Handoff, state: Any, task: str) -> Inherited | None:
    """What a child with this task is handed; None where the agent has no context."""
    state = state if isinstance(state, Mapping) else {}
    inherited = handoff.of(load_json(ContextPayload, state.get(CONTEXT_KEY)), task)
    if inherited is None:
        return None
    plans = _plans(state)
    payload = inherited.payload.model_copy(update={"plan_id": plans[0] if plans else None})
    return inherited.model_copy(update={"payload": payload, "ancestors": tuple(plans[1:])})


def told(task: str, inherited: Inherited | None) -> str:
    """A task with what is handed down behind it, for a child that reads nothing else."""
    if inherited is None or not inherited.payload.fragments:
        return task
    return f"{task}\n\n{fenced(inherited.payload.render())}"


def receipt(inherited: Inherited | None) -> dict[str, Any]:
    """The receipt of a compression and the ids of what was handed down, as JSON types."""
    if inherited is None or inherited.payload.skeleton_metadata is None:
        return {}
    payload = inherited.payload
    return {
        RECEIPT_KEY: {
            **inherited.payload.skeleton_metadata.model_dump(mode="json"),
            "fragment_ids": [fragment.fragment_id for fragment in payload.fragments],
        }
    }


def receipt_of(message: ToolMessage) -> SkeletonMetadata | None:
    """The receipt that came back with a child's answer, if one did."""
    artifact = message.artifact
    found = artifact.get(RECEIPT_KEY) if isinstance(artifact, Mapping) else None
    if not isinstance(found, Mapping):
        return None
    known = {name: found[name] for name in SkeletonMetadata.model_fields if name in found}
    return SkeletonMetadata(**known)


def with_receipt(result: Any, inherited: Inherited | None) -> Any:
    """A tool's result with the receipt in the artifact of its message, where there is room."""
    told_of = receipt(inherited)
    if not told_of:
        return result
    if isinstance(result, ToolMessage):
        if not isinstance(result.artifact, dict | None):
            return result
        return result.model_copy(update={"artifact": {**(result.artifact or {}), **told_of}})
    said = result.update if isinstance(result, Command) else None
    if isinstance(said, dict) and isinstance(said.get("messages"), list):
        messages = [with_receipt(message, inherited) for message in said["messages"]]
        return replace(result, update={**said, "messages": messages})
    return result


def _plans(state: Mapping[str, Any]) -> list[str]:
    """Ids of the plans that an agent works in, nearest first."""
    inherited = load_json(Inherited, state.get(INHERITED_KEY))
    own = load_json(Plan, state.get(PLAN_KEY))
    line = [own.plan_id] if own is not None else []
    if inherited is not None:
        above = inherited.payload.plan_id
        line += [*([above] if above else []), *inherited.ancestors]
    return line
