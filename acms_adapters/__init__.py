"""Context that fits: what a language model reads, chosen, packed and explained.

Importing this package loads no framework; each public name is loaded at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acms_adapters.lazy import lazy_names

if TYPE_CHECKING:
    from acms_adapters.config import Settings
    from acms_adapters.errors import (
        ACMSError,
        BackendError,
        BudgetError,
        ConfigError,
        EmbedderMismatchError,
        MissingExtraError,
        NothingAnsweredError,
        RequestError,
        SchemaVersionError,
        StoreError,
        StoreLockedError,
        StrategyError,
        TrustError,
        UnknownNameError,
        WindowError,
    )
    from acms_adapters.indexing import ContextStore
    from acms_adapters.models import (
        ContextBudget,
        ContextFragment,
        ContextPayload,
        ContextRequest,
        ContextStrategyResult,
        Decision,
        Edge,
        FragmentProvenance,
        Ledger,
        LedgerEntry,
        LeftOut,
        Plan,
        PlanContext,
        Rendering,
        SearchHit,
        SkeletonMetadata,
        StrategyCapabilities,
        StrategyFailure,
        StrategyResult,
    )
    from acms_adapters.pipeline import (
        DEFAULT_SKELETON_RATIO,
        ACMSPipeline,
        CoordinationResult,
        CoordinatorConfig,
        FusionConfig,
        FusionEngine,
        FusionResult,
        ScorerWeights,
        SkeletonCompressorService,
        SpecStrategyAdapter,
        StrategyCoordinator,
    )
    from acms_adapters.protocols import (
        BackendSet,
        ContextStrategy,
        Embedder,
        GraphBackend,
        RenderingSource,
        TemporalBackend,
        TextBackend,
        TokenCounter,
        VectorBackend,
    )
    from acms_adapters.registry import StrategyRegistry
    from acms_adapters.tokens import token_counter

__version__ = "0.1.0"

_HOMES = {
    "acms_adapters.config": ("Settings",),
    "acms_adapters.errors": (
        "ACMSError",
        "BackendError",
        "BudgetError",
        "ConfigError",
        "EmbedderMismatchError",
        "MissingExtraError",
        "NothingAnsweredError",
        "RequestError",
        "SchemaVersionError",
        "StoreError",
        "StoreLockedError",
        "StrategyError",
        "TrustError",
        "UnknownNameError",
        "WindowError",
    ),
    "acms_adapters.indexing": ("ContextStore",),
    "acms_adapters.models": (
        "ContextBudget",
        "ContextFragment",
        "ContextPayload",
        "ContextRequest",
        "ContextStrategyResult",
        "Decision",
        "Edge",
        "FragmentProvenance",
        "Ledger",
        "LedgerEntry",
        "LeftOut",
        "Plan",
        "PlanContext",
        "Rendering",
        "SearchHit",
        "SkeletonMetadata",
        "StrategyCapabilities",
        "StrategyFailure",
        "StrategyResult",
    ),
    "acms_adapters.pipeline": (
        "ACMSPipeline",
        "CoordinationResult",
        "CoordinatorConfig",
        "DEFAULT_SKELETON_RATIO",
        "FusionConfig",
        "FusionEngine",
        "FusionResult",
        "ScorerWeights",
        "SkeletonCompressorService",
        "SpecStrategyAdapter",
        "StrategyCoordinator",
    ),
    "acms_adapters.protocols": (
        "BackendSet",
        "ContextStrategy",
        "Embedder",
        "GraphBackend",
        "RenderingSource",
        "TemporalBackend",
        "TextBackend",
        "TokenCounter",
        "VectorBackend",
    ),
    "acms_adapters.registry": ("StrategyRegistry",),
    "acms_adapters.tokens": ("token_counter",),
}

__all__ = [
    "DEFAULT_SKELETON_RATIO",
    "ACMSError",
    "ACMSPipeline",
    "BackendError",
    "BackendSet",
    "BudgetError",
    "ConfigError",
    "ContextBudget",
    "ContextFragment",
    "ContextPayload",
    "ContextRequest",
    "ContextStore",
    "ContextStrategy",
    "ContextStrategyResult",
    "CoordinationResult",
    "CoordinatorConfig",
    "Decision",
    "Edge",
    "Embedder",
    "EmbedderMismatchError",
    "FragmentProvenance",
    "FusionConfig",
    "FusionEngine",
    "FusionResult",
    "GraphBackend",
    "Ledger",
    "LedgerEntry",
    "LeftOut",
    "MissingExtraError",
    "NothingAnsweredError",
    "Plan",
    "PlanContext",
    "Rendering",
    "RenderingSource",
    "RequestError",
    "SchemaVersionError",
    "ScorerWeights",
    "SearchHit",
    "Settings",
    "SkeletonCompressorService",
    "SkeletonMetadata",
    "SpecStrategyAdapter",
    "StoreError",
    "StoreLockedError",
    "StrategyCapabilities",
    "StrategyCoordinator",
    "StrategyError",
    "StrategyFailure",
    "StrategyRegistry",
    "StrategyResult",
    "TemporalBackend",
    "TextBackend",
    "TokenCounter",
    "TrustError",
    "UnknownNameError",
    "VectorBackend",
    "WindowError",
    "token_counter",
]


__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
