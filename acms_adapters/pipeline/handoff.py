"""How much of its context an agent hands to its children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acms_adapters.models import ContextPayload
from acms_adapters.pipeline.handing_down import check_size, hand_down
from acms_adapters.pipeline.inherited import Inherited
from acms_adapters.protocols import BackendSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """How contexts are compressed for children; see `hand_down`.

    Raises:
        ValueError: Both a ratio and tokens, or one that is out of its range.
    """

    ratio: float | None = None
    tokens: int | None = None
    focus_nodes: Sequence[str] = ()
    backends: BackendSet | None = None

    def __post_init__(self) -> None:
        check_size(self.ratio, self.tokens)

    def of(self, context: ContextPayload | None, task: str) -> Inherited | None:
        """What a child with this task is handed; None where there is no context."""
        if context is None or not context.fragments:
            return None
        skeleton = hand_down(
            context,
            task,
            ratio=self.ratio,
            tokens=self.tokens,
            focus_nodes=self.focus_nodes,
            backends=self.backends,
        )
        # a number of tokens was chosen for the child; a ratio leaves it to the child's budget
        return Inherited(payload=skeleton, strategy="skeleton" if self.tokens is None else "full")
