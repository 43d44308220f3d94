"""The block of a context, and what it says of fragments it has no room for."""

from __future__ import annotations

import logging

import pytest

from acms_adapters import ContextFragment, ContextPayload, token_counter
from acms_adapters.pipeline.block import fit_block

COUNTER = token_counter()
NODES = ("one", "two", "three")
CONTEXT = ContextPayload(
    fragments=tuple(
        ContextFragment(uko_node=node, content=f"{node} " * 20, relevance_score=0.9)
        for node in NODES
    )
)


@pytest.mark.parametrize("tokens", [1, 45, 70, 90, 200])
def test_what_has_no_room_in_the_window_is_told_by_name(
    tokens: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The context was assembled before, so its ledger cannot know (F7)."""
    with caplog.at_level(logging.INFO):
        block = fit_block(CONTEXT, tokens, counter=COUNTER)
    assert COUNTER.count(block or "") <= tokens
    for node in NODES:
        assert (f"=== {node}" in (block or "")) != (node in caplog.text)
    assert (f"only {tokens} tokens" in caplog.text) is (tokens < 200)
