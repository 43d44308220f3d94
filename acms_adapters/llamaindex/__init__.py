"""The pipeline where LlamaIndex people work.

Needs the extra `llama-index`. Each name is loaded at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acms_adapters.lazy import lazy_names

if TYPE_CHECKING:
    from acms_adapters.llamaindex.agent import ACMSFunctionAgent
    from acms_adapters.llamaindex.delegation import Delegated, delegate_tool
    from acms_adapters.llamaindex.events import ContextPackedEvent
    from acms_adapters.llamaindex.handover import context_of, hand_over
    from acms_adapters.llamaindex.memory import ACMSMemoryBlock
    from acms_adapters.llamaindex.postprocessor import ACMSNodePostprocessor
    from acms_adapters.llamaindex.retriever import ACMSRetriever
    from acms_adapters.llamaindex.stores.docstore import DocstoreBackends
    from acms_adapters.llamaindex.stores.graph import PropertyGraphBackend
    from acms_adapters.llamaindex.stores.traits import GraphStoreTraits
    from acms_adapters.llamaindex.stores.vector import HybridStoreBackend, VectorStoreBackend
    from acms_adapters.llamaindex.synthesis import budget_for
    from acms_adapters.pipeline.handing_down import hand_down

_HOMES = {
    "acms_adapters.llamaindex.agent": ("ACMSFunctionAgent",),
    "acms_adapters.llamaindex.delegation": ("Delegated", "delegate_tool"),
    "acms_adapters.llamaindex.events": ("ContextPackedEvent",),
    "acms_adapters.llamaindex.handover": ("context_of", "hand_over"),
    "acms_adapters.llamaindex.memory": ("ACMSMemoryBlock",),
    "acms_adapters.llamaindex.postprocessor": ("ACMSNodePostprocessor",),
    "acms_adapters.llamaindex.retriever": ("ACMSRetriever",),
    "acms_adapters.llamaindex.stores.docstore": ("DocstoreBackends",),
    "acms_adapters.llamaindex.stores.graph": ("PropertyGraphBackend",),
    "acms_adapters.llamaindex.stores.traits": ("GraphStoreTraits",),
    "acms_adapters.llamaindex.stores.vector": ("HybridStoreBackend", "VectorStoreBackend"),
    "acms_adapters.llamaindex.synthesis": ("budget_for",),
    "acms_adapters.pipeline.handing_down": ("hand_down",),
}

__all__ = [
    "ACMSFunctionAgent",
    "ACMSMemoryBlock",
    "ACMSNodePostprocessor",
    "ACMSRetriever",
    "ContextPackedEvent",
    "Delegated",
    "DocstoreBackends",
    "GraphStoreTraits",
    "HybridStoreBackend",
    "PropertyGraphBackend",
    "VectorStoreBackend",
    "budget_for",
    "context_of",
    "delegate_tool",
    "hand_down",
    "hand_over",
]

__getattr__ = lazy_names(
    __name__, _HOMES, extra="llama-index", needs=("llama_index", "llama-index-core")
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
