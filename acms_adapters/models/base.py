"""What every model shares: frozen, strict about unknown fields, clean text, UTC times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

Tier = Literal["hot", "warm", "cold"]

TIERS: tuple[Tier, ...] = ("hot", "warm", "cold")


class FrozenModel(BaseModel):
    """Immutable model that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def repair_text(text: str) -> str:
    """Replace lone surrogates by U+FFFD, so that the text can be encoded as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _repair(value: Any) -> Any:
    return repair_text(value) if isinstance(value, str) else value


def as_utc(moment: datetime) -> datetime:
    """Give the same moment in UTC; a naive one is taken as UTC (ruling M8)."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def now_utc() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


Text = Annotated[str, BeforeValidator(_repair)]
UtcDatetime = Annotated[datetime, AfterValidator(as_utc)]
