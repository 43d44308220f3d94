"""The data that flows through the pipeline."""

from acms_adapters.models.base import TIERS, Tier
from acms_adapters.models.budget import ContextBudget
from acms_adapters.models.fragment import ContextFragment, FragmentProvenance, content_hash
from acms_adapters.models.hit import Edge, Rendering, SearchHit
from acms_adapters.models.layout import Layout
from acms_adapters.models.ledger import Ledger, LedgerEntry, LeftOut
from acms_adapters.models.node import IndexedNode, IndexedResource, Reference
from acms_adapters.models.options import StrategyOptions
from acms_adapters.models.payload import ContextPayload, SkeletonMetadata
from acms_adapters.models.plan import Decision, Plan
from acms_adapters.models.plan_context import PlanContext
from acms_adapters.models.request import ContextRequest
from acms_adapters.models.strategy import (
    ContextStrategyResult,
    StrategyCapabilities,
    StrategyFailure,
    StrategyResult,
)
from acms_adapters.models.ulids import new_id

__all__ = [
    "TIERS",
    "ContextBudget",
    "ContextFragment",
    "ContextPayload",
    "ContextRequest",
    "ContextStrategyResult",
    "Decision",
    "Edge",
    "FragmentProvenance",
    "IndexedNode",
    "IndexedResource",
    "Layout",
    "Ledger",
    "LedgerEntry",
    "LeftOut",
    "Plan",
    "PlanContext",
    "Reference",
    "Rendering",
    "SearchHit",
    "SkeletonMetadata",
    "StrategyCapabilities",
    "StrategyFailure",
    "StrategyOptions",
    "StrategyResult",
    "Tier",
    "content_hash",
    "new_id",
]
