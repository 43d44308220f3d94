"""One file, or memory, that holds texts, renderings, the graph and time (ruling B8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

from acms_adapters.backends.sqlite.checking import Finding, check
from acms_adapters.backends.sqlite.database import Database
from acms_adapters.backends.sqlite.filters import matches, one_of, scope_condition, strings
from acms_adapters.backends.sqlite.graph import SQLiteGraphBackend
from acms_adapters.backends.sqlite.hits import BATCH, batches
from acms_adapters.backends.sqlite.node_rows import lot_of
from acms_adapters.backends.sqlite.references import resolve_mentions, waiting_mentions
from acms_adapters.backends.sqlite.renderings import SQLiteRenderings
from acms_adapters.backends.sqlite.schema import PRESENT
from acms_adapters.backends.sqlite.stats import StoreStats, count
from acms_adapters.backends.sqlite.temporal import SQLiteTemporalBackend
from acms_adapters.backends.sqlite.text import SQLiteTextBackend
from acms_adapters.backends.sqlite.writer import TokenCounts, remove_resource, replace_resource
from acms_adapters.errors import StoreError
from acms_adapters.models import IndexedResource
from acms_adapters.models.base import now_utc

BUSY_TIMEOUT_SECONDS = 10.0

_EMBEDDED = f"n.state = {PRESENT} AND n.text_hash IS NOT NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorInput:
    """What a vector index needs of a node.

    Attributes:
        uko_node: Its URI.
        text_hash: Equal means that its vector still holds.
        text: The rendering that is searched.
        resource_uri: The resource it stands in.
        resource_type: Kind of that resource.
    """

    uko_node: str
    text_hash: str
    text: str
    resource_uri: str
    resource_type: str


class SQLiteStore:
    """The embedded store. Every method may be called from any thread.

    Args:
        path: The file, made with its folder when missing; None keeps all in memory, where only
            this object sees it.
        read_only: Refuse to write; the file must be there.
        busy_timeout_seconds: How long to wait for another writer.
        clock: Tells the time to the temporal part.

    Attributes:
        text: Finds by words.
        graph: Walks, and finds by names.
        temporal: Remembers plans and decisions.
        renderings: Texts of nodes at every depth.

    Raises:
        SchemaVersionError: A newer version of the library wrote the file.
        StoreLockedError: Another writer did not finish in time.
        StoreError: The file is damaged, another program's, missing, or cannot be written.
    """

    def __init__(
        self,
        path: Path | str | None,
        *,
        read_only: bool = False,
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
        clock: Callable[[], datetime] = now_utc,
    ) -> None:
        if not 0.0 <= busy_timeout_seconds <= 86_400.0:
            raise ValueError(
                f"busy_timeout_seconds must be 0 to 86400, not {busy_timeout_seconds!r}"
            )
        self.path = None if path is None else Path(path).expanduser()
        if self.path is None and read_only:
            raise ValueError("a store in memory begins empty, so that read_only leaves no use")
        if self.path is not None and not read_only:
            _make_folder(self.path)
        self._database = Database(
            self.path,
            read_only=read_only,
            busy_timeout=busy_timeout_seconds,
            functions={"acms_matches": (2, matches), "acms_lot": (1, lot_of)},
        )
        self.text = SQLiteTextBackend(self._database)
        self.graph = SQLiteGraphBackend(self._database)
        self.temporal = SQLiteTemporalBackend(self._database, clock=clock)
        self.renderings = SQLiteRenderings(self._database)

    @property
    def read_only(self) -> bool:
        """Whether it was opened to read."""
        return self._database.read_only

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """All or nothing of what this thread writes inside; other threads do not see it before.

        A failed call inside leaves nothing behind either, even if its error is caught.
        """
        with self._database.writing():
            yield self

    def replace(
        self,
        resource: IndexedResource,
        *,
        token_counts: TokenCounts | None = None,
        vector_hashes: Mapping[str, str] | None = None,
    ) -> None:
        """Write a resource in place of what it was (ruling B3).

        A node that another resource brought moves to this one.

        Args:
            token_counts: Tokens of renderings, by node URI and depth.
            vector_hashes: Hash of what a vector is made from, by node URI; left out, that of the
                searched text.

        Raises:
            ValueError: A node with an empty URI, an unknown field or tier, or a depth beyond 0
                to 9.
        """
        with self._database.writing() as connection:
            replace_resource(connection, resource, token_counts or {}, vector_hashes or {})

    def remove(self, resource_uri: str) -> bool:
        """Remove a resource with all it brought; False when there is none."""
        with self._database.writing() as connection:
            return remove_resource(connection, resource_uri)

    def resolve_references(self) -> int:
        """Turn mentions into edges; to be called after resources changed.

        Only mentions that a change may concern are looked up again.

        Returns:
            How many of those led to a node.
        """
        with self._database.reading() as connection:
            if not waiting_mentions(connection):
                return 0
        with self._database.writing() as connection:
            return resolve_mentions(connection)

    def hashes(self) -> dict[str, str]:
        """Content hash of every resource, by URI."""
        with self._database.reading() as connection:
            return dict(connection.execute("SELECT uri, content_hash FROM resources ORDER BY uri"))

    def resources_under(self, scope: Sequence[str]) -> list[str]:
        """Resources with a node, or with the source of one, under a prefix (ruling B5), sorted."""
        wanted = scope_condition(scope)
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT DISTINCT r.uri FROM resources r JOIN nodes n ON n.owner = r.id"
                f" WHERE {wanted.sql} ORDER BY r.uri",
                wanted.params,
            )
            return [uri for (uri,) in rows]

    def vector_hashes(self) -> dict[str, str]:
        """Hash of what a vector is made from, for every node that is searched, by URI."""
        with self._database.reading() as connection:
            return dict(
                connection.execute(f"SELECT n.uri, n.text_hash FROM nodes n WHERE {_EMBEDDED}")
            )

    def vector_inputs(self, nodes: Iterable[str] | None = None) -> Iterator[VectorInput]:
        """Texts to embed, a few hundred in memory at a time.

        Args:
            nodes: Those that are wanted; left out, all.
        """
        wanted = sorted(self.vector_hashes()) if nodes is None else strings("nodes", list(nodes))
        for batch in batches(wanted, BATCH):
            named = one_of("n.uri", batch)
            with self._database.reading() as connection:
                rows = connection.execute(
                    "SELECT n.uri, n.text_hash, r.content, n.resource_uri, n.resource_type"
                    " FROM nodes n JOIN renderings r ON r.node = n.id"
                    f" AND r.depth = n.searched_depth WHERE {named.sql} AND {_EMBEDDED}"
                    " ORDER BY n.uri",
                    named.params,
                ).fetchall()
            for uri, text_hash, text, resource_uri, resource_type in rows:
                yield VectorInput(
                    uko_node=uri,
                    text_hash=text_hash,
                    text=text,
                    resource_uri=resource_uri,
                    resource_type=resource_type,
                )

    @property
    def generation(self) -> int:
        """Counts the writes that were committed, by any process; read anew at every use."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
            return int(row[0])

    def stats(self) -> StoreStats:
        """What the store holds, at one moment."""
        with self._database.reading() as connection:
            return count(connection)

    def check(self, *, repair: bool = False) -> list[Finding]:
        """Hold everything against its seals and against each other; see `checking`.

        Args:
            repair: Make anew what follows from the rest. What does not is marked, so that its
                resource counts as changed.
        """
        with self._database.reading() as connection:
            found = check(connection, repair=False)
        if not (found and repair):
            return found
        with self._database.writing() as connection:
            return check(connection, repair=True)

    def close(self) -> None:
        """Close every connection; what a store in memory held is gone. Twice is fine."""
        self._database.close()

    def __enter__(self) -> Self:
        """Close it at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()


def _make_folder(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{str(path)!r} is a folder: name a file in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder of the store {str(path)!r} cannot be made ({error}): choose another path"
        ) from error
