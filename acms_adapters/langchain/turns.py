"""What an agent is to read in one turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from acms_adapters.langchain.inherited import INHERITED_KEY
from acms_adapters.models import ContextPayload, ContextRequest, Plan, PlanContext
from acms_adapters.pipeline.inherited import Inherited, inherited_alone, load_json
from acms_adapters.tokens import token_counter

_TITLE_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of an agent.

    Attributes:
        query: What was asked last, in words; None where no person wrote any.
        inherited: What the parent handed down.
        plan: The plan that the turn is, where turns are recorded.
    """

    query: str | None
    inherited: Inherited | None
    plan: Plan | None = None

    @classmethod
    def of(cls, state: Mapping[str, Any], *, planned: bool) -> Turn:
        """Read an agent's state; `planned` turns are plans."""
        query = question_of(state.get("messages", ()))
        inherited = load_json(Inherited, state.get(INHERITED_KEY))
        plan = None
        if planned:
            plan = Plan(
                title=(query or "")[:_TITLE_CHARS],
                parent=inherited.payload.plan_id if inherited else None,
                skeleton_metadata=inherited.payload.skeleton_metadata if inherited else None,
            )
        return cls(query=query, inherited=inherited, plan=plan)

    def request(self, fields: Mapping[str, Any], tokens: int) -> ContextRequest:
        """The request for this turn's context; `fields` win over what the turn says."""
        asked: dict[str, Any] = {"query": self.query}
        if self.inherited is not None:
            asked |= self.inherited.fields(tokens, fields.get("focus_nodes") or ())
        if self.plan is not None:
            asked |= {"plan_id": self.plan.plan_id, "plan_context": self._plan_context(self.plan)}
        return ContextRequest(**{**asked, **fields})

    def without_search(self, fields: Mapping[str, Any], tokens: int) -> ContextPayload | None:
        """The context of a turn in which nothing is searched for."""
        if self.inherited is None:
            return None
        counter = token_counter(fields.get("tokenizer"))
        return inherited_alone(self.inherited, tokens, counter, ContextRequest(**fields))

    def _plan_context(self, plan: Plan) -> PlanContext:
        above = self.inherited.ancestors if self.inherited else ()
        line = (plan.parent, *above) if plan.parent else above
        return plan.context(ancestors=tuple(dict.fromkeys(line)))


def question_of(messages: Sequence[BaseMessage]) -> str | None:
    """The last text that a person wrote."""
    texts = (str(m.text) for m in reversed(messages) if isinstance(m, HumanMessage))
    return next((text for text in texts if text.strip()), None)
