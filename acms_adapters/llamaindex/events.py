"""What the adapters tell LlamaIndex's instrumentation."""

from __future__ import annotations

import logging
from typing import Any, Self

from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base.event import BaseEvent
from pydantic import Field

from acms_adapters.models import ContextPayload

logger = logging.getLogger(__name__)
dispatcher = get_dispatcher(__name__)


class ContextPackedEvent(BaseEvent):
    """Context was brought down to a budget (ruling A5).

    Attributes:
        tokens: Tokens of the kept text.
        available_tokens: Tokens there were.
        kept: Ids of the kept nodes, in reading order.
        left_out: Node id, reason and explanation of each one left out.
        failures: What did not answer, and why.
        degraded: Whether nothing answered, so that an empty context tells nothing.
    """

    tokens: int
    available_tokens: int
    kept: list[str]
    left_out: list[dict[str, Any]]
    failures: list[str] = Field(default_factory=list)
    degraded: bool = False

    @classmethod
    def class_name(cls) -> str:
        """Name of the event."""
        return "ContextPackedEvent"

    @classmethod
    def of(cls, payload: ContextPayload) -> Self:
        """Describe a payload."""
        return cls(
            tokens=payload.rendered_tokens,
            available_tokens=payload.available_tokens,
            kept=[fragment.uko_node for fragment in payload.fragments],
            left_out=[
                {"node_id": e.uko_node, "reason": e.reason.value, "why": e.explain()}
                for e in payload.ledger.entries
            ],
            failures=[str(failure) for failure in payload.failures],
            degraded=payload.degraded,
        )


def tell(payload: ContextPayload) -> None:
    """Tell of a context that an agent is about to read (rulings A5, S9)."""
    dispatcher.event(ContextPackedEvent.of(payload))
    if payload.degraded:
        named = "; ".join(map(str, payload.failures)) or "no strategy could run"
        logger.warning("nothing answered, the agent goes on without context: %s", named)
