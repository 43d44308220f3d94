"""Skeletons in a LangGraph store, for children in other threads or other places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph.store.base import BaseStore, SearchItem

from acms_adapters.errors import BackendError
from acms_adapters.langchain.stores.namespaces import label
from acms_adapters.models import ContextPayload
from acms_adapters.pipeline.inherited import dump_payload, load_json

_TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSkeleton:
    """A skeleton that a search found.

    Attributes:
        plan_id: The plan it was kept for.
        score: As the store gave it, higher is better.
        payload: The skeleton.
    """

    plan_id: str
    score: float
    payload: ContextPayload


class SkeletonStore:
    """Keeps one skeleton for each plan.

    Args:
        store: The store; only `search` needs one with an index.
        namespace: Where in it the skeletons lie.
    """

    def __init__(self, store: BaseStore, *, namespace: Sequence[str] = ("acms", "skeletons")):
        self._store = store
        self._namespace = tuple(map(label, namespace))

    def save(self, plan_id: str, skeleton: ContextPayload) -> None:
        """Keep a skeleton, in place of what was kept for the plan."""
        self._store.put(self._namespace, label(plan_id), _value(plan_id, skeleton), index=[_TEXT])

    async def asave(self, plan_id: str, skeleton: ContextPayload) -> None:
        """The same as `save`, without blocking the event loop."""
        value = _value(plan_id, skeleton)
        await self._store.aput(self._namespace, label(plan_id), value, index=[_TEXT])

    def load(self, plan_id: str) -> ContextPayload | None:
        """The skeleton of a plan, or None."""
        item = self._store.get(self._namespace, label(plan_id))
        return load_json(ContextPayload, item.value["payload"]) if item is not None else None

    async def aload(self, plan_id: str) -> ContextPayload | None:
        """The same as `load`, without blocking the event loop."""
        item = await self._store.aget(self._namespace, label(plan_id))
        return load_json(ContextPayload, item.value["payload"]) if item is not None else None

    def search(self, query: str, *, limit: int = 10) -> list[FoundSkeleton]:
        """Skeletons that are near a question, best first.

        Raises:
            BackendError: The store has no index, and would give anything in any order.
        """
        found = self._store.search(self._namespace, query=query, limit=limit)
        return [hit for item in found if (hit := self._ranked(item)) is not None]

    async def asearch(self, query: str, *, limit: int = 10) -> list[FoundSkeleton]:
        """The same as `search`, without blocking the event loop."""
        found = await self._store.asearch(self._namespace, query=query, limit=limit)
        return [hit for item in found if (hit := self._ranked(item)) is not None]

    def _ranked(self, item: SearchItem) -> FoundSkeleton | None:
        if item.score is None:
            raise BackendError(
                f"{type(self._store).__name__} cannot rank: give it an index to search "
                f"skeletons, such as index={{'dims': ..., 'embed': ..., 'fields': [{_TEXT!r}]}}"
            )
        payload = load_json(ContextPayload, item.value["payload"])
        if payload is None:
            return None
        return FoundSkeleton(plan_id=item.value["plan_id"], score=item.score, payload=payload)


def _value(plan_id: str, skeleton: ContextPayload) -> dict[str, str]:
    # some databases refuse NUL in a text
    text = skeleton.render().replace("\x00", "\ufffd")
    return {"plan_id": plan_id, "payload": dump_payload(skeleton), _TEXT: text}
