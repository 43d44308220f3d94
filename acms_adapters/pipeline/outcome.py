"""What a step of the pipeline hands on."""

from __future__ import annotations

from dataclasses import dataclass

from acms_adapters.models import ContextFragment, LedgerEntry


@dataclass(frozen=True, slots=True)
class Outcome:
    """Every fragment that went in is in exactly one of the two.

    Attributes:
        kept: Fragments that go on.
        left_out: One entry for each that does not.
    """

    kept: tuple[ContextFragment, ...]
    left_out: tuple[LedgerEntry, ...] = ()
