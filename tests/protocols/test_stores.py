"""How backends are called (ruling B1)."""

import inspect
from typing import Any

import pytest

from acms_adapters.protocols import (
    GraphBackend,
    TemporalBackend,
    TextBackend,
    VectorBackend,
)
from acms_adapters.protocols.stores import SearchesText

FILTERS = {"scope", "resource_types", "metadata_filter"}


@pytest.mark.parametrize(
    ("method", "positional", "named"),
    [
        (TextBackend.search, ["query"], {"max_results", *FILTERS}),
        (VectorBackend.similarity_search, ["embedding"], {"top_k", *FILTERS}),
        (SearchesText.search_text, ["query"], {"top_k", *FILTERS}),
        (GraphBackend.neighbors, ["nodes"], {"direction", "relations", "limit", "scope"}),
        (GraphBackend.get, ["nodes"], FILTERS),
        (TemporalBackend.query_by_tier, ["tier"], {"window", "plan_ids", "scope"}),
        (TemporalBackend.record, ["item"], set()),
        (TemporalBackend.archive, ["plan_id"], set()),
    ],
    ids=lambda value: getattr(value, "__qualname__", None),
)
def test_b1_a_backend_is_called_with_its_question_and_options_by_keyword(
    method: Any, positional: list[str], named: set[str]
) -> None:
    """B1.calls."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == positional
    options = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert named <= options.keys()
    assert all(option.default is not option.empty for option in options.values())


@pytest.mark.parametrize(
    ("method", "limit"),
    [
        (TextBackend.search, "max_results"),
        (VectorBackend.similarity_search, "top_k"),
        (SearchesText.search_text, "top_k"),
    ],
    ids=lambda value: getattr(value, "__qualname__", None),
)
def test_b1_twenty_are_asked_for_unless_told_otherwise(method: Any, limit: str) -> None:
    assert inspect.signature(method).parameters[limit].default == 20
