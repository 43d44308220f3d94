"""Vectors in Chroma: in a folder, on a server, or in a client of the caller's."""

from __future__ import annotations

from acms_adapters.backends.chroma.backend import ChromaVectorBackend
from acms_adapters.backends.chroma.failures import DamagedVectorsError
from acms_adapters.backends.chroma.files import drop_files

__all__ = ["ChromaVectorBackend", "DamagedVectorsError", "drop_files"]
