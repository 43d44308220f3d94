"""The embedded store: texts, renderings, graph and time in one SQLite file."""

from acms_adapters.backends.sqlite.checking import DAMAGED, Finding
from acms_adapters.backends.sqlite.graph import SQLiteGraphBackend
from acms_adapters.backends.sqlite.renderings import SQLiteRenderings
from acms_adapters.backends.sqlite.stats import StoreStats
from acms_adapters.backends.sqlite.store import BUSY_TIMEOUT_SECONDS, SQLiteStore, VectorInput
from acms_adapters.backends.sqlite.temporal import SQLiteTemporalBackend
from acms_adapters.backends.sqlite.text import SQLiteTextBackend

__all__ = [
    "BUSY_TIMEOUT_SECONDS",
    "DAMAGED",
    "Finding",
    "SQLiteGraphBackend",
    "SQLiteRenderings",
    "SQLiteStore",
    "SQLiteTemporalBackend",
    "SQLiteTextBackend",
    "StoreStats",
    "VectorInput",
]
