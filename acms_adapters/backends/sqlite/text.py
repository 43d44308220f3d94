"""Finding nodes by their words: candidates by FTS5, then exact BM25F (rulings B1, B2, B9, M7)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acms_adapters.backends.analysis import Term, query_terms
from acms_adapters.backends.sqlite.database import Database
from acms_adapters.backends.sqlite.fields import CODE, FIELDS
from acms_adapters.backends.sqlite.filters import Condition, condition, one_of, strings
from acms_adapters.backends.sqlite.hits import batches, load_hits
from acms_adapters.backends.sqlite.kept import Kept, Question
from acms_adapters.backends.sqlite.ranking import Corpus, ScoredText, WeighedTerm, moments, score
from acms_adapters.backends.sqlite.schema import PRESENT
from acms_adapters.errors import RequestError
from acms_adapters.models import SearchHit
from acms_adapters.models.scores import calibrate

POSTINGS = 10_000
"""Occurrences read for a question, the rarest term first; what is commoner only adds to scores."""

CANDIDATES = 200
"""Nodes that are scored exactly, or as many as are asked for."""

MOST_SCORES = 5_000
"""Scores of a question that are kept, for those who ask it again or rate nodes by it."""

MOST_TERMS = 64
"""Terms of a question that count: its rarest."""

_COUNTED = 4  # times the room of a text that its counted tokens take
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
            kept = self._database.kept(connection)
            corpus, asked = _corpus(connection, kept), _asked(connection, terms, kept)
            chosen = _candidates(connection, asked.terms, wanted, max_results)
            found = _scores(connection, chosen, asked, kept)
            best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:max_results]
            if not best:
                return []
            mean, deviation = moments(asked.terms, corpus)
            scores = calibrate([raw for _, raw in best], mean=mean, deviation=deviation)
            rated = {uri: score for (uri, _), score in zip(best, scores, strict=True)}
            return load_hits(connection, list(rated), kept=kept, scores=rated)

    def rate(self, question: str, nodes: Sequence[str]) -> dict[str, float]:
        """Relevance of nodes as a search for `question` would give it, found by it or not."""
        terms, nodes = query_terms(question), strings("nodes", nodes)
        if not terms or not nodes:
            return {}
        with self._database.reading() as connection:
            kept = self._database.kept(connection)
            corpus, asked = _corpus(connection, kept), _asked(connection, terms, kept)
            if not asked.terms:
                return {}
            raw = {node: asked.raw[node] for node in nodes if node in asked.raw}
            missing = [node for node in nodes if node not in raw]
            raw |= _scores(connection, _numbers(connection, missing, kept), asked, kept)
            mean, deviation = moments(asked.terms, corpus)
            scores = calibrate(list(raw.values()), mean=mean, deviation=deviation)
            return dict(zip(raw, scores, strict=True))


def _corpus(connection: sqlite3.Connection, kept: Kept) -> Corpus:
    if kept.corpus is None:
        columns = ", ".join(FIELDS)
        rows = connection.execute(f"SELECT prose, nodes, {columns} FROM totals")
        kept.corpus = Corpus.of(rows)
    return kept.corpus


def _asked(connection: sqlite3.Connection, terms: tuple[Term, ...], kept: Kept) -> Question:
    known = kept.question(terms)
    if known is not None:
        return known
    return kept.note(terms, Question(_weigh(connection, terms, _corpus(connection, kept))))


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


def _numbers(connection: sqlite3.Connection, uris: Sequence[str], kept: Kept) -> list[int]:
    """Numbers of those nodes that are searched."""
    known = {uri: number for uri in uris if (number := kept.numbers.get(uri)) is not None}
    for batch in batches([uri for uri in uris if uri not in known]):
        named = one_of("n.uri", batch)
        rows = connection.execute(
            "SELECT n.uri, t.node FROM nodes n JOIN tokens t ON t.node = n.id"
            f" WHERE {named.sql} AND n.state = {PRESENT}",
            named.params,
        )
        known |= dict(rows.fetchall())
    return [known[uri] for uri in uris if uri in known]


def _scores(
    connection: sqlite3.Connection, nodes: Sequence[int], asked: Question, kept: Kept
) -> dict[str, float]:
    """Exact scores by URI, which the question keeps."""
    texts = {node: held for node in nodes if (held := kept.tokens.get(node))}
    missing = [node for node in nodes if node not in texts]
    for batch in batches(missing):
        texts |= _read_texts(connection, batch, kept)
    found: dict[str, float] = {}
    raw, terms = asked.raw, asked.terms
    for node in nodes:
        if node in texts:
            uri, text = texts[node]
            known = raw.get(uri)
            found[uri] = score(terms, text) if known is None else known
    if len(raw) + len(found) <= MOST_SCORES:
        raw.update(found)
    return found


def _read_texts(
    connection: sqlite3.Connection, nodes: Sequence[int], kept: Kept
) -> dict[int, tuple[str, ScoredText]]:
    chosen, corpus = one_of("t.node", nodes), _corpus(connection, kept)
    rows = connection.execute(
        f"SELECT t.node, n.uri, t.prose, {_LENGTHS}, t.text FROM tokens t"
        f" JOIN nodes n ON n.id = t.node WHERE {chosen.sql} AND n.state = {PRESENT}",
        chosen.params,
    )
    found: dict[int, tuple[str, ScoredText]] = {}
    size = 0
    for node, uri, prose, *lengths, text in rows.fetchall():
        found[node] = (uri, ScoredText(corpus, is_prose=bool(prose), lengths=lengths, text=text))
        size += len(text)
    kept.charge(_COUNTED * size, 3 * len(found))
    kept.numbers.update((uri, node) for node, (uri, _) in found.items())
    kept.tokens.update(found)
    return found
