"""Metadata comes back equal to what went in (ruling B4)."""

import enum
import math
import uuid
from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.backends.sqlite import SQLiteStore
from acms_adapters.backends.sqlite.codec import from_micros, to_micros
from acms_adapters.models import IndexedNode, IndexedResource
from acms_adapters.models.matching import matches_metadata

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
METADATA = st.dictionaries(ANY_TEXT, JSON, max_size=4)
SMALL = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        st.sampled_from([None, True, False, 0, 1, 1.0, 1.5, math.nan, "", "x", "1"]),
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
        ),
        max_leaves=4,
    ),
    max_size=3,
)


def equal(one: Any, other: Any) -> bool:
    """Equal in value and type, tuples as lists, NaN as itself."""
    if isinstance(one, list | tuple) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return type(one) is type(other) and one == other


def kept(metadata: dict[Any, Any]) -> dict[str, Any]:
    with SQLiteStore(None) as store:
        write(store, metadata)
        return store.text.search("apples")[0].metadata


def write(store: SQLiteStore, metadata: dict[Any, Any], uri: str = "d") -> None:
    node = IndexedNode(
        uko_node=uri, kind="x", resource_uri=uri, fields={"body": "apples"}, metadata=metadata
    )
    store.replace(IndexedResource(resource_uri=uri, content_hash="", nodes=(node,)))


@given(METADATA)
def test_b4_whatever_json_can_hold_comes_back(metadata: dict[str, Any]) -> None:
    assert equal(metadata, kept(metadata))


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        -math.inf,
        -0.0,
        10**300,
        -(2**63) - 1,
        (1, (2, [3])),
        {"deep": {"er": [{"x": None}]}},
        "\ud83d",
        "\ud83d\ude00",
        "\x00\x01\x1f\u2028",
        "床前明月光 🎉",
        [],
        {},
        "x" * 100_000,
    ],
)
def test_b4_what_other_stores_lose_comes_back(value: Any) -> None:
    assert equal({"k": value, "": value}, kept({"k": value, "": value}))


def test_more_entries_than_a_fragment_may_have_come_back() -> None:
    metadata = {f"key {i}": i for i in range(500)}
    assert kept(metadata) == metadata


class Colour(enum.Enum):
    RED = "red"


def test_what_json_has_no_word_for_is_written_as_its_text() -> None:
    metadata = {
        "time": datetime(2030, 1, 1, tzinfo=UTC),
        "path": PurePosixPath("a/b"),
        "id": uuid.UUID(int=1),
        "colour": Colour.RED,
        "set": {2, 1},
        "row": np.arange(2),
        "number": np.float32(1.5),
        "ordered": OrderedDict(a=1),
        7: "seven",
        (1, 2): {None: {(3,): "odd"}},
    }
    assert kept(metadata) == {
        "time": "2030-01-01T00:00:00Z",
        "path": "a/b",
        "id": "00000000-0000-0000-0000-000000000001",
        "colour": "red",
        "set": [1, 2],
        "row": [0, 1],
        "number": 1.5,
        "ordered": {"a": 1},
        "7": "seven",
        "(1, 2)": {"null": {"(3,)": "odd"}},
    }


@given(st.lists(SMALL, min_size=1, max_size=4), SMALL)
def test_a_filter_means_in_sql_what_it_means_elsewhere(
    rows: list[dict[str, Any]], wanted: dict[str, Any]
) -> None:
    with SQLiteStore(None) as store:
        for place, metadata in enumerate(rows):
            write(store, metadata, f"d{place}")
        expected = [f"d{i}" for i, row in enumerate(rows) if matches_metadata(row, wanted)]
        hits = store.text.search("apples", metadata_filter=wanted)
        assert sorted(hit.uko_node for hit in hits) == expected
        uris = [f"d{i}" for i in range(len(rows))]
        assert [h.uko_node for h in store.graph.get(uris, metadata_filter=wanted)] == expected


def test_a_filter_may_list_many_values() -> None:
    with SQLiteStore(None) as store:
        write(store, {"n": 777})
        assert store.text.search("apples", metadata_filter={"n": list(range(1000))})
        assert not store.text.search("apples", metadata_filter={"n": list(range(700))})
        assert store.text.search("apples", metadata_filter={"n": {777, 1}})


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_come_back_to_the_microsecond(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_text_may_be_indexed_and_stays_text(text: str) -> None:
    with SQLiteStore(None) as store:
        node = IndexedNode(
            uko_node="d" + text,
            kind=text,
            resource_uri="r" + text,
            location=text,
            resource_type=text,
            names=(text,),
            fields={"title": text, "body": text, "path": text},
            renderings={9: text},
            parent=text or None,
        )
        resource = IndexedResource(resource_uri="r" + text, content_hash=text, nodes=(node,))
        store.replace(resource)
        store.resolve_references()
        (hit,) = store.graph.get(["d" + text])
        if text.isprintable():
            assert hit.content == text
        assert (hit.content or "").encode() is not None
        rendering = store.renderings.at("d" + text, 9)
        assert rendering is not None
        assert rendering.content == hit.content
        assert store.remove("r" + text)
        assert store.stats().nodes == {}
