"""Backends as plain as can be, so that a strategy can be tried without any store.

They read everything for every question and are meant for a few documents. They pass the suites.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from acms_adapters.errors import EmbedderMismatchError
from acms_adapters.models import Edge, SearchHit
from acms_adapters.models.matching import in_scope, matches_metadata
from acms_adapters.models.scores import rescale
from acms_adapters.protocols import Direction

_TERM = re.compile(r"[^\W\d_\u3040-\uffff]+|\d+|[^\s\w]|\w")
_TOLERANCE = 1e-9


class PlainCounter:
    """Counts words as tokens."""

    name = "words"
    exact = True

    def count(self, text: str) -> int:
        """Number of words of `text`."""
        return len(text.split())


class PlainEmbedder:
    """Counts letters; texts with the same letters are near each other."""

    name = "plain"
    dimensions = 64
    similarity_threshold = 0.0

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in order."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text."""
        counts = Counter(ord(letter) % self.dimensions for letter in text if letter.isalnum())
        return [float(counts[slot]) for slot in range(self.dimensions)]


class _Documents:
    """Documents by node, and a filter over them; nobody shares their metadata."""

    def __init__(self, documents: Iterable[SearchHit]) -> None:
        self._kept = {item.uko_node: (item, json.dumps(item.metadata)) for item in documents}

    def hit(self, node: str, score: float = 0.0) -> SearchHit:
        """A document as an answer."""
        item, metadata = self._kept[node]
        return replace(item, score=score, metadata=json.loads(metadata))

    def wanted(
        self,
        nodes: Iterable[str] | None = None,
        *,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> list[SearchHit]:
        """Those of the nodes that are there and pass the filters, each once."""
        asked = self._kept if nodes is None else dict.fromkeys(nodes)
        hits = [self.hit(node) for node in asked if node in self._kept]
        return [
            hit
            for hit in hits
            if in_scope(_resource(hit)[0], scope)
            and (not resource_types or _resource(hit)[1] in resource_types)
            and matches_metadata(hit.metadata, metadata_filter)
        ]


def _resource(hit: SearchHit) -> tuple[str, str]:
    origin = hit.provenance
    return (origin.resource_uri, origin.resource_type) if origin else (hit.uko_node, "")


def _best(rated: Iterable[tuple[SearchHit, float]], limit: int) -> list[SearchHit]:
    ranked = sorted(rated, key=lambda pair: (-pair[1], pair[0].uko_node))[:limit]
    scores = rescale([score for _, score in ranked])
    return [replace(hit, score=score) for (hit, _), score in zip(ranked, scores, strict=True)]


class PlainText:
    """Finds documents by the words they share with a question; rare words count more."""

    def __init__(self, documents: Iterable[SearchHit]) -> None:
        self._documents = _Documents(documents)
        self._terms = {
            hit.uko_node: Counter(_terms(hit.content or "")) for hit in self._documents.wanted()
        }

    def search(
        self,
        query: str,
        *,
        max_results: int = 20,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> list[SearchHit]:
        """Documents that hold words of `query`, best first."""
        asked = set(_terms(query))
        weights = {term: self._weight(term) for term in asked}
        hits = self._documents.wanted(
            scope=scope, resource_types=resource_types, metadata_filter=metadata_filter
        )
        rated = [
            (hit, sum(weights[term] for term in asked & self._terms[hit.uko_node].keys()))
            for hit in hits
        ]
        return _best(((hit, weight) for hit, weight in rated if weight > 0.0), max_results)

    def _weight(self, term: str) -> float:
        holders = sum(term in terms for terms in self._terms.values())
        return math.log(1.0 + len(self._terms) / holders) if holders else 0.0


def _terms(text: str) -> list[str]:
    folded = unicodedata.normalize("NFC", text).casefold()
    return [term for term in _TERM.findall(folded) if term.isalnum() or not term.isascii()]


class PlainVectors:
    """Finds documents by the cosine of their vectors."""

    def __init__(self, documents: Sequence[SearchHit], vectors: Sequence[Sequence[float]]) -> None:
        self._documents = _Documents(documents)
        rows = zip(documents, vectors, strict=True)
        self._vectors = {item.uko_node: tuple(map(float, row)) for item, row in rows}

    def similarity_search(
        self,
        embedding: Sequence[float],
        *,
        top_k: int = 20,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        min_similarity: float = 0.0,
    ) -> list[SearchHit]:
        """Documents whose cosine to `embedding` is at least `min_similarity`, best first."""
        hits = self._documents.wanted(
            scope=scope, resource_types=resource_types, metadata_filter=metadata_filter
        )
        rated = [(hit, _cosine(embedding, self._vectors[hit.uko_node])) for hit in hits]
        least = min_similarity - _TOLERANCE
        return _best(((hit, cosine) for hit, cosine in rated if cosine >= least), top_k)


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    if len(left) != len(right):
        raise EmbedderMismatchError(
            f"a question of {len(left)} dimensions cannot be compared with vectors of {len(right)}"
        )
    lengths = math.hypot(*left) * math.hypot(*right)
    product = sum(a * b for a, b in zip(left, right, strict=True))
    return product / lengths if lengths else 0.0


class PlainGraph:
    """Walks over edges."""

    def __init__(self, documents: Iterable[SearchHit], edges: Iterable[Edge]) -> None:
        self._documents = _Documents(documents)
        self._edges = sorted(set(edges))

    def neighbors(
        self,
        nodes: Sequence[str],
        *,
        direction: Direction = "both",
        relations: Sequence[str] | None = None,
        limit: int | None = None,
        scope: Sequence[str] | None = None,
    ) -> list[Edge]:
        """Edges that touch `nodes`, at most `limit` for each node."""
        found: dict[Edge, None] = {}
        for node in dict.fromkeys(nodes):
            touching = (
                edge
                for edge in self._edges
                if node in edge.ends(direction)
                and (relations is None or edge.relation in relations)
                and self._reaches(edge, node, scope)
            )
            found.update(dict.fromkeys(islice(touching, limit)))
        return list(found)

    def _reaches(self, edge: Edge, node: str, scope: Sequence[str] | None) -> bool:
        other = edge.other(node)
        known = self._documents.wanted([other])
        return in_scope(_resource(known[0])[0] if known else other, scope)

    def get(
        self,
        nodes: Sequence[str],
        *,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> list[SearchHit]:
        """The nodes that are there, in the order asked for, score 0."""
        return self._documents.wanted(
            nodes, scope=scope, resource_types=resource_types, metadata_filter=metadata_filter
        )
