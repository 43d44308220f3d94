"""Nearest vectors: what every store of them shares, and one that lives in memory."""

from __future__ import annotations

from acms_adapters.backends.vectors.index import Hydrate, VectorIndex
from acms_adapters.backends.vectors.memory import MemoryVectorBackend

__all__ = ["Hydrate", "MemoryVectorBackend", "VectorIndex"]
