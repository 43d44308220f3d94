"""Everything that a strategy may ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from acms_adapters.errors import RequestError
from acms_adapters.models import ContextFragment, StrategyCapabilities
from acms_adapters.protocols.counting import Embedder, TokenCounter
from acms_adapters.protocols.memo import RequestMemo
from acms_adapters.protocols.stores import (
    GraphBackend,
    RenderingSource,
    SearchesText,
    TemporalBackend,
    TextBackend,
    VectorBackend,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendSet:
    """What strategies may ask; any of it may be missing (ruling S12).

    Attributes:
        text: Finds by words.
        vector: Finds by nearness.
        graph: Walks.
        temporal: Remembers.
        counter: Counts tokens.
        embedder: Embeds questions for `vector`.
        renderings: Texts of nodes at every depth.
        candidates: Fragments the caller brought along.
        flags: Names that a mapping of flags declared available, without an object behind them.
        now: The moment of this request, read once (ruling T1); None where nobody set it.
        seconds: How long the strategy that is asked may take; None where nobody counts.
        memo: What the strategies of this request share; None where each asks for itself.
    """

    text: TextBackend | None = None
    vector: VectorBackend | SearchesText | None = None
    graph: GraphBackend | None = None
    temporal: TemporalBackend | None = None
    counter: TokenCounter | None = None
    embedder: Embedder | None = None
    renderings: RenderingSource | None = None
    candidates: tuple[ContextFragment, ...] = ()
    flags: frozenset[str] = field(default_factory=frozenset)
    now: datetime | None = None
    seconds: float | None = None
    memo: RequestMemo | None = None

    def has(self, name: str) -> bool:
        """Whether the backend called text, vector, graph or temporal is available."""
        return name in self.flags or getattr(self, name) is not None

    def missing(self, capabilities: StrategyCapabilities) -> tuple[str, ...]:
        """Names of the backends that a strategy needs and that are not there."""
        return tuple(name for name in capabilities.needs if not self.has(name))

    def with_(self, **changes: Any) -> BackendSet:
        """A copy with some parts replaced."""
        return replace(self, **changes)

    @classmethod
    def of(cls, value: BackendSet | Mapping[str, Any] | None) -> BackendSet:
        """Read a set: itself, a mapping of backends or of flags, or nothing.

        Raises:
            RequestError: It is none of them, or a name is no part of a set.
        """
        if isinstance(value, BackendSet):
            return value
        if not isinstance(value, Mapping | None):
            raise RequestError(
                f"backends must be a BackendSet or a mapping of names to backends, not {value!r}"
            )
        parts: dict[str, Any] = {}
        flags: set[str] = set()
        for name, part in (value or {}).items():
            if name not in cls.__slots__:
                known = ", ".join(map(str, cls.__slots__))
                raise RequestError(f"unknown backend {name!r} (known: {known})")
            if part is True:
                flags.add(name)
            elif part is not None and part is not False:
                parts[name] = part
        return cls(**parts, flags=frozenset(flags))
