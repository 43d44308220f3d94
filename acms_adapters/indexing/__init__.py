"""Indexing: from folders, documents and nodes to a store that answers."""

from acms_adapters.backends.sqlite import Finding
from acms_adapters.indexing.checking import StoreCheck
from acms_adapters.indexing.report import IndexReport, Progress, Skip
from acms_adapters.indexing.stats import ContextStoreStats
from acms_adapters.indexing.store import ContextStore

__all__ = [
    "ContextStore",
    "ContextStoreStats",
    "Finding",
    "IndexReport",
    "Progress",
    "Skip",
    "StoreCheck",
]
