"""Vectors in Chroma pass the suite: in a folder, in a client in memory and on a server."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import chromadb
import pytest

from acms_adapters.backends.chroma import ChromaVectorBackend
from acms_adapters.models import SearchHit
from acms_adapters.testing import VectorBackendCompliance


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Port of a real server on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = free.getsockname()[1]
    command = [str(Path(sys.executable).parent / "chroma"), "run", "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [*command, "--port", str(number), "--path", str(tmp_path_factory.mktemp("server"))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    patience = time.monotonic() + 60
    while not answers(number):
        assert process.poll() is None, "the server ended at once"
        assert time.monotonic() < patience, "the server did not come up"
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    yield number
    process.terminate()
    process.wait(30)


def answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


class ChromaCompliance(VectorBackendCompliance):
    place: dict[str, Any]

    @pytest.fixture(autouse=True)
    def _opened(self) -> Iterator[None]:
        self.opened: list[ChromaVectorBackend] = []
        yield
        for backend in self.opened:
            backend.close()

    def make_backend(
        self, documents: Sequence[SearchHit], vectors: Sequence[Sequence[float]]
    ) -> ChromaVectorBackend:
        backend = ChromaVectorBackend(**self.place, collection=f"test-{uuid4().hex}")
        self.opened.append(backend)
        backend.upsert(
            [item.uko_node for item in documents],
            vectors,
            resource_uris=[item.provenance.resource_uri for item in documents],
            resource_types=[item.provenance.resource_type for item in documents],
            contents=[item.content for item in documents],
            metadatas=[item.metadata for item in documents],
        )
        return backend


class TestChromaFolder(ChromaCompliance):
    """B1, B3, B4, B5, B7, M7."""

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.place = {"path": tmp_path_factory.mktemp("vectors")}


class TestChromaInMemory(ChromaCompliance):
    @pytest.fixture(autouse=True)
    def _place(self) -> None:
        self.place = {"client": chromadb.EphemeralClient()}


class TestChromaServer(ChromaCompliance):
    @pytest.fixture(autouse=True)
    def _place(self, port: int) -> None:
        self.place = {"host": "127.0.0.1", "port": port}
