"""What the tokens of all nodes add up to, against what the text index says."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence

from acms_adapters.backends.sqlite.fields import FIELDS

_COLUMNS = ", ".join(FIELDS)


class WordCounts:
    """Sums over the tokens of nodes."""

    def __init__(self) -> None:
        self.terms: Counter[str] = Counter()
        self.totals = {prose: [0] * (1 + len(FIELDS)) for prose in (0, 1)}

    def add(self, prose: int, lengths: Sequence[int], text: str) -> None:
        """Count a node."""
        self.terms.update(set(text.split()))
        totals = self.totals[prose]
        for place, number in enumerate((1, *lengths)):
            totals[place] += number

    def contradicted(self, connection: sqlite3.Connection) -> list[str]:
        """Terms and sums that the index has otherwise."""
        counted = dict(connection.execute("SELECT term, nodes FROM terms"))
        wrong = {term for term, _ in self.terms.items() ^ counted.items()}
        connection.execute(
            "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab ('main', 'words', 'row')"
        )
        try:
            held = dict(connection.execute("SELECT term, doc FROM temp.vocabulary"))
        finally:
            connection.execute("DROP TABLE temp.vocabulary")
        wrong.update(term for term, _ in self.terms.items() ^ held.items())
        sums = connection.execute(f"SELECT prose, nodes, {_COLUMNS} FROM totals")
        if {prose: totals for prose, *totals in sums} != self.totals:
            wrong.add("(sums)")
        return sorted(wrong)


def rebuild_words(connection: sqlite3.Connection) -> None:
    """Make the text index anew from the tokens of all nodes."""
    counts = WordCounts()
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    rows = connection.execute(f"SELECT node, prose, {_COLUMNS}, text FROM tokens ORDER BY node")
    marks = ", ".join("?" * len(FIELDS))
    for node, prose, *lengths, text in rows.fetchall():
        fields = str(text).split("\n")
        if len(fields) != len(FIELDS):  # damaged beyond use: its text is not found by words
            connection.execute("DELETE FROM tokens WHERE node = ?", (node,))
            continue
        counts.add(prose, lengths, text)
        connection.execute(
            f"INSERT INTO words (rowid, {_COLUMNS}) VALUES (?, {marks})", (node, *fields)
        )
    connection.execute("DELETE FROM terms")
    connection.executemany("INSERT INTO terms VALUES (?, ?)", counts.terms.items())
    connection.execute("DELETE FROM totals")
    connection.executemany(
        f"INSERT INTO totals VALUES (?, ?, {marks})",
        [(prose, *totals) for prose, totals in counts.totals.items()],
    )
