"""Compressing a context for a child with a task."""

from __future__ import annotations

from typing import Any

import pytest

from acms_adapters import RequestError
from acms_adapters.pipeline import hand_down


@pytest.mark.parametrize("context", [None, [], "text", {"fragments": []}])
def test_what_is_no_payload_cannot_be_handed_down(context: Any) -> None:
    with pytest.raises(RequestError, match="context must be a ContextPayload"):
        hand_down(context, "task")
