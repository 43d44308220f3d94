"""The pipeline where LangChain people work.

Needs the extra `langchain`; what has to do with agents or LangGraph stores needs `agents`. Each
name is loaded at its first use.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from acms_adapters.errors import MissingExtraError
from acms_adapters.lazy import lazy_names

if TYPE_CHECKING:
    from acms_adapters.langchain.compressor import ACMSDocumentCompressor
    from acms_adapters.langchain.delegation import ACMSDelegationMiddleware, delegate_tool
    from acms_adapters.langchain.handoff import receipt_of
    from acms_adapters.langchain.memory import InheritedContext, inheriting
    from acms_adapters.langchain.middleware import ACMSContextMiddleware
    from acms_adapters.langchain.reranking import RerankingPipeline
    from acms_adapters.langchain.retriever import ACMSRetriever
    from acms_adapters.langchain.state import ACMSState
    from acms_adapters.langchain.stores.graph import DocumentGraphBackend
    from acms_adapters.langchain.stores.skeletons import SkeletonStore
    from acms_adapters.langchain.stores.temporal import LangGraphTemporalBackend
    from acms_adapters.langchain.stores.text import RetrieverTextBackend
    from acms_adapters.langchain.stores.vector import VectorStoreBackend
    from acms_adapters.langchain.tools import retriever_tool
    from acms_adapters.pipeline.handing_down import hand_down
    from acms_adapters.pipeline.inherited import INHERITED_KEY

_CORE = {
    "compressor": ("ACMSDocumentCompressor",),
    "memory": ("InheritedContext", "inheriting"),
    "reranking": ("RerankingPipeline",),
    "retriever": ("ACMSRetriever",),
    "stores.graph": ("DocumentGraphBackend",),
    "stores.text": ("RetrieverTextBackend",),
    "stores.vector": ("VectorStoreBackend",),
}
_AGENTS = {
    "delegation": ("ACMSDelegationMiddleware", "delegate_tool"),
    "handoff": ("receipt_of",),
    "middleware": ("ACMSContextMiddleware",),
    "state": ("ACMSState",),
    "stores.skeletons": ("SkeletonStore",),
    "stores.temporal": ("LangGraphTemporalBackend",),
    "tools": ("retriever_tool",),
}
_OF_AGENTS = frozenset(name for names in _AGENTS.values() for name in names)

__all__ = [
    "INHERITED_KEY",
    "ACMSContextMiddleware",
    "ACMSDelegationMiddleware",
    "ACMSDocumentCompressor",
    "ACMSRetriever",
    "ACMSState",
    "DocumentGraphBackend",
    "InheritedContext",
    "LangGraphTemporalBackend",
    "RerankingPipeline",
    "RetrieverTextBackend",
    "SkeletonStore",
    "VectorStoreBackend",
    "delegate_tool",
    "hand_down",
    "inheriting",
    "receipt_of",
    "retriever_tool",
]

_load = lazy_names(
    __name__,
    {
        "acms_adapters.pipeline.handing_down": ("hand_down",),
        "acms_adapters.pipeline.inherited": ("INHERITED_KEY",),
        **{f"{__name__}.{home}": names for home, names in {**_CORE, **_AGENTS}.items()},
    },
    extra="langchain",
    needs=("langchain_core", "langchain-core"),
)


def __getattr__(name: str) -> Any:
    if name in _OF_AGENTS:
        for module in ("langchain", "langgraph"):
            if find_spec(module) is None:
                raise MissingExtraError(name, extra="agents", package=module)
    return _load(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
