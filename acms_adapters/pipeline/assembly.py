"""The whole pipeline behind one call: orchestrate strategies, fuse fragments, finalise."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Self, Unpack, overload

from acms_adapters.backends.embedders import CharacterFrequencyEmbedder, as_embedder
from acms_adapters.config import Settings
from acms_adapters.errors import NothingAnsweredError
from acms_adapters.models import (
    ContextFragment,
    ContextPayload,
    ContextRequest,
    StrategyFailure,
)
from acms_adapters.models.base import as_utc, now_utc
from acms_adapters.pipeline.call import read_call
from acms_adapters.pipeline.candidates import searchable
from acms_adapters.pipeline.coordinator import StrategyCoordinator
from acms_adapters.pipeline.coordinator_config import CoordinationResult
from acms_adapters.pipeline.finish import Finisher, Found
from acms_adapters.pipeline.fragment_orderer import OrderKey
from acms_adapters.pipeline.fusion import FusionEngine
from acms_adapters.pipeline.refresh import carrying, counter_for, freshen
from acms_adapters.pipeline.run import Options, Run
from acms_adapters.pipeline.scope import resolve_scope
from acms_adapters.pipeline.setup import (
    coordinator_config,
    fusion_config,
    preamble_generator,
    skeleton_compressor,
)
from acms_adapters.pipeline.signatures import Asked, Budget, ForPlan, ForQuestion
from acms_adapters.pipeline.spec_adapter import SpecStrategyAdapter
from acms_adapters.protocols import BackendSet, RequestMemo
from acms_adapters.registry import StrategyRegistry
from acms_adapters.tokens import token_counter


class ACMSPipeline:
    """Decides what a model reads.

    Safe to share between threads; circuit breakers and caches live in this object.

    Args:
        settings: Configuration, a mapping of it, or None for the defaults.
        backends: What strategies may ask; none means that fragments come with each call.
        strategies: Strategies to use; None takes those installed.
        embedder: Embeds the caller's own fragments; anything `as_embedder` reads.
        counter: How to count tokens where a request names no tokenizer; anything
            `token_counter` reads.
        order_key: Sort key of the order `custom`.
        clock: Gives the current time; read once for each call (ruling T1).
    """

    def __init__(
        self,
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        backends: BackendSet | Mapping[str, Any] | None = None,
        strategies: Iterable[Any] | None = None,
        embedder: Any = None,
        counter: Any = None,
        order_key: OrderKey | None = None,
        clock: Callable[[], datetime] = now_utc,
    ) -> None:
        self.settings = Settings.of(settings)
        self.backends = BackendSet.of(backends)
        self.registry = StrategyRegistry(
            self.settings, strategies=strategies, adapt=SpecStrategyAdapter.bridge
        )
        if embedder is None:
            embedder = self.settings.embedding_model or CharacterFrequencyEmbedder.name
        self._embedder = embedder
        self._counter = counter if counter is not None else self.backends.counter
        self._clock = clock
        self._coordinator = self._new_coordinator()
        self._finisher = Finisher(
            FusionEngine(config=fusion_config(self.settings, order_key)),
            preamble_generator(self.settings),
            skeleton_compressor(self.settings),
            project_ratio=self.settings.skeleton_ratio,
            shares_by_tier=self.settings.allocator_strategy == "tier",
        )

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        """The pipeline itself, which has connections and threads of its own."""
        return self

    def register_strategy(self, name: str, strategy: Any) -> None:
        """Add a strategy, of either protocol form (ruling S1), and enable it.

        Raises:
            TypeError: It is no strategy.
            ValueError: The name is taken or is not the strategy's own.
        """
        self.registry.register(name, strategy)
        # its table in the configuration counts from now on; failures are counted anew
        self._coordinator = self._new_coordinator()

    def _new_coordinator(self) -> StrategyCoordinator:
        return StrategyCoordinator(config=coordinator_config(self.settings, self.registry))

    @overload
    def assemble(
        self, request_or_query: Asked = None, /, **options: Unpack[ForQuestion]
    ) -> ContextPayload: ...

    @overload
    def assemble(
        self,
        plan_id: str | None,
        fragments: Iterable[ContextFragment] | None,
        budget: Budget = None,
        strategy: str | None = None,
        request: Asked = None,
        **options: Unpack[ForPlan],
    ) -> ContextPayload: ...

    def assemble(self, *positional: Any, **named: Any) -> ContextPayload:
        """Assemble context, in either of two forms.

        ``assemble(request_or_query, *, budget=None, plan=None, fragments=None, strategy=None,
        max_fragments=None)`` asks a question; ``assemble(plan_id, fragments, budget,
        strategy=None, request=None)`` ranks fragments for a plan. Both take ``layout``,
        ``on_failure``, ``previous`` and ``order`` as well; see `Options`.

        Returns:
            A payload whose rendered text is within the budget, with a ledger of what was left out.

        Raises:
            NothingAnsweredError: Every strategy failed and there is nothing to return, unless
                ``on_failure="degrade"``.
            UnknownNameError: `strategy` is not registered.
            ValueError: A value is outside its range.
        """
        with self._open(positional, named) as run:
            coordination = None
            if run.searches:
                coordination = self._coordinator.coordinate(**self._orders(run))
            return self._close(run, coordination)

    @overload
    async def aassemble(
        self, request_or_query: Asked = None, /, **options: Unpack[ForQuestion]
    ) -> ContextPayload: ...

    @overload
    async def aassemble(
        self,
        plan_id: str | None,
        fragments: Iterable[ContextFragment] | None,
        budget: Budget = None,
        strategy: str | None = None,
        request: Asked = None,
        **options: Unpack[ForPlan],
    ) -> ContextPayload: ...

    async def aassemble(self, *positional: Any, **named: Any) -> ContextPayload:
        """The same as `assemble`, without ever blocking the event loop."""
        opened = self._open(positional, named)
        run = await asyncio.to_thread(opened.__enter__)
        try:
            coordination = None
            if run.searches:
                coordination = await self._coordinator.acoordinate(**self._orders(run))
            return await asyncio.to_thread(self._close, run, coordination)
        finally:
            await asyncio.to_thread(opened.__exit__, None, None, None)

    @contextmanager
    def _open(self, positional: tuple[Any, ...], named: dict[str, Any]) -> Iterator[Run]:
        started = time.perf_counter()
        options = Options(**{name: named.pop(name) for name in Options.__slots__ if name in named})
        call = read_call(positional, named)
        if call.strategy is not None:
            self.registry.get(call.strategy)
        asked = call.request.tokenizer
        counter = token_counter(self._counter if asked is None else asked)
        assembled_at = as_utc(self._clock())
        now = call.request.as_of or assembled_at
        backends = self.backends.with_(counter=counter, now=now, memo=RequestMemo())
        with searchable(
            call.candidates,
            base=backends,
            embedder=as_embedder(self._embedder),
        ) as candidates:
            yield Run(
                call=call,
                options=options,
                budget=call.budget or self.settings.budget,
                counter=counter,
                candidates=candidates,
                now=now,
                assembled_at=assembled_at,
                started=started,
            )

    def _orders(self, run: Run) -> dict[str, Any]:
        return {
            "request": run.call.request,
            "strategies": self.registry.enabled(),
            "registered": self.registry.all(),
            "named": run.call.strategy,
            "budget": run.budget,
            "fragments": run.call.candidates or (),
            "backends": run.candidates.backends,
            "plan_context": run.call.plan_context,
        }

    def resolve_scope(
        self, request: ContextRequest | Mapping[str, Any], *, budget: Any = None, **options: Any
    ) -> ContextPayload:
        """What lies around the focus nodes: above, below and beside them, until the budget is full.

        No strategy is asked; see `acms_adapters.pipeline.scope`. Further options as for `assemble`.
        """
        with self._open((request,), {"budget": budget, **options}) as run:
            around = run.candidates.found(resolve_scope(run.request, run.candidates.backends))
            found = Found(fragments=around, left_out=run.candidates.account((), around))
            return self._finisher.finish(run, found)

    def refresh(
        self, payload: ContextPayload, request: Any = None, **options: Any
    ) -> ContextPayload:
        """Bring a payload up to date for the next step of its plan.

        Only what changed in the store since is fetched again, and what is gone goes; with a
        request, what its strategies find competes with what is there. What stays keeps its place,
        byte for byte. A payload of which nothing changed comes back as it is, unless an option says
        that it is to be read in another way.

        Args:
            payload: The payload that the model read last.
            request: What the next step asks; None for nothing new.
            **options: As for `assemble`; the plan and layout of the payload by default, and its
                budget and tokenizer where the request has none.
        """
        fresh = freshen(payload, self._counting_as(payload, request))
        if request is None and not options and fresh.is_unchanged:
            return payload
        return self.assemble(**carrying(payload, fresh, request, options))

    async def arefresh(
        self, payload: ContextPayload, request: Any = None, **options: Any
    ) -> ContextPayload:
        """The same as `refresh`, without ever blocking the event loop."""
        fresh = await asyncio.to_thread(freshen, payload, self._counting_as(payload, request))
        if request is None and not options and fresh.is_unchanged:
            return payload
        return await self.aassemble(**carrying(payload, fresh, request, options))

    def _counting_as(self, payload: ContextPayload, request: Any) -> BackendSet:
        return self.backends.with_(counter=counter_for(payload, request, self._counter))

    def _close(self, run: Run, coordination: CoordinationResult | None) -> ContextPayload:
        found = _found(run, coordination, self.registry.failures()).inside(run.request)
        payload = self._finisher.finish(run, found.beside(run.options.carried))
        if found.degraded and not payload.fragments and run.options.on_failure == "raise":
            raise NothingAnsweredError(found.failures)
        return payload


def _found(
    run: Run,
    coordination: CoordinationResult | None,
    unusable: tuple[StrategyFailure, ...],
) -> Found:
    given = run.call.candidates or ()
    if coordination is None:
        return Found(fragments=given)
    results, failures = coordination.results, (*coordination.failures, *unusable)
    if given and not run.call.asks and not coordination.fragments:
        # a strategy was named but given nothing to search for: the caller's ranking stands
        return Found(fragments=given, results=results, failures=failures)
    fragments = run.candidates.found(coordination.fragments)
    reserve = run.candidates.found(coordination.reserve)
    return Found(
        fragments=fragments,
        reserve=reserve,
        left_out=run.candidates.account(coordination.left_out, (*fragments, *reserve)),
        results=results,
        failures=failures,
        degraded=all(result.failure is not None for result in results),
    )
