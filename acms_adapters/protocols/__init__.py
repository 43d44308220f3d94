"""What the parts of the pipeline ask of each other (ruling B1)."""

from acms_adapters.models.hit import Direction
from acms_adapters.protocols.backend_set import BackendSet
from acms_adapters.protocols.counting import Embedder, TokenCounter
from acms_adapters.protocols.memo import RequestMemo
from acms_adapters.protocols.stores import (
    GraphBackend,
    ListsRenderings,
    RatesNodes,
    RenderingSource,
    ResolvesNames,
    SearchesText,
    SharesNames,
    TemporalBackend,
    TextBackend,
    VectorBackend,
)
from acms_adapters.protocols.strategy import ContextStrategy

__all__ = [
    "BackendSet",
    "ContextStrategy",
    "Direction",
    "Embedder",
    "GraphBackend",
    "ListsRenderings",
    "RatesNodes",
    "RenderingSource",
    "RequestMemo",
    "ResolvesNames",
    "SearchesText",
    "SharesNames",
    "TemporalBackend",
    "TextBackend",
    "TokenCounter",
    "VectorBackend",
]
