"""What the strategies of one request share, so that none asks again what another one asked."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Self, TypeVar, cast

T = TypeVar("T")


class RequestMemo:
    """Answers of backends to one request; thread-safe.

    Attributes:
        hits: How often an answer was there, or on its way, when it was asked for here.
    """

    def __init__(self) -> None:
        self.hits = 0
        self._lock = threading.Lock()
        self._answers: dict[str, Future[Any]] = {}
        self._ratings: dict[str, dict[str, float]] = {}

    def view(self) -> Self:
        """The same answers, with `hits` of its own."""
        view = copy.copy(self)
        view.hits = 0
        return view

    def once(self, key: str, ask: Callable[[], T]) -> T:
        """What `ask` returned or raised when it was first called under this key.

        Whoever comes meanwhile waits for it.
        """
        with self._lock:
            answer = self._answers.get(key)
            is_first = answer is None
            if answer is None:
                answer = self._answers[key] = Future()
            self.hits += not is_first
        if is_first:
            try:
                answer.set_result(ask())
            except BaseException as error:
                answer.set_exception(error)
        return cast("T", answer.result())

    def note_ratings(self, strategy: str, ratings: Mapping[str, float]) -> None:
        """Keep what a strategy would have said of nodes that it did not deliver."""
        with self._lock:
            self._ratings.setdefault(strategy, {}).update(ratings)

    def ratings(self) -> dict[str, dict[str, float]]:
        """Those relevances, by strategy and node."""
        with self._lock:
            return {strategy: dict(nodes) for strategy, nodes in self._ratings.items()}
