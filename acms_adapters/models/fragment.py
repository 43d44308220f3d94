"""A piece of text that could be read, and where it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from acms_adapters.errors import RequestError
from acms_adapters.models.base import (
    FrozenModel,
    Metadata,
    Text,
    Tier,
    UtcDatetime,
    as_utc,
    changed,
    now_utc,
    own_copy,
    repair_text,
    unchecked,
)
from acms_adapters.models.estimate import estimate_tokens
from acms_adapters.models.ulids import new_id

MAX_CONTENT_CHARS = 1_000_000
MAX_METADATA_ENTRIES = 64
MAX_DEPTH = 9

Depth = Annotated[int, Field(ge=0, le=MAX_DEPTH)]
Score = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


def line_feeds(text: str) -> str:
    """A text with its line ends as line feeds."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def content_hash(content: str) -> str:
    """SHA-256 of a text with its line ends as line feeds (ruling F1), in hexadecimal."""
    return hashlib.sha256(line_feeds(content).encode("utf-8", "surrogatepass")).hexdigest()


class FragmentProvenance(FrozenModel):
    """Where a fragment came from.

    Attributes:
        resource_uri: The file, page or document the text stands in.
        location: Place inside the resource, such as ``lines 1-10``.
        resource_type: Kind of resource, such as ``source_file``, ``document`` or ``decision``.
        strategy: The strategy that brought it, if one did.
        score: The relevance that strategy gave it, before scores were combined.
        merged: Provenance of the duplicates that were folded into this fragment (ruling F1).
    """

    resource_uri: Text = Field(min_length=1)
    location: Text = ""
    resource_type: Text = ""
    strategy: str | None = None
    score: float | None = None
    merged: tuple[FragmentProvenance, ...] = ()


class ContextFragment(FrozenModel):
    """The atomic unit of context: one node's text at one depth.

    Attributes:
        uko_node: Opaque URI of the node that the text renders.
        content: The text, at most 1,000,000 characters; lone surrogates are repaired.
        fragment_id: ULID; made when left out.
        detail_depth: 0 (names only) to 9 (full text).
        token_count: Tokens of `content`. Left out, a conservative estimate; whoever admits a
            fragment counts the text itself and goes by the larger number.
        relevance_score: 0 (irrelevant) to 1.
        tier: ``hot``, ``warm`` or ``cold``.
        provenance: Where it came from; left out, the node itself.
        metadata: At most 64 entries, copied on the way in.
        created_at: UTC; a naive time is taken as UTC.
    """

    uko_node: Text = Field(min_length=1)
    content: Text = Field(max_length=MAX_CONTENT_CHARS)
    fragment_id: str = Field(default_factory=new_id, min_length=1)
    detail_depth: Depth = MAX_DEPTH
    token_count: int = Field(default=-1, ge=0)
    relevance_score: Score = 0.5
    tier: Tier = "warm"
    provenance: FragmentProvenance = Field(
        default_factory=lambda data: FragmentProvenance(resource_uri=data["uko_node"])
    )
    metadata: Metadata = Field(default_factory=dict, max_length=MAX_METADATA_ENTRIES)
    created_at: UtcDatetime = Field(default_factory=now_utc)

    @model_validator(mode="after")
    def _estimate_count(self) -> Self:
        if self.token_count < 0:
            object.__setattr__(self, "token_count", estimate_tokens(self.content))
        return self

    @property
    def content_hash(self) -> str:
        """SHA-256 of the content with normalised line ends, in hexadecimal."""
        return content_hash(self.content)

    @property
    def key(self) -> tuple[str, str]:
        """What makes two fragments duplicates: node and content hash (ruling F1)."""
        return (self.uko_node, self.content_hash)


def as_fragments(values: Iterable[Any], name: str = "fragments") -> tuple[ContextFragment, ...]:
    """What a caller gave as fragments; a naive time, which only a copy can have, is in UTC.

    Raises:
        RequestError: It is no collection, or something in it is no fragment.
    """
    if isinstance(values, Iterable):
        given = tuple(values)
        wrong = [value for value in given if not isinstance(value, ContextFragment)]
        if not wrong:
            if all(f.created_at.tzinfo for f in given):
                return given
            return tuple(changed(f, created_at=as_utc(f.created_at)) for f in given)
        values = wrong[0]
    raise RequestError(f"{name} must be ContextFragment objects, not {values!r:.200}")


def detached(fragment: ContextFragment, **values: Any) -> ContextFragment:
    """The same fragment, sharing nothing that a reader could change.

    Args:
        fragment: It stays as it is.
        **values: Fields to replace, by values that need no check.
    """
    metadata = own_copy(fragment.metadata) if fragment.metadata else {}
    given = fragment.__pydantic_fields_set__
    if values:
        given = given | values.keys()
    return unchecked(type(fragment), {**fragment.__dict__, "metadata": metadata, **values}, given)


def fragment_of(
    *,
    uko_node: str,
    content: str,
    detail_depth: int,
    token_count: int,
    relevance_score: float,
    tier: Tier,
    provenance: FragmentProvenance,
    metadata: dict[str, Any],
    created_at: datetime,
) -> ContextFragment:
    """A fragment of values of the right types and ranges, in a third of the constructor's time.

    Raises:
        ValueError: The text is too long, or there are too many metadata entries.
    """
    values = {
        "uko_node": repair_text(uko_node),
        "content": repair_text(content),
        "fragment_id": new_id(),
        "detail_depth": detail_depth,
        "token_count": token_count,
        "relevance_score": relevance_score,
        "tier": tier,
        "provenance": provenance,
        "metadata": own_copy(metadata),
        "created_at": as_utc(created_at),
    }
    if len(content) > MAX_CONTENT_CHARS or len(metadata) > MAX_METADATA_ENTRIES:
        return ContextFragment(**values)  # it says what is wrong
    return unchecked(ContextFragment, values, values.keys() - {"fragment_id"})
