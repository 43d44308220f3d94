"""All vectors of a store side by side, compared one by one: exact."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from acms_adapters.backends.vectors.records import Vector, cosines_of, unit
from acms_adapters.backends.vectors.search import Candidate

logger = logging.getLogger("acms_adapters")

_DIGITS = 6  # cosines of float32 vectors are no better
_ALIKE = 1.0 - 1e-6
_MOST_BYTES = 2**25  # in memory: 32,768 vectors of 256 numbers


@dataclass(frozen=True)
class Scan:
    """Nodes and their vectors; never changed, so that searches need no lock.

    Attributes:
        nodes: Sorted.
        matrix: Their vectors, of length 1.
    """

    nodes: tuple[str, ...]
    matrix: Vector

    @classmethod
    def of(cls, vectors: Mapping[str, Vector]) -> Scan:
        """Of vectors of any length."""
        nodes = tuple(sorted(vectors))
        rows = [vectors[node] for node in nodes]
        return cls(nodes, unit(np.stack(rows)) if rows else np.zeros((0, 0), dtype=np.float32))

    @classmethod
    def of_pages(
        cls, nodes: Iterable[str], pages: Iterable[tuple[Sequence[str], Vector]], *, size: int
    ) -> Scan:
        """Of rows of length 1 that come page by page; a node without one is near to nothing.

        Many are kept in a file that goes with the scan, of which the system holds in memory what
        it has room for; where none can be made, in memory.

        Args:
            size: Length of a row.
        """
        names = tuple(sorted(nodes))
        scan = cls(names, _room(len(names), size))
        for some, rows in pages:
            if some:
                scan.matrix[[scan.rows[node] for node in some]] = rows
        return scan

    @cached_property
    def rows(self) -> dict[str, int]:
        """Where each node is."""
        return {node: row for row, node in enumerate(self.nodes)}

    def order(self, query: Vector) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows, nearest first, equally near ones by node; and the cosine of each row.

        Args:
            query: Of length 1.
        """
        near = cosines_of(self.matrix, query).astype(np.float64)
        cosines = near.clip(-1.0, 1.0).round(_DIGITS)
        return np.argsort(-cosines, kind="stable"), cosines

    def candidates(self, rows: NDArray[np.int64], cosines: NDArray[np.float64]) -> list[Candidate]:
        """Rows as candidates, in their order."""
        return [(self.nodes[row], float(cosines[row])) for row in rows]

    def nearest(
        self, query: Vector, size: int, *, among: Sequence[str] | None = None
    ) -> list[Candidate]:
        """The nearest nodes, of all or of some.

        Args:
            query: Of length 1.
            size: How many at most.
            among: Those to choose from; any that are not there are no error.
        """
        order, cosines = self.order(query)
        if among is not None:
            wanted = np.zeros(len(self.nodes), dtype=np.bool_)
            wanted[[self.rows[node] for node in among if node in self.rows]] = True
            order = order[wanted[order]]
        return self.candidates(order[:size], cosines)


def _room(rows: int, size: int) -> Vector:
    if rows * size * 4 <= _MOST_BYTES:
        return np.zeros((rows, size), dtype=np.float32)
    try:
        with tempfile.TemporaryFile() as file:
            if hasattr(os, "posix_fallocate"):  # where there is no room, writing ends the process
                os.posix_fallocate(file.fileno(), 0, rows * size * 4)
            return np.memmap(file, dtype=np.float32, mode="w+", shape=(rows, size))
    except OSError as error:
        logger.warning("all vectors are held in memory, as no file can be made: %s", error)
        return np.zeros((rows, size), dtype=np.float32)


def has_equals(sample: Vector) -> bool:
    """Whether two rows of length 1 point the same way."""
    alike = (sample @ sample.T) > _ALIKE
    return int(np.count_nonzero(alike)) > int(np.count_nonzero(alike.diagonal()))
