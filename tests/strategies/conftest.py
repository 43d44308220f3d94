"""A small world to look for context in: texts, links between them, plans and their decisions."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from acms_adapters.backends.embedders import CharacterFrequencyEmbedder
from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.backends.vectors.memory import MemoryVectorBackend
from acms_adapters.models import Decision, Edge, IndexedNode, IndexedResource, Plan
from acms_adapters.protocols import BackendSet

NOW = datetime(2030, 6, 1, tzinfo=UTC)


class Noting:
    """Passes every call on to a backend and remembers it by name."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.backend, name)

        def call(*args: Any, **options: Any) -> Any:
            self.calls.append((name, args, options))
            return method(*args, **options)

        return call


class World:
    """Things in a store of its own, written when backends are asked for."""

    now = NOW

    def __init__(self) -> None:
        self.moment = NOW
        self.store = SQLiteStore(None, clock=lambda: self.moment)
        self.nodes: dict[str, IndexedNode] = {}
        self.edges: dict[str, list[Edge]] = {}

    @staticmethod
    def node(name: str) -> str:
        return f"project://app/{name}"

    def add(self, name: str, content: str, *, names: Sequence[str] = (), **fields: Any) -> str:
        uri = self.node(name)
        self.nodes[uri] = IndexedNode(
            uko_node=uri,
            kind="function",
            resource_uri=uri,
            names=tuple(names),
            fields={"body": content},
            renderings={9: content},
            **{"resource_type": "source_file", **fields},
        )
        return uri

    def link(self, source: str, target: str, relation: str = "calls") -> None:
        edge = Edge(source=self.node(source), target=self.node(target), relation=relation)
        self.edges.setdefault(edge.source, []).append(edge)

    def decide(
        self,
        plan: str,
        name: str,
        text: str = "decided",
        *,
        days: float = 1,
        parent: str | None = None,
        done: bool = False,
        about: Sequence[str] = (),
        title: str = "",
    ) -> str:
        """Take a decision so many days ago; with `done`, its plan was completed right then."""
        self.moment = NOW - timedelta(days=days)
        decision = Decision(
            plan_id=plan,
            decision_id=name,
            text=text,
            title=title,
            nodes=tuple(map(self.node, about)),
            decided_at=self.moment,
        )
        temporal = self.store.temporal
        known = temporal.plan(plan) or Plan(plan_id=plan, parent=parent, created_at=self.moment)
        temporal.record(known.model_copy(update={"decisions": (*known.decisions, decision)}))
        if done:
            temporal.archive(plan)
        self.moment = NOW
        return f"plan://{plan}#{name}"

    def backends(self, *names: str) -> BackendSet:
        """A set with the named backends, or with all."""
        with self.store.transaction():
            for uri, node in self.nodes.items():
                edges = tuple(self.edges.get(uri, ()))
                self.store.replace(
                    IndexedResource(resource_uri=uri, content_hash="", nodes=(node,), edges=edges)
                )
        parts: dict[str, Any] = {
            "text": self.store.text,
            "vector": self._vectors(),
            "graph": self.store.graph,
            "temporal": self.store.temporal,
        }
        kept = {name: part for name, part in parts.items() if not names or name in names}
        return BackendSet(
            **kept,
            embedder=CharacterFrequencyEmbedder() if "vector" in kept else None,
            renderings=self.store.renderings,
            now=NOW,
        )

    def _vectors(self) -> MemoryVectorBackend:
        def hydrate(nodes: Any) -> dict[str, Any]:
            return {hit.uko_node: hit for hit in self.store.graph.get(list(nodes))}

        backend = MemoryVectorBackend(hydrate=hydrate)
        texts = [node.renderings[9] for node in self.nodes.values()]
        backend.upsert(list(self.nodes), CharacterFrequencyEmbedder().embed_documents(texts))
        return backend


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.store.close()


@pytest.fixture(scope="session")
def new_world() -> Callable[[], World]:
    """Makes worlds, for tests that need one for each example."""
    return World


@pytest.fixture(scope="session")
def noting() -> type[Noting]:
    return Noting
