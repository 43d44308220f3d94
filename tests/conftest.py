"""What holds for every test: no network, no access to the user's own folders, bounded examples."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    max_examples=25,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("slow", settings.get_profile("default"), max_examples=1000)
settings.load_profile("default")

LOCAL_HOSTS = {None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0"}


class NetworkBlockedError(RuntimeError):
    """Not an OSError, so that code with an offline fallback cannot take it for a dead network."""


def is_local(host: object) -> bool:
    text = host.decode() if isinstance(host, bytes) else host
    return text in LOCAL_HOSTS or str(text).startswith("127.")


@pytest.fixture(autouse=True)
def network_attempts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Refuses every address beyond this machine, and fails a test that swallowed the refusal.

    A test that means to try clears the list. Sockets opened by native code are not seen.
    """
    attempts: list[str] = []

    def guard(host: object) -> None:
        if not is_local(host):
            attempts.append(repr(host))
            raise NetworkBlockedError(f"a test reached for {host!r}; tests run without a network")

    def guarded(method: Any) -> Any:
        def call(self: socket.socket, address: Any, *rest: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6):
                guard(address[0])
            return method(self, address, *rest)

        return call

    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        guard(host)
        return resolve(host, *args, **options)

    monkeypatch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield attempts
    assert not attempts, f"a test reached for {', '.join(attempts)}; tests run without a network"


@pytest.fixture(scope="session", autouse=True)
def user_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Points the home, config, cache and data folders at an empty one, tracing at nothing."""
    home = str(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
            patch.setenv(name, home)
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.delenv(name, raising=False)
        for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
            patch.setenv(name, "false")
        yield


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that is not set before the test is over; then hanging threads end."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture(params=["sync", "async"])
def assemble(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Calls a pipeline in both of its ways."""

    def call(pipeline: Any, *args: Any, **options: Any) -> Any:
        if request.param == "sync":
            return pipeline.assemble(*args, **options)
        return asyncio.run(pipeline.aassemble(*args, **options))

    return call
