"""What an agent is to read in one turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from acms_adapters.models import ContextPayload, ContextRequest, Plan, PlanContext
from acms_adapters.pipeline.fencing import without_blocks
from acms_adapters.pipeline.inherited import INHERITED_KEY, Inherited, inherited_alone, load_json
from acms_adapters.tokens import token_counter

_TITLE_CHARS = 200
_TURNS_BEFORE = 6
"""Turns whose words tell what a question is about; what lies further back seldom does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of an agent.

    Attributes:
        query: What was asked last, in words; None where no person wrote any.
        history: What was said in the turns before, oldest first.
        inherited: What the parent handed down.
        plan: The plan that the turn is, where turns are recorded.
    """

    query: str | None
    history: tuple[str, ...] = ()
    inherited: Inherited | None
    plan: Plan | None = None

    @classmethod
    def of(cls, state: Mapping[str, Any], *, planned: bool) -> Turn:
        """Read an agent's state; `planned` turns are plans."""
        query, history = conversation(state.get("messages", ()))
        inherited = load_json(Inherited, state.get(INHERITED_KEY))
        plan = None
        if planned:
            plan = Plan(
                title=(query or "")[:_TITLE_CHARS],
                parent=inherited.payload.plan_id if inherited else None,
                skeleton_metadata=inherited.payload.skeleton_metadata if inherited else None,
            )
        return cls(query=query, history=history, inherited=inherited, plan=plan)

    def request(self, fields: Mapping[str, Any], tokens: int) -> ContextRequest:
        """The request for this turn's context; `fields` win over what the turn says."""
        asked: dict[str, Any] = {"query": self.query, "history": self.history or None}
        if self.inherited is not None:
            asked |= self.inherited.fields(tokens)
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


def conversation(messages: Sequence[BaseMessage]) -> tuple[str | None, tuple[str, ...]]:
    """The last text that a person wrote, and what person and model said in the turns before it.

    Results of tools and blocks of context are left out.
    """
    said = [
        (message.type, text)
        for message in messages
        if isinstance(message, HumanMessage | AIMessage)
        and (text := without_blocks(str(message.text))).strip()
    ]
    asked = [place for place, (kind, _) in enumerate(said) if kind == "human"]
    if not asked:
        return None, ()
    first = asked[-1 - _TURNS_BEFORE] if len(asked) > _TURNS_BEFORE else 0
    return said[asked[-1]][1], tuple(text for _, text in said[first : asked[-1]])
