"""Putting a turn's context into what a model is about to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from langchain.agents.middleware import ModelRequest
from langchain.agents.structured_output import ToolStrategy

from acms_adapters.errors import BudgetError, RequestError, WindowError
from acms_adapters.langchain.fence import before_question, in_system
from acms_adapters.langchain.window import CountMessages, count_messages, count_schemas
from acms_adapters.models import ContextPayload
from acms_adapters.pipeline.block import fit_block
from acms_adapters.protocols import RenderingSource, TokenCounter
from acms_adapters.tokens import token_counter

Placement = Literal["system", "message"]
Request = ModelRequest[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Injector:
    """Injects context into model requests, as much as there is room for.

    Attributes:
        max_tokens: Most tokens of what is added.
        window: Tokens that the model can read; None takes those of its profile.
        tokenizer: How to count; None takes the model's own encoding.
        count: Counts messages in place of `count_messages`.
        placement: Where context goes that was not inherited.
        renderings: Where lower depths of a node come from.
    """

    max_tokens: int
    window: int | None = None
    tokenizer: Any = None
    count: CountMessages | None = None
    placement: Placement = "system"
    renderings: RenderingSource | None = None

    def __post_init__(self) -> None:
        for name in ("max_tokens", "window"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise BudgetError(f"{name} must be a whole number >= 1, not {value!r}")
        if self.placement not in get_args(Placement):
            raise RequestError(
                f"placement must be one of {get_args(Placement)}, not {self.placement!r}"
            )

    def inject(self, request: Request, payload: ContextPayload | None) -> Request:
        """The request with the context in it; the given one stays as it is.

        Raises:
            WindowError: It is larger than the window without any context.
        """
        counter = self._counter(request.model)
        size = self._size(request, counter)
        window = self.window or _profile_window(request.model)
        room = self.max_tokens
        if window is not None:
            spent = size + _schema_tokens(request, counter)
            if spent > window:
                raise WindowError(
                    f"the conversation and its tools take {spent} tokens, and the model can read "
                    f"{window}: shorten the history, for example with SummarizationMiddleware",
                    needed=spent,
                    available=window,
                )
            room = min(room, window - spent)
        for placement, part in self._parts(payload):
            request, room = self._added(request, part, placement, room=room, counter=counter)
        return request

    def _added(
        self,
        request: Request,
        part: ContextPayload,
        placement: Placement,
        *,
        room: int,
        counter: TokenCounter,
    ) -> tuple[Request, int]:
        """The request with one block more, and the room that is left."""
        before = self._size(request, counter)

        def cost(block: str) -> int:
            return self._size(_placed(request, block, placement), counter) - before

        block = fit_block(part, room, counter=counter, cost=cost, renderings=self.renderings)
        if block is None:
            return request, room
        return _placed(request, block, placement), room - cost(block)

    def _parts(self, payload: ContextPayload | None) -> list[tuple[Placement, ContextPayload]]:
        if payload is None or not payload.fragments:
            return []
        if self.placement == "system":
            return [("system", payload)]
        inherited = payload.skeleton_fragments
        own = tuple(f for f in payload.fragments if f.fragment_id not in payload.skeleton_ids)
        split: list[tuple[Placement, Any]] = [("system", inherited), ("message", own)]
        return [(p, ContextPayload(fragments=f, layout=payload.layout)) for p, f in split if f]

    def _size(self, request: Request, counter: TokenCounter) -> int:
        system = [request.system_message] if request.system_message is not None else []
        messages = [*system, *request.messages]
        return self.count(messages) if self.count else count_messages(messages, counter)

    def _counter(self, model: Any) -> TokenCounter:
        if self.tokenizer is not None:
            return token_counter(self.tokenizer)
        names = (getattr(model, name, None) for name in ("model_name", "model"))
        return token_counter(next((n for n in names if isinstance(n, str) and n.strip()), None))


def _placed(request: Request, block: str, placement: Placement) -> Request:
    if placement == "system":
        return request.override(system_message=in_system(request.system_message, block))
    return request.override(messages=before_question(request.messages, block))


def _profile_window(model: Any) -> int | None:
    profile = getattr(model, "profile", None)
    tokens = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    return tokens if isinstance(tokens, int) and tokens > 0 else None


def _schema_tokens(request: Request, counter: TokenCounter) -> int:
    schemas: list[Any] = list(request.tools)
    if (asked := request.response_format) is not None:
        # whichever way it is asked for in the end, the schema travels along
        specs = ToolStrategy(asked.schema).schema_specs
        schemas.extend({"name": s.name, "schema": s.json_schema} for s in specs)
    return count_schemas(schemas, counter)
