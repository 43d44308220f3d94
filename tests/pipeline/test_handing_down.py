"""Compressing a context for a child with a task."""

from __future__ import annotations

from typing import Any

import pytest

from acms_adapters import ContextFragment, ContextPayload, RequestError, token_counter
from acms_adapters.pipeline import hand_down


@pytest.mark.parametrize("context", [None, [], "text", {"fragments": []}])
def test_what_is_no_payload_cannot_be_handed_down(context: Any) -> None:
    with pytest.raises(RequestError, match="context must be a ContextPayload"):
        hand_down(context, "task")


def test_s12_a_mapping_of_backends_is_read_when_handing_down_as_everywhere() -> None:
    """S12."""
    payload = ContextPayload(fragments=(ContextFragment(uko_node="a", content="x" * 400),))
    counted = hand_down(payload, tokens=1000, backends={"counter": token_counter("estimate")})
    assert counted.fragments
    assert not hand_down(payload, tokens=10, backends={"counter": token_counter(len)}).fragments
