"""The write side that all vector stores share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from acms_adapters.models.hit import SearchHit
from acms_adapters.protocols import VectorBackend

Hydrate = Callable[[Sequence[str]], Mapping[str, SearchHit]]
"""Gives the nodes that are there, by URI; those it leaves out are no longer found."""


@runtime_checkable
class VectorIndex(VectorBackend, Protocol):
    """A vector backend that can be filled.

    Writing is idempotent by node (ruling B3).
    """

    @property
    def embedder_name(self) -> str | None:
        """The embedder whose vectors are kept, where it was named."""
        ...

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors; None before the first."""
        ...

    @property
    def stamp(self) -> str:
        """Another one after every write, so equal stamps mean that nothing was written since."""
        ...

    def upsert(
        self,
        ids: Sequence[object],
        vectors: Any,
        *,
        hashes: Sequence[str] | None = None,
        resource_uris: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        contents: Sequence[str | None] | None = None,
        metadatas: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Keep a vector for each node, replacing whatever was kept of it.

        Args:
            ids: URIs of the nodes, read as strings; of equal ones in a call the last counts.
            vectors: A row for each id.
            hashes: Of the texts the vectors were made from; `hashes` gives them back.
            resource_uris: For scopes; left out, the node itself.
            resource_types: For filters.
            contents: Texts, where no other store gives them.
            metadatas: Anything JSON can hold, where no other store gives it.

        Raises:
            RequestError: Lengths differ, or a vector holds what is no finite number.
            EmbedderMismatchError: A vector has another size than those already there.
        """
        ...

    def remove(self, ids: Iterable[object]) -> None:
        """Forget nodes; those that are not there are no error."""
        ...

    def hashes(self) -> dict[str, str]:
        """The hash of each node's text; empty where none was given."""
        ...

    def unreadable(self) -> list[str]:
        """Nodes whose vector is lost or damaged; all of them are looked at."""
        ...

    def count(self) -> int:
        """How many nodes there are."""
        ...

    def reopen(self) -> None:
        """See what other processes wrote."""
        ...

    def close(self) -> None:
        """Give back what is held; closing twice is no error."""
        ...
