"""Writes components.md, strategies.md and models.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from describing import Option, entries, first_sentence, introduction, methods, options

from acms_adapters import (
    ACMSPipeline,
    BackendSet,
    ContextBudget,
    ContextFragment,
    ContextPayload,
    ContextRequest,
    ContextStore,
    ContextStrategy,
    CoordinationResult,
    CoordinatorConfig,
    Decision,
    Edge,
    Embedder,
    FragmentProvenance,
    FusionConfig,
    FusionEngine,
    FusionResult,
    GraphBackend,
    Ledger,
    LedgerEntry,
    Plan,
    PlanContext,
    Rendering,
    RenderingSource,
    ScorerWeights,
    SearchHit,
    SkeletonCompressorService,
    SkeletonMetadata,
    SpecStrategyAdapter,
    StrategyCapabilities,
    StrategyCoordinator,
    StrategyFailure,
    StrategyOptions,
    StrategyRegistry,
    StrategyResult,
    TemporalBackend,
    TextBackend,
    TokenCounter,
    VectorBackend,
)
from acms_adapters.config import facades
from acms_adapters.pipeline import (
    BudgetAllocator,
    BudgetPacker,
    CircuitBreaker,
    Composition,
    DetailDepthResolver,
    FragmentDeduplicator,
    FragmentOrderer,
    FragmentScorer,
    PlanLifecycle,
    PreambleGenerator,
    SkeletonCompressor,
    StrategyExecutor,
    StrategySelector,
)
from acms_adapters.pipeline.run import Options
from acms_adapters.protocols import ResolvesNames, SearchesText

NOTE = (
    "Written from the code by `docs/reference/generate.py`; `tests/test_reference.py` fails when "
    "it is out of date.\n"
)

KEYS: Mapping[type, Mapping[str, str]] = {
    StrategySelector: {
        "threshold": "selector_threshold",
        "max_candidates": "max_candidates",
        "preference_boost": "preference_boost",
    },
    BudgetAllocator: {
        "strategy": "allocator_strategy",
        "min_budget": "allocator_min_budget",
        "max_cap": "per_strategy_max_cap",
    },
    StrategyExecutor: {
        "max_workers": "executor_max_workers",
        "timeout_seconds": "executor_timeout_seconds",
        "circuit_breaker_threshold": "executor_circuit_breaker_threshold",
        "circuit_breaker_reset_timeout": "executor_circuit_breaker_reset_timeout",
        "deadline_seconds": "executor_deadline_seconds",
        "reserve": "executor_reserve",
    },
    FragmentDeduplicator: {
        "strategy": "deduplicator_strategy",
        "merge_provenance": "deduplicator_merge_provenance",
    },
    DetailDepthResolver: {
        "default_depth": "resolver_default_depth",
        "hot_tier_boost": "resolver_hot_tier_boost",
        "budget_aware": "resolver_budget_aware",
    },
    ScorerWeights: facades.SCORER,
    BudgetPacker: {
        "tier_priority": "packer_tier_priority",
        "tier_budget": "tier_budget",
        "depth_fallback_steps": "depth_fallback_steps",
        "min_fragment_tokens": "min_fragment_tokens",
    },
    FragmentOrderer: {"strategy": "orderer_strategy"},
    PreambleGenerator: facades.PREAMBLE,
    SkeletonCompressor: facades.COMPRESSOR,
    CoordinatorConfig: facades.COORDINATOR,
    FusionConfig: facades.FUSION,
}
"""Option of a class to the key of a file that sets it."""

COMPONENTS: Mapping[str, tuple[type, ...]] = {
    "Phase 1: coordinate": (
        StrategyCoordinator,
        CoordinatorConfig,
        CoordinationResult,
        StrategySelector,
        BudgetAllocator,
        StrategyExecutor,
        CircuitBreaker,
    ),
    "Phase 2: fuse": (
        FusionEngine,
        FusionConfig,
        FusionResult,
        FragmentDeduplicator,
        DetailDepthResolver,
        FragmentScorer,
        ScorerWeights,
        BudgetPacker,
        FragmentOrderer,
    ),
    "Phase 3: finish": (PreambleGenerator, SkeletonCompressor, SkeletonCompressorService),
    "The whole": (
        ACMSPipeline,
        Options,
        PlanLifecycle,
        StrategyRegistry,
        SpecStrategyAdapter,
        Composition,
    ),
    "Stores": (ContextStore, BackendSet),
}

MODELS: Mapping[str, tuple[type, ...]] = {
    "What is asked": (ContextRequest, ContextBudget, PlanContext),
    "What is read": (ContextPayload, ContextFragment, FragmentProvenance, SkeletonMetadata),
    "What was left out": (Ledger, LedgerEntry),
    "Plans": (Plan, Decision),
    "Strategies": (StrategyCapabilities, StrategyOptions, StrategyResult, StrategyFailure),
    "Backends": (SearchHit, Edge, Rendering),
}

INSIDE = {"rank", "shares", "options", "breaker", "guards", "deadline", "round", "fit", "of"}
"""Methods that components have for each other."""

SET_BY_THE_PIPELINE = {"carried", "flags", "memo", "now", "seconds"}

PROTOCOLS = (
    ContextStrategy,
    TextBackend,
    VectorBackend,
    SearchesText,
    GraphBackend,
    ResolvesNames,
    TemporalBackend,
    RenderingSource,
    Embedder,
    TokenCounter,
)

TITLES = {Options: "Options of assemble"}


def components_page() -> str:
    """Each component and facade, with its options and methods."""
    intro = (
        "# Components\n\n" + NOTE + "\nThe components are in `acms_adapters.pipeline`, the facades "
        "over them (`StrategyCoordinator`, `FusionEngine`, `ACMSPipeline`) also in "
        "`acms_adapters`. Keys stand in `[context.strategies]`; where a facade has another default "
        "than a file, [profiles](profiles.md#defaults-that-differ) says why.\n"
    )
    protocols = (
        "\n## Protocols\n\nWhat an object must have to serve as one; nothing is inherited. A "
        "backend may add a coroutine of the same name with an `a` in front.\n"
    )
    parts = map(_part, COMPONENTS.items())
    return intro + "".join(parts) + protocols + "".join(map(_section, PROTOCOLS))


def models_page() -> str:
    """Each model with its fields."""
    intro = (
        "# Models\n\n" + NOTE + "\nAll are frozen and refuse unknown fields; `derived` means that "
        "a field left out follows from the others.\n"
    )
    return intro + "".join(map(_part, MODELS.items()))


def strategies_page() -> str:
    """Each built-in strategy with what it needs and its options."""
    registry = StrategyRegistry()
    built_in = [s for s in registry.all() if "'acms_strategies." in registry.source(s.name)]
    enabled = {strategy.name for strategy in registry.enabled()}
    rows = [
        f"| [`{s.name}`](#{s.name}) | {s.capabilities.quality_score:g} | "
        f"{', '.join(s.capabilities.needs)} | {'yes' if s.name in enabled else 'no'} | "
        f"{_addressed(s)} |"
        for s in sorted(built_in, key=lambda s: -s.capabilities.quality_score)
    ]
    head = "| strategy | quality | needs | enabled | takes part if |\n|---|---|---|---|---|\n"
    common = _table(options(StrategyOptions), {})
    intro = (
        "# Strategies\n\n" + NOTE + "\nQuality is the confidence of a strategy that can serve a "
        "request, and so its part of the budget. [Choosing one](../guides/strategies.md).\n\n"
    )
    parts = [intro, head, "\n".join(rows), "\n\n## Options of every strategy\n\n", common]
    for s in built_in:
        own = [o for o in options(type(s.options)) if _differs(o)]
        parts.append(f"\n## {s.name}\n\n{s.explain()}\n\n{_extras(s.capabilities)}")
        parts.append(_table(own, {}))
    return "".join(parts)


def _part(part: tuple[str, Iterable[type]]) -> str:
    title, kinds = part
    return f"\n## {title}\n" + "".join(map(_section, kinds))


def _section(kind: type) -> str:
    text = f"\n### {TITLES.get(kind, kind.__name__)}\n\n{introduction(kind)}\n"
    found = [option for option in _options(kind) if option.name not in SET_BY_THE_PIPELINE]
    if found:
        text += "\n" + _table(found, KEYS.get(kind, {}))
    members = [*methods(kind)]
    if kind in PROTOCOLS:
        members = [*entries(kind.__doc__ or "", "Attributes").items(), *members]
    rows = [
        f"| `{called}` | {said} |"
        for called, said in members
        if said and called.partition("(")[0] not in INSIDE
    ]
    if rows:
        text += "\n| has | |\n|---|---|\n" + "\n".join(rows) + "\n"
    return text


def _options(kind: type) -> list[Option]:
    # a store is opened, and a protocol is no class to make objects of
    return [] if kind is ContextStore or kind in PROTOCOLS else options(kind)


def _table(found: Iterable[Option], keys: Mapping[str, str]) -> str:
    head = ["option", "default", "values", *(["key"] if keys else []), ""]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for option in found:
        key = [f"`{keys[option.name]}`" if option.name in keys else "–"] if keys else []
        cells = [f"`{option.name}`", option.default, option.values, *key, option.meaning]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def _addressed(strategy: object) -> str:
    said = first_sentence(type(strategy).is_addressed.__doc__ or "")  # type: ignore[attr-defined]
    return said.removeprefix("Whether ").rstrip(".")


def _extras(capabilities: StrategyCapabilities) -> str:
    said = entries(StrategyCapabilities.__doc__ or "", "Attributes")
    names = [n for n in said if n.startswith("supports_") and getattr(capabilities, n)]
    return "".join(f"- {said[name]}\n" for name in names) + ("\n" if names else "")


def _differs(option: Option) -> bool:
    general = {o.name: o for o in options(StrategyOptions)}.get(option.name)
    return general is None or general.default != option.default
