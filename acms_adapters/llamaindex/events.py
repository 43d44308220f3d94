"""What the adapters tell LlamaIndex's instrumentation."""

from __future__ import annotations

from typing import Any, Self

from llama_index_instrumentation.base.event import BaseEvent

from acms_adapters.models import ContextPayload


class ContextPackedEvent(BaseEvent):
    """Context was brought down to a budget (ruling A5).

    Attributes:
        tokens: Tokens of the kept text.
        available_tokens: Tokens there were.
        kept: Ids of the kept nodes, in reading order.
        left_out: Node id, reason and explanation of each one left out.
    """

    tokens: int
    available_tokens: int
    kept: list[str]
    left_out: list[dict[str, Any]]

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
        )
