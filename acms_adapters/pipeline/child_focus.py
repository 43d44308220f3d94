"""How near a fragment lies to what a child plan works on (ruling K3)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from acms_adapters.errors import RequestError
from acms_adapters.models import ContextFragment
from acms_adapters.protocols import GraphBackend

logger = logging.getLogger("acms_adapters")

FAR = 3
_HOP_LIMIT = 100  # a hub must not make everything near


@dataclass(frozen=True)
class ChildFocus:
    """What a child plan works on, and what lies around it.

    Attributes:
        nodes: The focus nodes.
        resources: Resources that the focus nodes stand in.
        neighbours: Nodes one hop away from them.
    """

    nodes: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    neighbours: frozenset[str] = frozenset()

    def distance(self, fragment: ContextFragment) -> int:
        """0 for a focus node, 1 in its resource, 2 one hop away, else `FAR`."""
        resource = fragment.provenance.resource_uri
        if fragment.uko_node in self.nodes:
            return 0
        if resource in self._near:
            return 1
        if fragment.uko_node in self.neighbours or resource in self.neighbours:
            return 2
        return FAR

    @cached_property
    def _near(self) -> frozenset[str]:
        """Focus nodes and the resources that they stand in, or that their names begin with."""
        parts = (node[:at] for node in self.nodes for at, mark in enumerate(node) if mark == "#")
        return frozenset((*self.nodes, *self.resources, *parts))


def find_focus(
    nodes: Sequence[str], *, known: Iterable[ContextFragment], graph: GraphBackend | None
) -> ChildFocus:
    """Find out what lies around the focus nodes; without a graph, from `known` fragments alone.

    Raises:
        RequestError: `nodes` is one string or holds what is no string.
    """
    if isinstance(nodes, str) or not all(isinstance(node, str) for node in nodes):
        raise RequestError(f"child_focus must be a list of node URIs, not {nodes!r}")
    wanted = frozenset(nodes)
    resources = {f.provenance.resource_uri for f in known if f.uko_node in wanted}
    neighbours: set[str] = set()
    if graph is not None and wanted:
        try:
            found = graph.get(sorted(wanted))
            resources.update(hit.provenance.resource_uri for hit in found if hit.provenance)
            for edge in graph.neighbors(sorted(wanted), direction="both", limit=_HOP_LIMIT):
                neighbours.update((edge.source, edge.target))
        except Exception as error:  # nearness only orders; a child must not fail for want of it
            logger.warning("no graph for the focus of a child plan: %r", error)
    return ChildFocus(wanted, frozenset(resources), frozenset(neighbours - wanted))
