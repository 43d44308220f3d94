"""What an indexing call did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from acms_adapters.models.base import repair_text

Progress = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and how much there is."""

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Skip:
    """Something that was left out, and why.

    Attributes:
        name: Path, id or place in the call.
        reason: Why.
    """

    name: str
    reason: str

    def __post_init__(self) -> None:
        """A file's name may hold bytes that are no text."""
        object.__setattr__(self, "name", repair_text(self.name))

    def __str__(self) -> str:
        """For people."""
        return f"{self.name}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What became of everything that was given.

    Attributes:
        kind: What was given: ``files``, ``documents``, ``nodes`` or ``fragments``.
        project: URI of the project, where a path was indexed.
        added: URIs that are new.
        changed: URIs whose text, metadata or tier is another one now.
        unchanged: How many were as the store had them.
        removed: URIs that are gone.
        skipped: What was left out, each with its reason.
        notes: What was indexed in a way that may surprise.
    """

    kind: str
    project: str | None = None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    skipped: tuple[Skip, ...] = ()
    notes: tuple[Skip, ...] = ()

    @property
    def total(self) -> int:
        """How many files or documents of this call the store holds now."""
        return len(self.added) + len(self.changed) + self.unchanged

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON types."""
        return {**asdict(self), "total": self.total}

    def summary(self) -> str:
        """One line for people."""
        parts = [
            f"{len(self.added)} added",
            f"{len(self.changed)} changed",
            f"{self.unchanged} unchanged",
            f"{len(self.removed)} removed",
            f"{len(self.skipped)} skipped",
        ]
        name = f"{self.project}: " if self.project else ""
        kind = self.kind.removesuffix("s") if self.total == 1 else self.kind
        return f"{name}{self.total} {kind} ({', '.join(parts)})"

    def __str__(self) -> str:
        """For people: the line of `summary`, and one for each of the most frequent reasons."""
        names: dict[str, list[str]] = {}
        for told in (*self.skipped, *self.notes):
            names.setdefault(told.reason, []).append(told.name)
        reasons = sorted(names, key=lambda reason: -len(names[reason]))
        lines = [f"  {reason}: {_first_of(names[reason])}" for reason in reasons[:_SHOWN]]
        hidden = len(reasons) - len(lines)
        return "\n".join([self.summary(), *lines, *[f"  {hidden} reasons more"] * (hidden > 0)])

    def reasons(self) -> dict[str, int]:
        """How many were left out for each reason, most frequent first."""
        return dict(Counter(skip.reason for skip in self.skipped).most_common())


def _first_of(names: Sequence[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
