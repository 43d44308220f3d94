"""Whether everything in a store is what was written, and putting in order what is not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from acms_adapters.backends.sqlite import Finding, SQLiteStore
from acms_adapters.indexing.report import Progress
from acms_adapters.indexing.restoring import restore
from acms_adapters.indexing.vectors import NodeVectors
from acms_adapters.indexing.writing import Writer

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCheck:
    """What a check found.

    Attributes:
        resources: How many files and documents were looked at.
        nodes: How many nodes.
        edges: How many edges.
        vectors: How many vectors; None where the store was opened without any.
        findings: What was not as it should be.
    """

    resources: int
    nodes: int
    edges: int
    vectors: int | None
    findings: tuple[Finding, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def is_whole(self) -> bool:
        """Whether everything is in order now."""
        return all(finding.repaired for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return {"clean": self.is_clean, "whole": self.is_whole, **asdict(self)}

    def __str__(self) -> str:
        """For people; see `lines`."""
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """For people: a line for each finding, and one that sums up."""
        for finding in self.findings:
            shown = ", ".join(finding.names[:_SHOWN])
            more = len(finding.names) - _SHOWN
            done = "repaired" if finding.repaired else "not repaired"
            yield (
                f"{finding.part}: {len(finding.names)} {finding.what} ({done}): {shown}"
                + (f" and {more} more" if more > 0 else "")
            )
        nodes = f"{self.resources} resources, {self.nodes} nodes, {self.edges} edges"
        vectors = "no vectors" if self.vectors is None else f"{self.vectors} vectors"
        state = "in order" if self.is_clean else "repaired" if self.is_whole else "not in order"
        yield f"{state}: {nodes}, {vectors}"


def check_store(
    texts: SQLiteStore,
    vectors: NodeVectors | None,
    writer: Writer,
    *,
    repair: bool,
    progress: Progress,
) -> StoreCheck:
    """Look at texts, words, metadata, edges, records and vectors; see `ContextStore.check`."""
    found = texts.check(repair=repair)
    if repair and (damaged := {name for one in found if not one.repaired for name in one.names}):
        restored = restore(texts, writer, damaged, progress)
        found = [part for one in found for part in _less(one, restored)]
    if vectors is not None:
        found += vectors.check(progress, repair=repair)
    stats = texts.stats()
    return StoreCheck(
        resources=stats.resources,
        nodes=sum(stats.nodes.values()),
        edges=sum(stats.edges.values()),
        vectors=None if vectors is None else vectors.index.count(),
        findings=tuple(found),
    )


def _less(finding: Finding, restored: Collection[str]) -> Iterator[Finding]:
    """A finding, its restored part apart from the rest."""
    done = tuple(name for name in finding.names if name in restored)
    if finding.repaired or not done:
        yield finding
        return
    yield replace(finding, names=done, repaired=True)
    if rest := tuple(name for name in finding.names if name not in restored):
        yield replace(finding, names=rest)
