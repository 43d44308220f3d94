"""Finding nodes by their words: candidates by FTS5, then exact BM25F (rulings B1, B2, B9, M7)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acms_adapters.backends.analysis import Term, query_terms
from acms_adapters.backends.sqlite.database import Database
from acms_adapters.backends.sqlite.fields import CODE, FIELDS
from acms_adapters.backends.sqlite.filters import Condition, condition, one_of
from acms_adapters.backends.sqlite.hits import batches, load_hits
from acms_adapters.backends.sqlite.ranking import Corpus, WeighedTerm, moments, score
from acms_adapters.backends.sqlite.schema import PRESENT
from acms_adapters.errors import RequestError
from acms_adapters.models import SearchHit
from acms_adapters.models.scores import calibrate

POSTINGS = 10_000
"""Occurrences read for a question, the rarest term first; what is commoner only adds to scores."""

CANDIDATES = 200
"""Nodes that are scored exactly, or as many as are asked for."""

MOST_TERMS = 64
"""Terms of a question that count: its rarest."""

_COUNTED_PHRASES = 2_000
_WEIGHTS = ", ".join(map(str, CODE.weights))
_LENGTHS = ", ".join(f"t.{column}" for column in FIELDS)


class SQLiteTextBackend:
    """Searches the text index of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def search(
        self,
        query: str,
        *,
        max_results: int = 20,
        scope: Sequence[str] | None = None,
        resource_types: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> list[SearchHit]:
        """Nodes that hold words of `query`, best first; equal ones by URI.

        Whatever the filters, fewer than `max_results` come only when there are no more.

        Raises:
            RequestError: `max_results` is negative, or a filter is no list.
        """
        if max_results < 0:
            raise RequestError(f"max_results must be >= 0, not {max_results!r}")
        wanted = condition(
            scope=scope, resource_types=resource_types, metadata_filter=metadata_filter
        )
        terms = query_terms(query)
        if not terms or not max_results:
            return []
        with self._database.reading() as connection:
            corpus = _corpus(connection)
            weighed = _weigh(connection, terms, corpus)
            found = _score(
                connection,
                _candidates(connection, weighed, wanted, max_results),
                weighed,
                corpus,
            )
            best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:max_results]
            if not best:
                return []
            mean, deviation = moments(weighed, corpus)
            scores = calibrate([raw for _, raw in best], mean=mean, deviation=deviation)
            uris = [uri for uri, _ in best]
            return load_hits(connection, uris, scores=dict(zip(uris, scores, strict=True)))

    def rate(self, question: str, nodes: Sequence[str]) -> dict[str, float]:
        """Relevance of nodes as a search for `question` would give it, found by it or not."""
        terms = query_terms(question)
        if not terms or not nodes:
            return {}
        with self._database.reading() as connection:
            corpus = _corpus(connection)
            weighed = _weigh(connection, terms, corpus)
            if not weighed:
                return {}
            raw: dict[str, float] = {}
            for batch in batches(list(nodes)):
                named = one_of("n.uri", batch)
                raw |= _scored(connection, named, weighed, corpus)
            mean, deviation = moments(weighed, corpus)
            scores = calibrate(list(raw.values()), mean=mean, deviation=deviation)
            return dict(zip(raw, scores, strict=True))


def _corpus(connection: sqlite3.Connection) -> Corpus:
    columns = ", ".join(FIELDS)
    return Corpus.of(connection.execute(f"SELECT prose, nodes, {columns} FROM totals"))


def _weigh(
    connection: sqlite3.Connection, terms: Sequence[Term], corpus: Corpus
) -> list[WeighedTerm]:
    """Terms that stand in the index, the rarest first."""
    singles = [term[0] for term in terms if len(term) == 1]
    counts: dict[Term, int] = {}
    for batch in batches(singles):
        named = one_of("term", batch)
        rows = connection.execute(f"SELECT term, nodes FROM terms WHERE {named.sql}", named.params)
        counts |= {(term,): nodes for term, nodes in rows}
    phrases = [term for term in terms if len(term) > 1]
    counts |= {term: _count_phrase(connection, term) for term in phrases[:MOST_TERMS]}
    there = [term for term in terms if counts.get(term, 0) > 0]
    there.sort(key=lambda term: counts[term])
    return [WeighedTerm.of(term, counts[term], total=corpus.nodes) for term in there[:MOST_TERMS]]


def _count_phrase(connection: sqlite3.Connection, term: Term) -> int:
    """Nodes that hold a phrase; beyond 2,000, what these say about the whole index."""
    count, last = connection.execute(
        "SELECT count(*), max(rowid) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)",
        (_match(term), _COUNTED_PHRASES),
    ).fetchone()
    if count < _COUNTED_PHRASES:
        return int(count)
    (end,) = connection.execute("SELECT max(node) FROM tokens").fetchone()
    return int(count * max(1.0, end / last))


def _match(term: Term) -> str:
    return '"' + " ".join(term) + '"'


def _candidates(
    connection: sqlite3.Connection,
    terms: Sequence[WeighedTerm],
    wanted: Condition,
    max_results: int,
) -> list[int]:
    """Nodes that may be among the best, by FTS5's own ranking of the rarest terms.

    More terms are read only while that leaves less than was asked for.
    """
    found: dict[int, None] = {}
    most = max(CANDIDATES, max_results)
    for group in _groups(terms):
        found.update(dict.fromkeys(_ranked(connection, group, wanted, most)))
        if len(found) >= max_results:
            break
    return list(found)


def _groups(terms: Sequence[WeighedTerm]) -> Iterator[list[WeighedTerm]]:
    """The rarest terms within the limit, then each other one by itself."""
    group: list[WeighedTerm] = []
    read = 0
    for term in terms:
        if group and read + term.nodes > POSTINGS:
            yield group
            group, read = [], POSTINGS
        group.append(term)
        read += term.nodes
    if group:
        yield group


def _ranked(
    connection: sqlite3.Connection, terms: Sequence[WeighedTerm], wanted: Condition, limit: int
) -> list[int]:
    # without a filter the index alone is read
    join = " JOIN nodes n ON n.id = words.rowid" if wanted.sql != "1" else ""
    rows = connection.execute(
        f"SELECT words.rowid FROM words{join} WHERE words MATCH ? AND {wanted.sql}"
        f" ORDER BY bm25(words, {_WEIGHTS}), words.rowid LIMIT ?",
        (" OR ".join(_match(term.term) for term in terms), *wanted.params, limit),
    )
    return [node for (node,) in rows]


def _score(
    connection: sqlite3.Connection,
    nodes: Sequence[int],
    terms: Sequence[WeighedTerm],
    corpus: Corpus,
) -> dict[str, float]:
    """Exact scores by URI."""
    found: dict[str, float] = {}
    for batch in batches(nodes):
        found |= _scored(connection, one_of("t.node", batch), terms, corpus)
    return found


def _scored(
    connection: sqlite3.Connection,
    chosen: Condition,
    terms: Sequence[WeighedTerm],
    corpus: Corpus,
) -> dict[str, float]:
    rows = connection.execute(
        f"SELECT n.uri, t.prose, {_LENGTHS}, t.text FROM tokens t JOIN nodes n ON n.id = t.node"
        f" WHERE {chosen.sql} AND n.state = {PRESENT}",
        chosen.params,
    )
    return {
        uri: score(terms, corpus, is_prose=bool(prose), lengths=lengths, text=text)
        for uri, prose, *lengths, text in rows
    }
