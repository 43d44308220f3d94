"""Searching fragments that the caller brought along (ruling S2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.backends.vectors import MemoryVectorBackend
from acms_adapters.models import (
    ContextFragment,
    IndexedNode,
    IndexedResource,
    LedgerEntry,
    LeftOut,
    SearchHit,
)
from acms_adapters.protocols import BackendSet, Embedder, RenderingSource


@dataclass(frozen=True, slots=True)
class Candidates:
    """Fragments of the caller, grouped by the thing they render.

    Attributes:
        groups: Search name to the fragments of one node at one place, deepest first.
        backends: A set in which the groups can be searched by those names.
        renderings: Other depths of what was found. An index of the groups has none: it knows
            them by their search names, and all depths there are were brought along.
    """

    groups: dict[str, tuple[ContextFragment, ...]]
    backends: BackendSet
    renderings: RenderingSource | None

    def found(self, fragments: Iterable[ContextFragment]) -> tuple[ContextFragment, ...]:
        """Translate what strategies found into the caller's own fragments, each once.

        A strategy that works on candidates directly returns them as they are; one that searched
        returns the search name, and every depth of that node takes the relevance it was given.
        """
        own = {f.fragment_id: f for group in self.groups.values() for f in group}
        result: dict[tuple[str, str | None], ContextFragment] = {}
        for fragment in fragments:
            if fragment.fragment_id in own:
                members: tuple[ContextFragment, ...] = (fragment,)
            else:
                members = tuple(
                    member.model_copy(
                        update={
                            "relevance_score": fragment.relevance_score,
                            "provenance": member.provenance.model_copy(
                                update={
                                    "strategy": fragment.provenance.strategy,
                                    "score": fragment.provenance.score,
                                }
                            ),
                        }
                    )
                    for member in self.groups.get(fragment.uko_node, ())
                ) or (fragment,)
            for member in members:
                result.setdefault((member.fragment_id, member.provenance.strategy), member)
        return tuple(result.values())

    def account(
        self, left_out: Iterable[LedgerEntry], found: Iterable[ContextFragment]
    ) -> tuple[LedgerEntry, ...]:
        """Entries for what strategies left out, and for the candidates that none of them found.

        What was left out under a search name is told of every depth of that node; nothing is told
        of what another strategy found.
        """
        own = {f.fragment_id: f for group in self.groups.values() for f in group}
        entries: dict[str, LedgerEntry] = {}
        for entry in left_out:
            group = () if entry.fragment_id in own else self.groups.get(entry.uko_node, ())
            for told in [_told_of(member, entry) for member in group] or [entry]:
                entries.setdefault(told.fragment_id, told)
        for name, fragment in own.items():
            if name not in entries:
                entries[name] = LedgerEntry.of(fragment, LeftOut.UNMATCHED)
        seen = {fragment.fragment_id for fragment in found}
        return tuple(entry for name, entry in entries.items() if name not in seen)


def _told_of(member: ContextFragment, entry: LedgerEntry) -> LedgerEntry:
    return entry.model_copy(
        update={
            "fragment_id": member.fragment_id,
            "uko_node": member.uko_node,
            "detail_depth": member.detail_depth,
            "token_count": member.token_count,
        }
    )


@contextmanager
def searchable(
    fragments: tuple[ContextFragment, ...] | None, *, base: BackendSet, embedder: Embedder | None
) -> Iterator[Candidates]:
    """Make fragments searchable by words and, with an embedder, by nearness; closed afterwards.

    Backends that `base` already has are used as they are and the fragments only come along.
    """
    if fragments is None:
        yield Candidates({}, base, base.renderings)
        return
    groups = _grouped(fragments)
    brings_own = any(base.has(name) for name in ("text", "vector", "graph", "temporal"))
    if brings_own:
        yield Candidates(groups, base.with_(candidates=fragments), base.renderings)
        return
    with SQLiteStore(None) as store:
        with store.transaction():
            for name, group in groups.items():
                store.replace(_resource(name, group))
        backends = base.with_(
            text=store.text, graph=store.graph, renderings=store.renderings, candidates=fragments
        )
        if embedder is not None and groups:
            backends = backends.with_(vector=_vectors(groups, store, embedder), embedder=embedder)
        yield Candidates(groups, backends, base.renderings)


def _vectors(
    groups: dict[str, tuple[ContextFragment, ...]], store: SQLiteStore, embedder: Embedder
) -> MemoryVectorBackend:
    def hydrate(nodes: Iterable[str]) -> dict[str, SearchHit]:
        return {hit.uko_node: hit for hit in store.graph.get(list(nodes))}

    vectors = MemoryVectorBackend(hydrate=hydrate)
    names = list(groups)
    embedded = embedder.embed_documents([groups[name][0].content for name in names])
    vectors.upsert(names, embedded, hashes=[groups[name][0].content_hash for name in names])
    return vectors


def _grouped(fragments: tuple[ContextFragment, ...]) -> dict[str, tuple[ContextFragment, ...]]:
    places: dict[tuple[str, str], list[ContextFragment]] = {}
    for fragment in fragments:
        places.setdefault((fragment.uko_node, fragment.provenance.location), []).append(fragment)
    groups: dict[str, tuple[ContextFragment, ...]] = {}
    for (node, place), members in sorted(places.items()):  # the order of arrival decides nothing
        depths = {member.detail_depth for member in members}
        # the same depth twice cannot be two renderings of one text
        apart = len(depths) < len(members)
        alone = [[member] for member in sorted(members, key=lambda f: (f.detail_depth, f.content))]
        for cluster in alone if apart else [members]:
            name = node
            while name in groups:
                name = f"{name}#{place or 'candidate'}-{len(groups)}"
            groups[name] = tuple(sorted(cluster, key=lambda f: -f.detail_depth))
    return groups


def _resource(name: str, group: tuple[ContextFragment, ...]) -> IndexedResource:
    deepest = group[0]
    title = deepest.metadata.get("title")
    title = title if isinstance(title, str) else deepest.uko_node
    node = IndexedNode(
        uko_node=name,
        kind="document",
        resource_uri=name,
        location=deepest.provenance.location,
        resource_type=deepest.provenance.resource_type or "document",
        fields={"title": title, "body": deepest.content},
        renderings={f.detail_depth: f.content for f in group},
        searched_depth=deepest.detail_depth,
        metadata=deepest.metadata,
        tier=deepest.tier,
        created_at=deepest.created_at,
    )
    return IndexedResource(resource_uri=name, content_hash=deepest.content_hash, nodes=(node,))
