"""The text index: tokens go in and out together with what is counted over them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable

from acms_adapters.backends.sqlite.fields import FIELDS, FieldTokens
from acms_adapters.backends.sqlite.filters import one_of
from acms_adapters.backends.sqlite.hits import batches

_COLUMNS = ", ".join(FIELDS)
_MARKS = ", ".join("?" * len(FIELDS))


class WordChanges:
    """Changes of one write; how many nodes hold a term is written once, at the end."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._terms: Counter[str] = Counter()
        self._totals = {False: [0] * (1 + len(FIELDS)), True: [0] * (1 + len(FIELDS))}

    def take_out(self, nodes: Iterable[int]) -> None:
        """Forget the tokens of nodes; SQLite has to be told which they were."""
        for batch in batches(nodes):
            named = one_of("node", batch)
            rows = self._connection.execute(
                f"SELECT node, prose, {_COLUMNS}, text FROM tokens WHERE {named.sql}", named.params
            ).fetchall()
            for node, prose, *lengths, text in rows:
                tokens = FieldTokens(bool(prose), tuple(text.split("\n")), tuple(lengths))
                self._count(tokens, -1)
                self._connection.execute(
                    f"INSERT INTO words (words, rowid, {_COLUMNS}) VALUES ('delete', ?, {_MARKS})",
                    (node, *tokens.texts),
                )
            self._connection.execute(f"DELETE FROM tokens WHERE {named.sql}", named.params)

    def put_in(self, node: int, tokens: FieldTokens) -> None:
        """Keep the tokens of a node; one without any is not searched."""
        if tokens.kept is None:
            return
        self._count(tokens, 1)
        self._connection.execute(
            f"INSERT INTO words (rowid, {_COLUMNS}) VALUES (?, {_MARKS})", (node, *tokens.texts)
        )
        self._connection.execute(
            f"INSERT INTO tokens (node, prose, {_COLUMNS}, text) VALUES (?, ?, {_MARKS}, ?)",
            (node, tokens.is_prose, *tokens.lengths, tokens.kept),
        )

    def write(self) -> None:
        """Write down what was counted."""
        changed = [(term, count) for term, count in self._terms.items() if count]
        self._connection.executemany(
            "INSERT INTO terms VALUES (?, ?)"
            " ON CONFLICT (term) DO UPDATE SET nodes = nodes + excluded.nodes",
            changed,
        )
        self._connection.executemany(
            "DELETE FROM terms WHERE term = ? AND nodes <= 0",
            [(term,) for term, count in changed if count < 0],
        )
        sums = ", ".join(f"{column} = {column} + ?" for column in ("nodes", *FIELDS))
        for is_prose, totals in self._totals.items():
            if any(totals):
                self._connection.execute(
                    f"UPDATE totals SET {sums} WHERE prose = ?", (*totals, is_prose)
                )
        self._terms.clear()
        self._totals = {False: [0] * (1 + len(FIELDS)), True: [0] * (1 + len(FIELDS))}

    def _count(self, tokens: FieldTokens, sign: int) -> None:
        for term in tokens.terms:
            self._terms[term] += sign
        totals = self._totals[tokens.is_prose]
        for place, number in enumerate((1, *tokens.lengths)):
            totals[place] += sign * number
