"""The summary in front of assembled context."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from acms_adapters.models import ContextFragment, ContextPayload
from acms_adapters.models.base import repair_text
from acms_adapters.pipeline.bounds import whole

_TOPIC_KEYS = ("title", "name", "symbol", "heading", "topic", "names", "topics", "tags", "keywords")
_FILE_KEYS = ("path", "file_name", "source")
_TOPICS = 5
_LABEL_CHARS = 40
_NOT_PRINTED = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
_ELLIPSIS = "…"


class PreambleGenerator:
    """Summarises a payload in a few lines, without a clock: equal payloads, equal summaries.

    Args:
        enabled: False makes every preamble empty.
        include_stats: Whether tokens and utilisation are told.
        max_length: Most characters of a preamble, at least 0.

    Raises:
        ValueError: `max_length` is out of its range.
    """

    def __init__(
        self, *, enabled: bool = True, include_stats: bool = True, max_length: int = 500
    ) -> None:
        self.enabled = enabled
        self.include_stats = include_stats
        self.max_length = whole(max_length, "max_length")

    def generate(
        self,
        payload: ContextPayload,
        strategies_used: Sequence[str] | None = None,
        budget_used: float | None = None,
    ) -> str:
        """Summarise a payload; empty for an empty one.

        What does not fit into `max_length` is left out by whole lines, last line first; if even
        the first line is too long, it ends at a word.

        Args:
            payload: The payload.
            strategies_used: Strategies that contributed; left out, those of the payload.
            budget_used: Fraction of the budget consumed; left out, that of the payload.
        """
        if not self.enabled or not payload.fragments:
            return ""
        strategies = payload.strategies_used if strategies_used is None else strategies_used
        used = payload.budget_used if budget_used is None else budget_used
        lines = [
            f"{_counts(payload.fragments)}{self._stats(payload, used)}.",
            _listed("Strategies", strategies),
            _listed("Topics", _topics(payload.fragments)),
            _dates(payload.fragments),
        ]
        return _cut([line for line in lines if line], self.max_length)

    def _stats(self, payload: ContextPayload, used: float) -> str:
        if not self.include_stats:
            return ""
        return f": {_number(payload.total_tokens, 'token')}, {used:.0%} of the budget"


def _counts(fragments: Sequence[ContextFragment]) -> str:
    sources = {fragment.provenance.resource_uri for fragment in fragments}
    return (
        f"Context includes {_number(len(fragments), 'fragment')} "
        f"from {_number(len(sources), 'source')}"
    )


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _listed(label: str, names: Iterable[str]) -> str:
    told = ", ".join(filter(None, map(_label, names)))
    return f"{label}: {told}." if told else ""


def _label(name: str) -> str:
    """One line of text that a document gave, short enough not to crowd out the others."""
    clean = _NOT_PRINTED.sub(" ", repair_text(name)).strip()
    return _shorten(clean, _LABEL_CHARS)


def _topics(fragments: Sequence[ContextFragment]) -> list[str]:
    """What most fragments are named after; ties in reading order."""
    counts = Counter(
        name for fragment in fragments for name in dict.fromkeys(_names(fragment.metadata))
    )
    return [name for name, _ in counts.most_common(_TOPICS)]


def _names(metadata: dict[str, Any]) -> list[str]:
    # a file is named where nothing in it is
    return [*_texts(metadata, _TOPIC_KEYS)] or [*_texts(metadata, _FILE_KEYS)][:1]


def _texts(metadata: dict[str, Any], keys: Iterable[str]) -> Iterator[str]:
    for key in keys:
        value = metadata.get(key)
        values = value if isinstance(value, list | tuple) else (value,)
        yield from (name for name in values if isinstance(name, str) and name.strip())


def _dates(fragments: Sequence[ContextFragment]) -> str:
    # a time that nobody gave is the time of assembly and would change the summary every day
    days = sorted(
        fragment.created_at.date().isoformat()
        for fragment in fragments
        if "created_at" in fragment.model_fields_set
    )
    if not days:
        return ""
    return f"Dated {days[0]}." if days[0] == days[-1] else f"Dated {days[0]} to {days[-1]}."


def _cut(lines: Sequence[str], length: int) -> str:
    while len(lines) > 1 and len("\n".join(lines)) > length:
        lines = lines[:-1]
    return _shorten("\n".join(lines), length)


def _shorten(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    head = text[: max(0, length - len(_ELLIPSIS))]
    words = head.rpartition(" ")[0] or head
    return words.rstrip() + _ELLIPSIS if length > 0 else ""
