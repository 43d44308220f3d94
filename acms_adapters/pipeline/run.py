"""What one call of the pipeline works with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from acms_adapters.errors import RequestError
from acms_adapters.models import ContextBudget, ContextPayload, ContextRequest, Layout
from acms_adapters.pipeline.bounds import whole
from acms_adapters.pipeline.call import Call
from acms_adapters.pipeline.candidates import Candidates
from acms_adapters.pipeline.fragment_orderer import OrderStrategy
from acms_adapters.pipeline.refresh import Freshness
from acms_adapters.protocols import TokenCounter

OnFailure = Literal["raise", "degrade"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How one call is to be carried out.

    Attributes:
        max_fragments: Upper bound on the fragments of the payload, at least 1.
        layout: What the model will read; see `Layout`.
        on_failure: What to do when no strategy answers.
        previous: The payload that the model read last, for the `cache-stable` order.
        order: Order of the fragments; None takes the configuration's.
        carried: What was read before and competes with what is found.
    """

    max_fragments: int | None = None
    layout: Layout = "payload"
    on_failure: OnFailure = "raise"
    previous: ContextPayload | None = None
    order: OrderStrategy | None = None
    carried: Freshness | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be before any strategy is asked."""
        if self.max_fragments is not None:
            whole(self.max_fragments, "max_fragments", least=1)
        choices = {
            "layout": get_args(Layout),
            "on_failure": get_args(OnFailure),
            "order": (None, *get_args(OrderStrategy)),
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise RequestError(f"{name} must be one of {known}, not {getattr(self, name)!r}")
        for name, kind in (("previous", ContextPayload), ("carried", Freshness)):
            if not isinstance(getattr(self, name), kind | None):
                shown = f"{getattr(self, name)!r:.200}"
                raise RequestError(f"{name} must be a {kind.__name__}, not {shown}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything that one call works with.

    Attributes:
        now: The moment that is asked about.
        assembled_at: What the clock said, which is the same unless the request has an `as_of`.
        started: When the call began, in seconds of a clock that only measures.
    """

    call: Call
    options: Options
    budget: ContextBudget
    counter: TokenCounter
    candidates: Candidates
    now: datetime
    assembled_at: datetime
    started: float

    @property
    def request(self) -> ContextRequest:
        """What is asked for."""
        return self.call.request

    @property
    def searches(self) -> bool:
        """Whether strategies are to be asked at all."""
        brings_nothing = self.call.candidates is None and self.options.carried is None
        return self.call.asks or self.call.strategy is not None or brings_nothing
