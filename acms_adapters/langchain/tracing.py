"""What LangChain's callbacks are told of an assembly: a run for each strategy, and one event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from functools import partial
from typing import Any, Protocol

from langchain_core.callbacks import (
    AsyncCallbackManager,
    CallbackManager,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import (
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    patch_config,
    set_config_context,
)

from acms_adapters.errors import RequestError
from acms_adapters.models import ContextPayload, ContextRequest
from acms_adapters.pipeline import AROUND_STRATEGY

ASSEMBLED = "acms.assembled"
"""Name of the custom event that carries figures and ledger of an assembly (ruling A5)."""

MOST_ENTRIES = 100
"""Entries of the ledger that an event carries; its counts are of all of them."""


class Assembles(Protocol):
    """What an adapter needs of a pipeline."""

    def assemble(self, *positional: Any, **named: Any) -> ContextPayload:
        """See `ACMSPipeline.assemble`."""
        ...

    async def aassemble(self, *positional: Any, **named: Any) -> ContextPayload:
        """See `ACMSPipeline.aassemble`."""
        ...


def checked_pipeline(pipeline: Any) -> Any:
    """The pipeline, if it is one.

    Raises:
        RequestError: It is something else, such as a retriever over a pipeline.
    """
    if isinstance(pipeline, Runnable) or not hasattr(pipeline, "aassemble"):
        hint = "; pass the retriever's `pipeline`" if hasattr(pipeline, "pipeline") else ""
        raise RequestError(f"pipeline must be an ACMSPipeline, not {pipeline!r:.80}{hint}")
    return pipeline


def assemble_below(
    config: RunnableConfig, pipeline: Assembles, request: ContextRequest, **options: Any
) -> ContextPayload:
    """Assemble with runs below those of `config`, and tell of it there."""
    with nested(config) as context:
        payload = context.run(pipeline.assemble, request, **options)
        context.run(dispatch_custom_event, ASSEMBLED, summary(payload))
    return payload


async def aassemble_below(
    config: RunnableConfig, pipeline: Assembles, request: ContextRequest, **options: Any
) -> ContextPayload:
    """The same as `assemble_below`, without blocking the event loop."""
    with nested(config) as context:
        assembling = pipeline.aassemble(request, **options)
        payload = await asyncio.create_task(assembling, context=context)
        await adispatch_custom_event(ASSEMBLED, summary(payload), config=config)
    return payload


def tell(config: RunnableConfig, payload: ContextPayload) -> None:
    """Tell below `config` of a context for which nothing was searched."""
    with set_config_context(config) as context:
        context.run(dispatch_custom_event, ASSEMBLED, summary(payload))


async def atell(config: RunnableConfig, payload: ContextPayload) -> None:
    """The same as `tell`, without blocking the event loop."""
    await adispatch_custom_event(ASSEMBLED, summary(payload), config=config)


@contextmanager
def nested(config: RunnableConfig) -> Iterator[Context]:
    """A context in which runs lie below those of `config`, and each strategy is such a run.

    Strategies appear as chain runs named and tagged ``acms:strategy:<name>``; what they call of
    LangChain lies below them.
    """
    with set_config_context(config) as context:
        context.run(AROUND_STRATEGY.set, partial(_around, config))
        yield context


def summary(payload: ContextPayload) -> dict[str, Any]:
    """Figures, failures and ledger of a payload, as JSON types."""
    entries = payload.ledger.entries
    return {
        "metrics": payload.metrics,
        "failures": [str(failure) for failure in payload.failures],
        "reasons": {reason.value: count for reason, count in payload.ledger.by_reason().items()},
        "left_out": [
            {"uko_node": entry.uko_node, "reason": entry.reason.value, "why": entry.explain()}
            for entry in entries[:MOST_ENTRIES]
        ],
    }


def _around(config: RunnableConfig, name: str, run: Callable[[], Any]) -> Any:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # on a thread of its own
        return _traced(config, name, run)
    return loop.create_task(_atraced(config, name, run))


def _traced(config: RunnableConfig, name: str, run: Callable[[], Any]) -> Any:
    label = f"acms:strategy:{name}"
    manager = get_callback_manager_for_config(config)
    _tag(manager, label)
    traced = manager.on_chain_start(None, {"strategy": name}, name=label)
    below = patch_config(config, callbacks=traced.get_child())
    with set_config_context(below) as context:
        try:
            delivery = context.run(run)
        except BaseException as error:
            traced.on_chain_error(error)
            raise
    traced.on_chain_end(_figures(delivery))
    return delivery


async def _atraced(config: RunnableConfig, name: str, run: Callable[[], Any]) -> Any:
    label = f"acms:strategy:{name}"
    manager = get_async_callback_manager_for_config(config)
    _tag(manager, label)
    traced = await manager.on_chain_start(None, {"strategy": name}, name=label)
    below = patch_config(config, callbacks=traced.get_child())
    with set_config_context(below) as context:
        try:
            delivery = await context.run(run)
        except BaseException as error:
            await traced.on_chain_error(error)
            raise
    await traced.on_chain_end(_figures(delivery))
    return delivery


def _tag(manager: CallbackManager | AsyncCallbackManager, label: str) -> None:
    manager.add_tags([label], inherit=False)


def _figures(delivery: Any) -> dict[str, int]:
    return {
        "fragments": len(delivery.kept),
        "tokens": sum(fragment.token_count for fragment in delivery.kept),
        "reserve": len(delivery.reserve),
    }
