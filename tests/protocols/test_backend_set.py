"""Everything that a strategy may ask, in one set (ruling S12)."""

import dataclasses
from typing import Any

import pytest

from acms_adapters import BackendSet, StrategyCapabilities
from acms_adapters.testing import PlainGraph, PlainText

PARTS = {"text", "vector", "graph", "temporal", "counter", "embedder", "renderings"}


def test_s12_a_set_has_a_place_for_each_part_and_all_may_be_missing() -> None:
    assert {field.name for field in dataclasses.fields(BackendSet)} >= PARTS
    empty = BackendSet()
    assert all(getattr(empty, name) is None for name in PARTS)
    assert not any(empty.has(name) for name in ("text", "vector", "graph", "temporal"))


def test_s12_what_a_strategy_needs_and_the_set_lacks_is_named() -> None:
    needs = StrategyCapabilities(uses_text=True, uses_vector=True, uses_graph=True)
    some = BackendSet(text=PlainText([]), graph=PlainGraph([], []))
    assert some.missing(needs) == ("vector",)
    assert BackendSet.of({"vector": True, "graph": False}).missing(needs) == ("text", "graph")


def test_s12_a_set_is_read_from_itself_from_backends_from_flags_or_from_nothing() -> None:
    text = PlainText([])
    assert BackendSet.of(None) == BackendSet.of({}) == BackendSet()
    made = BackendSet.of({"text": text, "vector": True})
    assert BackendSet.of(made) is made
    assert made.text is text
    assert (made.vector, made.has("vector")) == (None, True)


def test_a_copy_has_other_parts_and_the_set_stays_as_it_is() -> None:
    some = BackendSet(text=PlainText([]))
    assert some.with_(text=None) == BackendSet()
    assert some.text is not None
    with pytest.raises(dataclasses.FrozenInstanceError):
        some.text = None  # type: ignore[misc]


@pytest.mark.parametrize("wrong", [{"vectors": True}, {7: True}])
def test_an_unknown_backend_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"unknown backend {next(iter(wrong))!r}"):
        BackendSet.of(wrong)


def test_s12_a_backend_that_is_empty_is_there_all_the_same() -> None:
    """S12: one with a length of 0 is false, and no flag."""

    class Empty(list[str]):
        def search(self, query: str, *, max_results: int = 20) -> list[object]:
            return []

    empty = Empty()
    backends = BackendSet.of({"text": empty, "vector": False, "graph": None})
    assert backends.text is empty
    assert not any(backends.has(name) for name in ("vector", "graph"))
