"""A folder, or memory, in which everything that could be read is kept ready to be found."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from acms_adapters.backends.sqlite import BUSY_TIMEOUT_SECONDS, SQLiteStore
from acms_adapters.errors import StoreError
from acms_adapters.indexing.checking import StoreCheck, check_store
from acms_adapters.indexing.documents import read_documents
from acms_adapters.indexing.entries import Entry
from acms_adapters.indexing.fragments import read_fragments
from acms_adapters.indexing.nodes import read_nodes
from acms_adapters.indexing.paths import PathIndexer
from acms_adapters.indexing.progress import showing
from acms_adapters.indexing.report import IndexReport, Progress, Skip
from acms_adapters.indexing.scan import MAX_BYTES
from acms_adapters.indexing.stats import ContextStoreStats
from acms_adapters.indexing.vectors import AUTO, NodeVectors, open_vectors
from acms_adapters.indexing.writing import Writer
from acms_adapters.models import ContextFragment
from acms_adapters.protocols import BackendSet, TokenCounter
from acms_adapters.tokens import token_counter

if TYPE_CHECKING:
    from acms_adapters.config import Settings
    from acms_adapters.pipeline import ACMSPipeline

DATABASE = "store.sqlite3"
"""Name of the file in a store's folder that holds everything but vectors."""


class ContextStore:
    """Keeps files, documents and nodes, and answers for them.

    Made by `open` or `in_memory`. Any thread may use it; one writes at a time.
    """

    def __init__(
        self, texts: SQLiteStore, vectors: NodeVectors | None, *, folder: Path | None
    ) -> None:
        self._texts = texts
        self._vectors = vectors
        self._folder = folder
        self._counter: TokenCounter = token_counter()
        self._writer = Writer(texts, vectors, self._counter)
        self._turn = threading.RLock()

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Any = AUTO,
        read_only: bool = False,
        rebuild: bool = False,
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
        progress: Progress | None = None,
    ) -> Self:
        """Open the store in a folder, made when missing.

        What an interrupted run left without edges and vectors gets them now.

        Args:
            embedder: A name, an `Embedder`, an embedding object of LangChain, LlamaIndex or Chroma,
                or a function; ``auto`` is the one that made the store, else wordllama where it is
                installed. None: nothing is embedded or found by its vector.
            read_only: Refuse to write; the store must be there.
            rebuild: Make the vectors anew if another embedder made them.
            busy_timeout_seconds: How long to wait for another writer.
            progress: Told what is done; left out, a bar on a terminal.

        Raises:
            EmbedderMismatchError: Another embedder made the store.
            StoreLockedError: Another writer did not finish in time.
            StoreError: The folder cannot be used.
        """
        folder = Path(path).expanduser()
        if folder.exists() and not folder.is_dir():
            raise StoreError(f"{str(path)!r} is a file, a store is a folder: name another path")
        texts = SQLiteStore(
            folder / DATABASE, read_only=read_only, busy_timeout_seconds=busy_timeout_seconds
        )
        return cls._with_vectors(texts, folder, embedder, read_only, rebuild, progress)

    @classmethod
    def in_memory(cls, *, embedder: Any = AUTO) -> Self:
        """A store that lives and dies with this object."""
        return cls._with_vectors(SQLiteStore(None), None, embedder, False, False, None)

    @classmethod
    def _with_vectors(
        cls,
        texts: SQLiteStore,
        folder: Path | None,
        embedder: Any,
        read_only: bool,
        rebuild: bool,
        progress: Progress | None,
    ) -> Self:
        vectors: NodeVectors | None = None
        try:
            if not read_only:
                texts.resolve_references()
            vectors = open_vectors(texts, folder, embedder, read_only=read_only, rebuild=rebuild)
            if vectors is not None and not (read_only and vectors.is_kept):
                with showing(progress) as shown:
                    vectors.catch_up(shown)
        except BaseException:
            if vectors is not None:
                vectors.index.close()
            texts.close()
            raise
        return cls(texts, vectors, folder=folder)

    def add_path(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        include: Iterable[str] | str | None = None,
        exclude: Iterable[str] | str | None = None,
        max_bytes: int = MAX_BYTES,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Index a folder or a file; what has not changed since is left alone.

        A changed file replaces what was kept of it, and a file that is gone goes. A folder inside
        an indexed project is indexed as a part of it.

        Args:
            name: Name of the project in URIs; left out, the folder's.
            include: Patterns as in `.gitignore`; only matching files are taken. What an earlier
                call took and these do not match stays.
            exclude: Patterns of files and folders to leave.
            max_bytes: How large a file may be.
            progress: Told what is done, how much of it, and of how much; left out, a bar on a
                terminal.

        Returns:
            What was added, changed, removed and skipped; nothing for an empty folder.

        Raises:
            FileNotFoundError: There is nothing at `path`.
            ValueError: A pattern, size or name that cannot be, or a name that another folder has.
            StoreError: The store cannot be written.
        """
        with self._turn, showing(progress) as shown:
            indexer = PathIndexer(self._texts, self._writer, leave=self._folder)
            return indexer.index(
                Path(path),
                name=name,
                include=include,
                exclude=exclude,
                max_bytes=max_bytes,
                progress=shown,
            )

    def add_documents(
        self, documents: Iterable[Any], *, progress: Progress | None = None
    ) -> IndexReport:
        """Keep LangChain documents, or anything with `page_content`, `metadata` and `id`.

        Ids come back as text and metadata as they were. ``uko_node``, ``source``,
        ``resource_type``, ``tier``, ``title``, ``created_at``, ``links``, ``parent_id`` and
        ``window`` in the metadata mean something; see `read_documents`. A document without an id
        gets one from its source, place and text.

        Raises:
            TypeError: Something is no document.
        """
        return self._add("documents", read_documents(documents), progress)

    def add_nodes(self, nodes: Iterable[Any], *, progress: Progress | None = None) -> IndexReport:
        """Keep LlamaIndex nodes, or anything with `node_id`, `get_content` and `metadata`.

        Relationships become edges; a node whose children come with it is found by its outline.

        Raises:
            TypeError: Something is no node.
        """
        return self._add("nodes", read_nodes(nodes), progress)

    def add_fragments(
        self, fragments: Iterable[ContextFragment], *, progress: Progress | None = None
    ) -> IndexReport:
        """Keep fragments; those of one node at one place are its renderings.

        Raises:
            TypeError: Something is no fragment.
        """
        return self._add("fragments", read_fragments(fragments), progress)

    def remove(self, uri_or_path: str | Path) -> int:
        """Remove what a URI or path names, and everything below it.

        Args:
            uri_or_path: URI of a project, folder, file or document, the source that documents came
                from, or the path of an indexed file or folder, which need not be there any more.

        Returns:
            How many files and documents were removed; 0 when nothing has that name.
        """
        with self._turn, showing(None) as shown:
            return PathIndexer(self._texts, self._writer, leave=self._folder).remove(
                uri_or_path, progress=shown
            )

    def stats(self) -> ContextStoreStats:
        """What the store holds."""
        return ContextStoreStats.of(self._texts, self._vectors)

    def check(self, *, repair: bool = True, progress: Progress | None = None) -> StoreCheck:
        """Look whether everything kept is what was written.

        Texts, metadata and links are held against hashes over what was written; words, filters,
        links that follow from mentions, plans and vectors against the texts.

        Args:
            repair: Make anew what follows from texts, and read damaged files again that have not
                changed since. What is left is marked, so that adding it again writes it. A store
                that was opened to read is only looked at.
            progress: Told what is done; left out, a bar on a terminal.
        """
        repair = repair and not self._texts.read_only
        with self._turn, showing(progress) as shown:
            return check_store(
                self._texts, self._vectors, self._writer, repair=repair, progress=shown
            )

    def backends(self) -> BackendSet:
        """What strategies may ask."""
        vectors = self._vectors
        return BackendSet(
            text=self._texts.text,
            vector=vectors.index if vectors else None,
            graph=self._texts.graph,
            temporal=self._texts.temporal,
            counter=self._counter,
            embedder=vectors.embedder if vectors else None,
            renderings=self._texts.renderings,
        )

    def pipeline(self, config: Settings | Mapping[str, Any] | None = None) -> ACMSPipeline:
        """A pipeline over this store.

        Args:
            config: Configuration, a mapping of it, or None for the defaults.
        """
        from acms_adapters.pipeline import ACMSPipeline

        return ACMSPipeline(config, backends=self.backends())

    def close(self) -> None:
        """Give back files and clients; what a store in memory held is gone. Twice is fine."""
        if self._vectors is not None:
            self._vectors.index.close()
        self._texts.close()

    def __enter__(self) -> Self:
        """Close it at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        """The store itself, because what it opened is open once."""
        return self

    def __repr__(self) -> str:
        """Where it is."""
        return f"ContextStore({str(self._folder) if self._folder else 'in memory'!r})"

    def _add(
        self, kind: str, entries: list[Entry | Skip], progress: Progress | None
    ) -> IndexReport:
        with self._turn, showing(progress) as shown:
            return self._writer.add_entries(kind, entries, progress=shown)
