"""Writing resources into a store: tokens counted, references resolved, vectors made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.indexing.embedding_text import text_to_embed
from acms_adapters.indexing.entries import Entry, to_resource, unique
from acms_adapters.indexing.report import IndexReport, Progress, Skip
from acms_adapters.indexing.vectors import NodeVectors
from acms_adapters.models import IndexedResource, content_hash
from acms_adapters.protocols import TokenCounter

BATCH_CHARS = 4_000_000
"""Text written in one transaction: a crash loses no more, and readers see it no later."""


class Writer:
    """The only way into a store."""

    def __init__(
        self, texts: SQLiteStore, vectors: NodeVectors | None, counter: TokenCounter
    ) -> None:
        self._texts = texts
        self._vectors = vectors
        self._counter = counter

    def put(self, resources: Iterable[IndexedResource]) -> None:
        """Write resources, which may be made meanwhile, in transactions of some megabytes."""
        for batch in _batches(resources):
            self._remember()
            with self._texts.transaction():
                for resource in batch:
                    self._texts.replace(
                        resource,
                        token_counts=self._count(resource),
                        vector_hashes={
                            node.uko_node: content_hash(text_to_embed(node))
                            for node in resource.nodes
                        },
                    )

    def finish(self, progress: Progress, *, removed: Sequence[str] = ()) -> None:
        """Remove resources that are gone, then bring edges and vectors in line with the texts.

        What an interrupted run left is brought in line too.
        """
        if removed:
            self._remember()
        with self._texts.transaction():
            for uri in removed:
                self._texts.remove(uri)
            self._texts.resolve_references()
        if self._vectors is not None:
            self._vectors.update(progress)

    def add_entries(
        self, kind: str, entries: Iterable[Entry | Skip], *, progress: Progress
    ) -> IndexReport:
        """Keep what a caller brought; what is kept already is left alone."""
        kept, skipped = unique(entries)
        known = self._texts.hashes()
        added: list[str] = []
        changed: list[str] = []

        def fresh() -> Iterator[IndexedResource]:
            for done, entry in enumerate(kept, start=1):
                resource = to_resource(entry)
                if known.get(entry.uri) != resource.content_hash:
                    (changed if entry.uri in known else added).append(entry.uri)
                    yield resource
                progress("reading", done, len(kept))

        self.put(fresh())
        self.finish(progress)
        return IndexReport(
            kind=kind,
            added=tuple(added),
            changed=tuple(changed),
            unchanged=len(kept) - len(added) - len(changed),
            skipped=tuple(skipped),
        )

    def _remember(self) -> None:
        if self._vectors is not None:
            self._vectors.remember()

    def _count(self, resource: IndexedResource) -> dict[tuple[str, int], int]:
        return {
            (node.uko_node, depth): self._counter.count(text)
            for node in resource.nodes
            for depth, text in node.renderings.items()
        }


def _batches(resources: Iterable[IndexedResource]) -> Iterator[list[IndexedResource]]:
    batch: list[IndexedResource] = []
    size = 0
    for resource in resources:
        batch.append(resource)
        size += sum(len(text) for node in resource.nodes for text in node.renderings.values())
        if size >= BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
