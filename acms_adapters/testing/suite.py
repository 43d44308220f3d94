"""What all suites share: declared capabilities, documents, and asking from many threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, ClassVar, TypeVar

import pytest

from acms_adapters.models import FragmentProvenance, SearchHit

Answer = TypeVar("Answer")
Case = TypeVar("Case", bound=Callable[..., None])

_HOME = __name__.rpartition(".")[0]
_PATIENCE = 60.0


def needs(*capabilities: str) -> Callable[[Case], Case]:
    """Mark a case that only a subject with these capabilities can pass."""

    def mark(case: Case) -> Case:
        case.needs = frozenset(capabilities)  # type: ignore[attr-defined]
        return case

    return mark


class Suite:
    """Base of the suites.

    Attributes:
        capabilities: What the subject can do. A subclass takes away what its subject declares not
            to do; the cases that need it are skipped.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()

    @pytest.fixture(autouse=True)
    def _only_what_is_declared(self, request: pytest.FixtureRequest) -> None:
        shipped = (base for base in type(self).__mro__ if base.__module__.startswith(_HOME))
        known: set[str] = set().union(*(vars(base).get("capabilities", ()) for base in shipped))
        if unknown := self.capabilities - known:
            pytest.fail(f"unknown capabilities {sorted(unknown)} (known: {sorted(known)})")
        needed: frozenset[str] = getattr(request.function, "needs", frozenset())
        if lacking := needed - self.capabilities:
            pytest.skip(f"not declared: {', '.join(sorted(lacking))}")


def document(
    node: str,
    content: str = "",
    *,
    resource_uri: str = "",
    resource_type: str = "document",
    location: str = "",
    metadata: Mapping[str, Any] | None = None,
    created_at: datetime | None = None,
) -> SearchHit:
    """A node as a suite hands it to whoever makes a backend."""
    return SearchHit(
        uko_node=node,
        content=content,
        metadata=dict(metadata or {}),
        provenance=FragmentProvenance(
            resource_uri=resource_uri or node, location=location, resource_type=resource_type
        ),
        created_at=created_at,
    )


def nodes_of(hits: Iterable[SearchHit]) -> list[str]:
    """The nodes of hits, in their order."""
    return [hit.uko_node for hit in hits]


def in_threads(ask: Callable[[], Answer], *, threads: int = 8) -> list[Answer]:
    """What as many threads get that ask at the same moment."""
    together = threading.Barrier(threads)

    def wait_and_ask(_: int) -> Answer:
        together.wait(_PATIENCE)
        return ask()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(wait_and_ask, range(threads)))
