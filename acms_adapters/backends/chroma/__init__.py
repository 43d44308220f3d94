"""Vectors in Chroma: in a folder, on a server, or in a client of the caller's."""

from __future__ import annotations

from acms_adapters.backends.chroma.backend import ChromaVectorBackend

__all__ = ["ChromaVectorBackend"]
