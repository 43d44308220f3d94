"""Where services that are made once are found."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from acms_adapters.pipeline.skeleton_service import SkeletonCompressorService


@dataclass(slots=True)
class Composition:
    """Makes each service at its first use and hands out that one ever after; thread-safe."""

    _service: SkeletonCompressorService | None = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(
        default_factory=threading.Lock, init=False, repr=False, compare=False
    )

    @property
    def skeleton_compressor_service(self) -> SkeletonCompressorService:
        """The service that compresses by ratio."""
        with self._lock:
            if self._service is None:
                self._service = SkeletonCompressorService()
            return self._service
