"""A small world to look for context in: texts, links between them, and a past."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from acms_adapters.backends.embedders import CharacterFrequencyEmbedder
from acms_adapters.backends.vectors.memory import MemoryVectorBackend
from acms_adapters.models import Edge, FragmentProvenance, Plan, SearchHit
from acms_adapters.models.matching import in_scope, matches_metadata
from acms_adapters.models.scores import calibrate
from acms_adapters.models.window import window_start
from acms_adapters.protocols import BackendSet

NOW = datetime(2030, 6, 1, tzinfo=UTC)


def node(name: str) -> str:
    return f"project://app/{name}"


def make_hit(name: str, content: str = "", **fields: Any) -> SearchHit:
    kind = fields.pop("resource_type", "source_file")
    uri = name if "://" in name else node(name)
    provenance = FragmentProvenance(resource_uri=uri, resource_type=kind)
    return SearchHit(uko_node=uri, content=content or name, provenance=provenance, **fields)


def wanted(hits: Iterable[SearchHit], filters: Mapping[str, Any]) -> list[SearchHit]:
    kinds = filters.get("resource_types")
    return [
        hit
        for hit in hits
        if in_scope(hit.uko_node, filters.get("scope"))
        and (not kinds or (hit.provenance and hit.provenance.resource_type in kinds))
        and matches_metadata(hit.metadata, filters.get("metadata_filter"))
    ]


@dataclass
class Words:
    """Counts the question's words in each text; as many calls as it was asked."""

    hits: dict[str, SearchHit]
    asked: list[str] = field(default_factory=list)

    def search(self, query: str, *, max_results: int = 20, **filters: Any) -> list[SearchHit]:
        self.asked.append(query)
        words = set(re.findall(r"\w+", query.lower()))
        counts = {
            uri: sum(Counter(re.findall(r"\w+", (hit.content or "").lower()))[w] for w in words)
            for uri, hit in self.hits.items()
        }
        mean = sum(counts.values()) / max(1, len(counts))
        deviation = (sum((n - mean) ** 2 for n in counts.values()) / max(1, len(counts))) ** 0.5
        found = wanted((self.hits[uri] for uri, n in counts.items() if n), filters)
        found.sort(key=lambda hit: (-counts[hit.uko_node], hit.uko_node))
        scores = calibrate([counts[h.uko_node] for h in found], mean=mean, deviation=deviation)
        scored = [replace(hit, score=score) for hit, score in zip(found, scores, strict=True)]
        return scored[:max_results]


@dataclass
class Links:
    """A graph that remembers which nodes it was asked about."""

    hits: dict[str, SearchHit]
    edges: list[Edge]
    names: dict[str, list[str]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)

    def neighbors(
        self,
        nodes: Sequence[str],
        *,
        direction: str = "both",
        relations: Sequence[str] | None = None,
        limit: int | None = None,
        scope: Sequence[str] | None = None,
    ) -> list[Edge]:
        self.left.extend(nodes)
        found: list[Edge] = []
        for one in nodes:
            touching = [
                edge
                for edge in self.edges
                if (not relations or edge.relation in relations)
                and (
                    (direction != "in" and edge.source == one and in_scope(edge.target, scope))
                    or (direction != "out" and edge.target == one and in_scope(edge.source, scope))
                )
            ]
            found.extend(touching[:limit])
        return list(dict.fromkeys(found))

    def get(self, nodes: Sequence[str], **filters: Any) -> list[SearchHit]:
        return wanted((self.hits[uri] for uri in nodes if uri in self.hits), filters)

    def resolve(
        self, text: str, *, limit: int = 10, scope: Sequence[str] | None = None
    ) -> list[tuple[str, int]]:
        return [
            (uri, len(uris))
            for name, uris in self.names.items()
            if re.search(rf"\b{re.escape(name)}\b", text)
            for uri in uris
            if in_scope(uri, scope)
        ][:limit]


@dataclass
class Past:
    """Records by tier; a record is visible from its time on."""

    records: list[SearchHit] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def query_by_tier(
        self,
        tier: str,
        *,
        window: str | None = None,
        plan_ids: Sequence[str] | None = None,
        as_of: datetime | None = None,
        limit: int | None = None,
        **filters: Any,
    ) -> list[SearchHit]:
        self.asked.append({"tier": tier, "window": window, "plan_ids": plan_ids, "as_of": as_of})
        end = as_of or NOW
        start = window_start(window, end)
        found = [
            hit
            for hit in wanted(self.records, filters)
            if hit.tier == tier
            and hit.created_at is not None
            and hit.created_at <= end
            and (start is None or hit.created_at >= start)
            and (plan_ids is None or hit.metadata.get("plan_id") in plan_ids)
        ]
        found.sort(key=lambda hit: hit.created_at or NOW, reverse=True)
        return found[:limit]

    def ancestors(self, plan_id: str) -> list[str]:
        line: list[str] = []
        while (plan_id := self.parents.get(plan_id, "")) and plan_id not in line:
            line.append(plan_id)
        return line

    def record(self, item: Any) -> None:
        raise AssertionError("no strategy writes")

    def archive(self, plan_id: str) -> int:
        raise AssertionError("no strategy writes")

    def plan(self, plan_id: str, *, as_of: datetime | None = None) -> Plan | None:
        return None


@dataclass
class World:
    """Everything there is, as backends."""

    hits: dict[str, SearchHit] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)
    past: Past = field(default_factory=Past)
    now: datetime = NOW

    @staticmethod
    def node(name: str) -> str:
        return node(name)

    def add(self, name: str, content: str = "", **fields: Any) -> str:
        hit = make_hit(name, content, **fields)
        self.hits[hit.uko_node] = hit
        self.names.setdefault(name, []).append(hit.uko_node)
        return hit.uko_node

    def link(self, source: str, target: str, relation: str = "calls") -> None:
        self.edges.append(Edge(source=node(source), target=node(target), relation=relation))

    def remember(self, name: str, content: str = "", *, days: float = 1, **fields: Any) -> str:
        hit = make_hit(
            name,
            content,
            resource_type=fields.pop("resource_type", "decision"),
            created_at=NOW - timedelta(days=days),
            **fields,
        )
        self.past.records.append(hit)
        return hit.uko_node

    @property
    def text(self) -> Words:
        return Words(self.hits)

    @property
    def graph(self) -> Links:
        return Links(self.hits, self.edges, self.names)

    @property
    def vector(self) -> MemoryVectorBackend:
        backend = MemoryVectorBackend(hydrate=lambda uris: {u: self.hits[u] for u in uris})
        embedded = CharacterFrequencyEmbedder().embed_documents(
            [hit.content or "" for hit in self.hits.values()]
        )
        backend.upsert(list(self.hits), embedded)
        return backend

    def backends(self, *names: str) -> BackendSet:
        """A set with the named backends, or with all."""
        parts: dict[str, Any] = {
            "text": self.text,
            "vector": self.vector,
            "graph": self.graph,
            "temporal": self.past,
        }
        kept = {name: part for name, part in parts.items() if not names or name in names}
        embedder = CharacterFrequencyEmbedder() if "vector" in kept else None
        return BackendSet(**kept, embedder=embedder, now=NOW)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(scope="session")
def empty_world() -> Callable[[], World]:
    """Makes worlds, for tests that need one for each example."""
    return World
