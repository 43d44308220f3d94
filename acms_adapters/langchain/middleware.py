"""Context for LangChain agents."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.runnables.config import ensure_config

from acms_adapters.errors import BudgetError, RequestError
from acms_adapters.langchain.injection import Injector, Placement
from acms_adapters.langchain.state import CONTEXT_KEY, PLAN_KEY, ACMSState
from acms_adapters.langchain.tracing import (
    Assembles,
    aassemble_below,
    assemble_below,
    atell,
    checked_pipeline,
    tell,
)
from acms_adapters.langchain.turns import Turn
from acms_adapters.langchain.window import CountMessages
from acms_adapters.models import ContextPayload, ContextRequest, Plan
from acms_adapters.pipeline.block import fence_tokens
from acms_adapters.pipeline.inherited import INHERITED_KEY, dump_payload, load_json
from acms_adapters.protocols import TemporalBackend
from acms_adapters.tokens import token_counter

logger = logging.getLogger(__name__)


class ACMSContextMiddleware(AgentMiddleware[ACMSState, Any, Any]):
    """Lets an agent read, at each model call, the context of the current turn.

    At the begin of a turn it assembles context for what the person wrote last, in the light of what
    was said in the turns before, and for what a parent handed down. At each model call it puts that
    into one fenced block, as large as there is room. The messages in the state never hold the
    block, and are never cut.

    List it last, so that it counts what the others add.

    Args:
        pipeline: Finds and decides; None for a child that reads only what it inherits.
        max_tokens: Most tokens of the block, its fence included.
        window: Tokens that the model can read; left out, what the model's profile says, else
            unbounded.
        tokenizer: How to count; left out, the model's own encoding where it is known.
        count_messages: Counts messages, such as a model's own counter; left out, by `tokenizer`,
            with 1,600 tokens for an image and an estimate by size for sounds and files.
        request: Fields of `ContextRequest` for every turn.
        placement: Where the agent's own context goes: to the end of the system message, or into a
            message of its own before the question, which leaves a provider's cached prompt as it
            is. Inherited context always goes to the system message (ruling A3).
        archive: Keeps each turn as a plan, archived when the turn ends.
        on_failure: ``degrade`` lets the agent go on without context when no strategy answers.
        name: Name among the agent's middleware.

    Raises:
        ValueError: A value is outside its range.

    A model call raises `WindowError` when the conversation alone is larger than the window.
    """

    state_schema = ACMSState

    def __init__(
        self,
        pipeline: Assembles | None = None,
        *,
        max_tokens: int = 4096,
        window: int | None = None,
        tokenizer: Any = None,
        count_messages: CountMessages | None = None,
        request: Mapping[str, Any] | None = None,
        placement: Placement = "system",
        archive: TemporalBackend | None = None,
        on_failure: Literal["raise", "degrade"] = "raise",
        name: str = "ACMSContextMiddleware",
    ) -> None:
        super().__init__()
        self.tools = ()
        self._pipeline = None if pipeline is None else checked_pipeline(pipeline)
        self._fields: dict[str, Any] = dict(request or {})
        if tokenizer is not None:
            self._fields.setdefault("tokenizer", tokenizer)
        budget = ContextRequest(**self._fields).budget
        self._injector = Injector(
            max_tokens=max_tokens,
            window=window,
            tokenizer=tokenizer,
            count=count_messages,
            placement=placement,
            renderings=getattr(getattr(pipeline, "backends", None), "renderings", None),
        )
        fence = fence_tokens(token_counter(tokenizer))
        self._tokens = max_tokens - fence
        if self._tokens < 1:
            raise BudgetError(
                f"the fence alone takes {fence} tokens: max_tokens must be more, not {max_tokens}",
                needed=fence + 1,
                available=max_tokens,
            )
        if budget is not None:
            self._tokens = min(self._tokens, budget.available_tokens)
        if on_failure not in ("raise", "degrade"):
            raise RequestError(f"on_failure must be 'raise' or 'degrade', not {on_failure!r}")
        self._on_failure = on_failure
        self._archive = archive
        self._name = name

    @property
    def name(self) -> str:
        """Name among the agent's middleware."""
        return self._name

    def before_agent(self, state: ACMSState, runtime: Any) -> dict[str, Any]:
        """Assemble context for the turn."""
        turn = self._begun(state)
        if self._pipeline is None or turn.query is None:
            payload = turn.without_search(self._fields, self._tokens)
            if payload is not None:
                tell(ensure_config(), payload)
        else:
            request = turn.request(self._fields, self._tokens)
            payload = assemble_below(ensure_config(), self._pipeline, request, **self._options())
        return _updates(turn, payload)

    async def abefore_agent(self, state: ACMSState, runtime: Any) -> dict[str, Any]:
        """The same as `before_agent`, without blocking the event loop."""
        turn = await asyncio.to_thread(self._begun, state)
        if self._pipeline is None or turn.query is None:
            payload = await asyncio.to_thread(turn.without_search, self._fields, self._tokens)
            if payload is not None:
                await atell(ensure_config(), payload)
        else:
            request = turn.request(self._fields, self._tokens)
            config = ensure_config()
            payload = await aassemble_below(config, self._pipeline, request, **self._options())
        return _updates(turn, payload)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Let the model read the context."""
        payload = load_json(ContextPayload, request.state.get(CONTEXT_KEY))
        return handler(self._injector.inject(request, payload))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The same as `wrap_model_call`, without blocking the event loop."""
        payload = load_json(ContextPayload, request.state.get(CONTEXT_KEY))
        return await handler(await asyncio.to_thread(self._injector.inject, request, payload))

    def after_agent(self, state: ACMSState, runtime: Any) -> dict[str, Any] | None:
        """Archive the turn, and forget what a parent handed down for it."""
        plan = load_json(Plan, state.get(PLAN_KEY))
        if self._archive is not None and plan is not None:
            if payload := load_json(ContextPayload, state.get(CONTEXT_KEY)):
                known = {
                    "context_payload": payload,
                    "context_hash": payload.context_hash,
                    "skeleton_metadata": payload.skeleton_metadata,
                }
                plan = plan.model_copy(update=known)
            self._record(self._archive, plan, ended=True)
        return {INHERITED_KEY: ""} if state.get(INHERITED_KEY) else None

    async def aafter_agent(self, state: ACMSState, runtime: Any) -> dict[str, Any] | None:
        """The same as `after_agent`, without blocking the event loop."""
        return await asyncio.to_thread(self.after_agent, state, runtime)

    def _options(self) -> dict[str, Any]:
        return {"budget": self._tokens, "layout": "payload", "on_failure": self._on_failure}

    def _begun(self, state: ACMSState) -> Turn:
        turn = Turn.of(state, planned=self._archive is not None)
        if self._archive is not None and turn.plan is not None:
            self._record(self._archive, turn.plan, ended=False)
        return turn

    def _record(self, archive: TemporalBackend, plan: Plan, *, ended: bool) -> None:
        try:
            archive.record(plan)
            if ended:
                archive.archive(plan.plan_id)
        except Exception:  # an answer must not be lost because it cannot be filed
            logger.warning("the turn %s is not recorded", plan.plan_id, exc_info=True)


def _updates(turn: Turn, payload: ContextPayload | None) -> dict[str, Any]:
    if payload is not None and turn.inherited is not None:
        receipt = turn.inherited.taken(payload.skeleton_fragments)
        payload = payload.model_copy(update={"skeleton_metadata": receipt})
    return {
        CONTEXT_KEY: dump_payload(payload) if payload is not None else "",
        PLAN_KEY: turn.plan.model_dump_json() if turn.plan is not None else "",
    }
