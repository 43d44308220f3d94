"""A LlamaIndex document store as backends: words by BM25, relationships as a graph."""

from __future__ import annotations

from typing import Any, Self

from llama_index.core.storage.docstore import BaseDocumentStore

from acms_adapters.backends.embedders import as_embedder
from acms_adapters.indexing import ContextStore
from acms_adapters.protocols import BackendSet, GraphBackend, RenderingSource, TextBackend


class DocstoreBackends:
    """Makes the nodes of a document store findable, in memory.

    A document store has no search of its own. This is the library's BM25 over fields, with stems
    and identifiers split, that follows additions and deletions; `BM25Retriever` of LlamaIndex has
    neither, misses scripts without blanks and answers with hits that share no word.

    Args:
        docstore: Where the nodes are.

    Attributes:
        text: Finds nodes by words.
        graph: Walks along their relationships: parent, child and source as ``contains``, previous
            and next as ``next``.
        renderings: Their texts; a window is a higher depth of its sentence.
    """

    def __init__(self, docstore: BaseDocumentStore) -> None:
        self._docstore = docstore
        self._store = ContextStore.in_memory(embedder=None)
        self._nodes: set[str] = set()
        self.refresh()
        backends = self._store.backends()
        assert backends.text is not None
        assert backends.graph is not None
        assert backends.renderings is not None
        self.text: TextBackend = backends.text
        self.graph: GraphBackend = backends.graph
        self.renderings: RenderingSource = backends.renderings

    def refresh(self) -> None:
        """Follow what was added, changed and deleted in the document store since."""
        nodes = self._docstore.docs
        for gone in self._nodes - nodes.keys():
            self._store.remove(gone)
        self._store.add_nodes(nodes.values())
        self._nodes = set(nodes)

    def backends(self, *, embedder: Any = None, **others: Any) -> BackendSet:
        """A set of these and others, such as ``vector=``.

        Args:
            embedder: Embeds questions for `vector`; anything `as_embedder` reads.
            **others: Parts of a `BackendSet`.
        """
        own = {"text": self.text, "graph": self.graph, "renderings": self.renderings}
        return BackendSet(**{**own, **others}, embedder=as_embedder(embedder))

    def close(self) -> None:
        """Forget everything."""
        self._store.close()

    def __enter__(self) -> Self:
        """Close it at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()
