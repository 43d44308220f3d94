"""Whether what a model has read still stands in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from acms_adapters.errors import RequestError
from acms_adapters.models import (
    ContextFragment,
    ContextPayload,
    ContextRequest,
    LedgerEntry,
    LeftOut,
)
from acms_adapters.models.base import unchecked
from acms_adapters.protocols import BackendSet, TokenCounter
from acms_adapters.tokens import token_counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """A payload's fragments as the store has them now.

    Attributes:
        current: Those that are still there, with today's text.
        changed: How many of them have another text than before.
        gone: Those that are not there any more.
    """

    current: tuple[ContextFragment, ...]
    changed: int = 0
    gone: tuple[LedgerEntry, ...] = ()

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing has to be read anew."""
        return not self.changed and not self.gone


def counter_for(payload: ContextPayload, request: Any, default: Any) -> TokenCounter:
    """Counts as the request says, else as the payload was counted, else as by default.

    Raises:
        RequestError: It is no payload.
    """
    if not isinstance(payload, ContextPayload):
        raise RequestError(
            f"refresh takes the payload of an earlier call, not {payload!r}: assemble one first"
        )
    asked = ContextRequest.of(request).tokenizer
    known = payload.tokenizer if asked is None else asked
    return token_counter(default if known is None else known)


def freshen(payload: ContextPayload, backends: BackendSet) -> Freshness:
    """Compare each fragment with its node in the store, at the depth that was read.

    What no strategy brought did not come from the store and stays as it is, as does everything
    where there is no source of renderings.
    """
    current: list[ContextFragment] = []
    gone: list[LedgerEntry] = []
    changed = 0
    for fragment in payload.fragments:
        now = _now(fragment, backends)
        if now is None:
            gone.append(LedgerEntry.of(fragment, LeftOut.GONE))
            continue
        changed += now is not fragment
        current.append(now)
    return Freshness(current=tuple(current), changed=changed, gone=tuple(gone))


def _now(fragment: ContextFragment, backends: BackendSet) -> ContextFragment | None:
    if backends.renderings is None or fragment.provenance.strategy is None:
        return fragment
    rendering = backends.renderings.at(fragment.uko_node, fragment.detail_depth)
    if rendering is None:
        return fragment if backends.renderings.depths(fragment.uko_node) else None
    if rendering.content == fragment.content:
        return fragment
    changes = {"content": rendering.content, "detail_depth": rendering.detail_depth}
    if backends.counter is not None:
        changes["token_count"] = backends.counter.count(rendering.content)
    elif rendering.token_count is not None:
        changes["token_count"] = rendering.token_count
    return fragment.model_copy(update=changes)


def _uncounted(fragment: ContextFragment) -> ContextFragment:
    """The fragment as if nobody had declared its tokens, which another tokenizer counted."""
    given = fragment.model_fields_set - {"token_count"}
    return unchecked(ContextFragment, dict(fragment.__dict__), given)


def carrying(
    payload: ContextPayload, fresh: Freshness, request: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments for assembling anew what a payload holds, beside whatever else is found."""
    asked = ContextRequest.of(request)
    if asked.tokenizer is None:
        asked = asked.model_copy(update={"tokenizer": payload.tokenizer})
    elif asked.tokenizer != payload.tokenizer:
        fresh = replace(fresh, current=tuple(map(_uncounted, fresh.current)))
    return {
        "request": asked,
        "budget": asked.budget or payload.budget,
        "plan": payload.plan_id,
        "layout": payload.layout,
        "order": "cache-stable",
        **options,
        "previous": payload,
        "carried": fresh,
    }
