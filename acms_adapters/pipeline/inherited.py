"""What a parent hands down, on its way to a child through a framework's state."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any, TypeVar

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    ContextRequest,
    Ledger,
    SkeletonMetadata,
)
from acms_adapters.models.base import FrozenModel
from acms_adapters.models.request import InheritStrategy
from acms_adapters.pipeline.inheritance import CHILD_SHARE, inherit
from acms_adapters.pipeline.skeleton_service import decision_ids
from acms_adapters.protocols import BackendSet, TokenCounter

logger = logging.getLogger(__name__)

M = TypeVar("M", bound=FrozenModel)

INHERITED_KEY = "acms_inherited"
"""Key of an agent's state, a workflow's store or a chain's configuration for what a parent hands
down."""

_READ = {
    "fragments",
    "payload_id",
    "plan_id",
    "rendered_tokens",
    "budget",
    "strategies_used",
    "preamble",
    "assembled_at",
    "layout",
    "skeleton_ids",
    "skeleton_metadata",
}


class Inherited(FrozenModel):
    """A skeleton on its way to a child.

    Attributes:
        payload: The skeleton; its `plan_id` is the parent's.
        strategy: ``skeleton``: the child takes at most 15 % of its budget for it; ``full``: as
            much as there is, because its size was chosen for this child.
        ancestors: Plans above the child, nearest first.
    """

    payload: ContextPayload
    strategy: InheritStrategy = "skeleton"
    ancestors: tuple[str, ...] = ()

    def dump(self) -> str:
        """As JSON, without what the child does not need."""
        return self.model_dump_json(include={"payload": _READ, "strategy": True, "ancestors": True})

    def fields(self, tokens: int) -> dict[str, Any]:
        """Fields of the request of a child with a budget of `tokens` (ruling K4).

        What was handed down is inherited as it is, because it was compressed already; what would
        be more than the child's share of it is compressed to that share.
        """
        payload = self.payload
        size = max(payload.rendered_tokens, payload.total_tokens)
        if self.strategy == "skeleton" and size > math.floor(CHILD_SHARE * tokens):
            # compressed where the child is served, so that its ledger tells what went
            return {
                "parent_context": payload,
                "inherit_strategy": "skeleton",
                "skeleton_ratio": 0.0,
            }
        return {"parent_context": payload, "inherit_strategy": "full"}

    def taken(self, fragments: Sequence[ContextFragment]) -> SkeletonMetadata | None:
        """The receipt for what the child took of it."""
        receipt = self.payload.skeleton_metadata
        return receipt and receipt.model_copy(
            update={
                "compressed_tokens": sum(fragment.token_count for fragment in fragments),
                "source_decision_ids": decision_ids(fragments),
            }
        )


def dump_payload(payload: ContextPayload) -> str:
    """The part of a payload that is read, as JSON."""
    return payload.model_dump_json(include=_READ)


def load_json(kind: type[M], text: Any) -> M | None:
    """Read a model out of a state; None where there is nothing, or nothing that can be read."""
    if not text:
        return None
    try:
        return kind.model_validate_json(text)
    except ValueError as error:  # written by another version
        logger.warning("the state holds a %s that cannot be read: %s", kind.__name__, error)
        return None


def inherited_alone(
    inherited: Inherited, tokens: int, counter: TokenCounter, request: ContextRequest
) -> ContextPayload:
    """The context of a child that reads nothing but what it inherits.

    Args:
        inherited: What it was handed.
        tokens: Its budget.
        counter: Counts the text.
        request: What else it asks for, such as which tiers to exclude.
    """
    asked = ContextRequest(**{**inherited.fields(tokens), **dict(request.items())})
    found = inherit(asked, tokens, backends=BackendSet(counter=counter))
    return ContextPayload(
        fragments=found.fragments,
        budget=ContextBudget(max_tokens=tokens),
        rendered_tokens=found.rendered_tokens,
        ledger=Ledger(entries=found.left_out),
        skeleton_ids=tuple(fragment.fragment_id for fragment in found.fragments),
        skeleton_metadata=inherited.taken(found.fragments),
    )
