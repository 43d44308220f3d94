"""The pipeline where LangChain people work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acms_adapters.lazy import lazy_names

if TYPE_CHECKING:
    from acms_adapters.langchain.retriever import ACMSRetriever

__all__ = ["ACMSRetriever"]

__getattr__ = lazy_names(
    __name__,
    {"acms_adapters.langchain.retriever": ("ACMSRetriever",)},
    extra="langchain",
    needs=("langchain_core", "langchain-core"),
)
