"""What was left out, and why (ruling F7)."""

import pytest

from acms_adapters.models import (
    ContextFragment,
    FragmentProvenance,
    Ledger,
    LedgerEntry,
    LeftOut,
)

FRAGMENT = ContextFragment(
    uko_node="n",
    content="text",
    fragment_id="f",
    detail_depth=4,
    token_count=40,
    relevance_score=0.7,
    tier="cold",
    provenance=FragmentProvenance(resource_uri="r", strategy="arce"),
)


def test_an_entry_names_the_candidate_and_its_numbers() -> None:
    entry = LedgerEntry.of(FRAGMENT, LeftOut.OVER_BUDGET, needed=40, had=30)
    assert (entry.fragment_id, entry.uko_node, entry.detail_depth) == ("f", "n", 4)
    assert (entry.token_count, entry.relevance_score, entry.tier) == (40, 0.7, "cold")
    assert (entry.strategy, entry.reason) == ("arce", LeftOut.OVER_BUDGET)
    assert (entry.needed, entry.had) == (40, 30)


def test_an_entry_survives_json_equal() -> None:
    entry = LedgerEntry.of(FRAGMENT, LeftOut.BELOW_THRESHOLD, value=0.1, threshold=0.5)
    assert LedgerEntry.model_validate_json(entry.model_dump_json()) == entry


@pytest.mark.parametrize("reason", list(LeftOut))
def test_every_reason_can_be_told_in_words(reason: LeftOut) -> None:
    entry = LedgerEntry.of(FRAGMENT, reason, other="g", needed=40, had=30, value=0.1, threshold=0.5)
    assert entry.explain().startswith(reason.value)


def test_words_carry_the_numbers_of_their_reason() -> None:
    def told(reason: LeftOut) -> str:
        return LedgerEntry.of(
            FRAGMENT, reason, other="g", needed=40, had=30, value=0.1, threshold=0.5
        ).explain()

    assert "40" in told(LeftOut.OVER_BUDGET)
    assert "30" in told(LeftOut.OVER_BUDGET)
    assert "g" in told(LeftOut.DUPLICATE)
    assert "0.1" in told(LeftOut.BELOW_THRESHOLD)
    assert "0.5" in told(LeftOut.BELOW_THRESHOLD)


def test_f7_every_reason_of_the_rulings_exists() -> None:
    assert {
        "duplicate",
        "contained",
        "superseded_depth",
        "below_threshold",
        "over_budget",
        "out_of_scope",
        "beyond_share",
        "late",
    } <= {reason.value for reason in LeftOut}


def test_f7_it_tells_how_many_tokens_more_would_admit_the_next() -> None:
    """F7.next."""

    def over(needed: int, had: int) -> LedgerEntry:
        return LedgerEntry.of(FRAGMENT, LeftOut.OVER_BUDGET, needed=needed, had=had)

    assert Ledger().tokens_to_admit_next is None
    assert Ledger(entries=(over(40, 30), over(50, 45))).tokens_to_admit_next == 5
    duplicate = LedgerEntry.of(FRAGMENT, LeftOut.DUPLICATE, other="g")
    assert Ledger(entries=(duplicate,)).tokens_to_admit_next is None
    assert Ledger(entries=(over(30, 30),)).tokens_to_admit_next == 1


def test_it_counts_by_reason() -> None:
    entries = tuple(
        LedgerEntry.of(FRAGMENT, reason)
        for reason in (LeftOut.LATE, LeftOut.DUPLICATE, LeftOut.LATE)
    )
    ledger = Ledger(entries=entries)
    assert ledger.by_reason() == {LeftOut.LATE: 2, LeftOut.DUPLICATE: 1}
    assert len(ledger) == 3
    assert Ledger()


def test_unknown_fields_and_reasons_are_refused() -> None:
    for change in ({"unknown": 1}, {"reason": "bored"}):
        fields = {**LedgerEntry.of(FRAGMENT, LeftOut.LATE).model_dump(), **change}
        with pytest.raises(ValueError, match=next(iter(change))):
            LedgerEntry(**fields)
