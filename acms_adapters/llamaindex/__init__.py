"""The pipeline where LlamaIndex people work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acms_adapters.lazy import lazy_names

if TYPE_CHECKING:
    from acms_adapters.llamaindex.postprocessor import ACMSNodePostprocessor

__all__ = ["ACMSNodePostprocessor"]

__getattr__ = lazy_names(
    __name__,
    {"acms_adapters.llamaindex.postprocessor": ("ACMSNodePostprocessor",)},
    extra="llama-index",
    needs=("llama_index", "llama-index-core"),
)
