"""Cases for what may be asked of every search: scope, resource types, metadata (ruling B5)."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from acms_adapters.models import SearchHit
from acms_adapters.models.surplus import restore_surplus
from acms_adapters.testing.suite import Suite, document, needs, nodes_of

FILTERED = (
    document(
        "project://app/src/a.py#run",
        resource_uri="project://app/src/a.py",
        resource_type="source_file",
        metadata={"lang": "py", "level": 1},
    ),
    document(
        "project://app/src/sub/b.py#run",
        resource_uri="project://app/src/sub/b.py",
        resource_type="test",
        metadata={"lang": "py", "level": 2},
    ),
    document(
        "project://app/srcs/c.md",
        resource_type="document",
        metadata={"lang": "md", "level": 1},
    ),
    document(
        "project://application/d.md",
        resource_type="document",
        metadata={"lang": None, "level": 2},
    ),
)
"""Documents by the letters in their resources: a, b, c and d."""

SCOPES = (
    (None, "abcd"),
    ((), "abcd"),
    (("project://app",), "abc"),
    (("project://app/",), "abc"),
    (("project://app/src",), "ab"),
    (("project://app/src/a.py",), "a"),
    (("project://app/sr",), ""),
    (("project://app/src/sub", "project://application"), "bd"),
    (("project://elsewhere",), ""),
)
TYPES = (
    (None, "abcd"),
    ((), "abcd"),
    (("document",), "cd"),
    (("document", "test"), "bcd"),
    (("nothing",), ""),
)
METADATA: tuple[tuple[dict[str, Any] | None, str], ...] = (
    (None, "abcd"),
    ({}, "abcd"),
    ({"lang": "py"}, "ab"),
    ({"lang": "py", "level": 2}, "b"),
    ({"lang": ["md", "py"]}, "abc"),
    ({"lang": ["md", "py"], "level": 1}, "ac"),
    ({"lang": None}, "d"),
    ({"level": 3}, ""),
    ({"missing": "x"}, ""),
)
AWKWARD: dict[str, Any] = {
    "none": None,
    "nested": {"list": [1, {"deep": None}], "empty": {}},
    "empty": [],
    "mixed": [1, "two", 3.5, True, None],
    "large": 2**53 + 1,
    "float": 1.5,
    "text": "naïve 检索 🚀 \x00 \"'",
    "": "empty key",
}
KINDS: dict[str, Any] = {
    "none": None,
    "truth": True,
    "falsehood": False,
    "zero": 0,
    "minus zero": -0.0,
    "whole float": 3.0,
    "large integer": 2**70,
    "least integer": -(2**63),
    "large float": 1.7e308,
    "small float": 5e-324,
    "infinity": math.inf,
    "no number": math.nan,
    "empty text": "",
    "blank text": " \n\t",
    "number as text": "7",
    "null byte": "a\x00b",
    "line ends": "a\r\nb\rc\u2028d",
    "other scripts": "naïve 检索 поиск 🚀",
    "long text": "x" * 100_000,
    "empty list": [],
    "list": ["a", "b"],
    "numbers": [1, 2.5, -3],
    "mixed list": [1, "two", 3.5, True, None, [], {}],
    "lists of lists": [[1], [[2]], []],
    "mapping": {"a": {"b": {"c": None}}},
    "empty mapping": {},
    "mappings": [{"a": 1}, {"b": [1, {"c": 2}]}],
}
"""A value of every kind that JSON knows, by what it is."""

KEYS = (
    "",
    " ",
    "a.b",
    "$in",
    "$and",
    "id",
    "_type",
    "uri",
    "source",
    "content",
    "document",
    "score",
    "metadata",
    "chroma:document",
    "acms_hash",
    "naïve 检索",
    'it\'s "x"',
    "null\x00byte",
    "k" * 300,
)
"""Keys that a store may keep for itself, or that look like its syntax."""

NAMES = (
    "7",
    "0b9e1b3c-8f0a-4d0e-9a56-0d9c2c6f5a11",
    "project://a b/c#d",
    "c:\\folder\\file",
    "故乡",
    'it\'s "x"',
    "50%_",
    "\U0001f680",
    "`7`",
    " ",
    "n" * 2_000,
)
"""Nodes, as whoever brings documents may call them."""


class FilteredSearch(Suite, ABC):
    """Cases for a search that takes the three filters."""

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"scope", "resource_types", "metadata_filter", "metadata", "provenance"}
    )

    @abstractmethod
    def finder(self, documents: Sequence[SearchHit]) -> Callable[..., Sequence[SearchHit]]:
        """Make a backend of `documents`; what is given back finds those that pass its filters."""

    @needs("scope")
    @pytest.mark.parametrize(("scope", "expected"), SCOPES)
    def test_b5_a_scope_holds_whole_path_segments(self, scope: Any, expected: str) -> None:
        assert _letters(self.finder(FILTERED)(scope=scope)) == expected

    @needs("resource_types")
    @pytest.mark.parametrize(("types", "expected"), TYPES)
    def test_only_wanted_resource_types_are_found(self, types: Any, expected: str) -> None:
        assert _letters(self.finder(FILTERED)(resource_types=types)) == expected

    @needs("metadata_filter")
    @pytest.mark.parametrize(("wanted", "expected"), METADATA)
    def test_only_wanted_metadata_is_found(self, wanted: Any, expected: str) -> None:
        assert _letters(self.finder(FILTERED)(metadata_filter=wanted)) == expected

    @needs("scope", "resource_types", "metadata_filter")
    def test_b5_filters_hold_together(self) -> None:
        find = self.finder(FILTERED)
        for scope, in_scope in SCOPES:
            for types, of_type in TYPES:
                for wanted, with_metadata in METADATA:
                    found = find(scope=scope, resource_types=types, metadata_filter=wanted)
                    expected = set(in_scope) & set(of_type) & set(with_metadata)
                    assert set(_letters(found)) == expected, (scope, types, wanted)

    @needs("metadata")
    def test_b4_metadata_comes_back_equal(self) -> None:
        (hit,) = self.finder([document("a", metadata=AWKWARD)])()
        assert hit.metadata == AWKWARD
        assert json.dumps(hit.metadata, sort_keys=True) == json.dumps(AWKWARD, sort_keys=True)

    @needs("metadata")
    def test_b4_a_value_of_every_kind_comes_back_equal(self) -> None:
        given = [document(kind, metadata={"value": value}) for kind, value in KINDS.items()]
        found = {hit.uko_node: hit.metadata for hit in self.finder(given)()}
        assert found.keys() == KINDS.keys()
        for kind, value in KINDS.items():
            assert _written(found[kind]) == _written({"value": value}), kind

    @needs("metadata")
    def test_b4_all_kinds_come_back_together_under_any_key(self) -> None:
        values = list(KINDS.values())
        metadata = {key: values[place % len(values)] for place, key in enumerate(KEYS)}
        given = [document("a", metadata=metadata), document("b")]
        found = {hit.uko_node: hit.metadata for hit in self.finder(given)()}
        assert _written(found["a"]) == _written(metadata)
        assert found["b"] == {}

    @needs("metadata")
    def test_m6_more_entries_than_a_fragment_holds_come_back_intact(self) -> None:
        metadata = {f"key {number}": number for number in range(100)}
        (hit,) = self.finder([document("a", metadata=metadata)])()
        assert restore_surplus(hit.metadata) == metadata

    def test_b4_half_a_surrogate_pair_harms_nobody(self) -> None:
        half = document("b", "half \ud83d of it", metadata={"half": "\udc00", "whole": 1})
        given = [document("a", "a lighthouse"), half, document("c", "a harbour")]
        hits = {hit.uko_node: hit for hit in self.finder(given)()}
        assert {"a", "c"} <= hits.keys()
        if "b" in hits and "metadata" in self.capabilities:
            assert hits["b"].metadata["whole"] == 1

    def test_texts_without_a_word_harm_nobody(self) -> None:
        texts = ("", " \n\t", "\u00a0\u200b", "!!!", "\x00", "\ufeff")
        given = [document(f"blank {place}", text) for place, text in enumerate(texts)]
        found = nodes_of(self.finder([*given, document("a", "a lighthouse")])())
        assert "a" in found
        assert len(found) == len(set(found))

    def test_a_million_characters_in_a_line_harm_nobody(self) -> None:
        given = [
            document("a", "a lighthouse"),
            document("long", "lighthouse " + "x" * 500_000 + "^" * 499_900),
            document("c", "a harbour"),
        ]
        found = nodes_of(self.finder(given)())  # a long one may have been cut into parts
        assert {node.partition("#")[0] for node in found} == {"a", "long", "c"}

    def test_nodes_have_any_name(self) -> None:
        given = [document(name, f"text {place}") for place, name in enumerate(NAMES)]
        assert sorted(nodes_of(self.finder(given)())) == sorted(NAMES)

    @needs("metadata")
    def test_b4_tuples_come_back_as_lists_and_nan_as_nan(self) -> None:
        (hit,) = self.finder([document("a", metadata={"t": (1, (2,)), "nan": math.nan})])()
        assert hit.metadata["t"] == [1, [2]]
        assert math.isnan(hit.metadata["nan"])

    @needs("metadata")
    def test_what_a_caller_does_to_metadata_stays_with_the_caller(self) -> None:
        given = document("a", metadata={"tags": ["x"]})
        (first,) = self.finder([given])()
        first.metadata["tags"].append("y")
        assert given.metadata == {"tags": ["x"]}

    @needs("provenance")
    def test_b1_a_hit_says_where_it_comes_from(self) -> None:
        for hit in self.finder(FILTERED)():
            (given,) = (item for item in FILTERED if item.uko_node == hit.uko_node)
            assert hit.provenance is not None
            assert given.provenance is not None
            assert hit.provenance.resource_uri == given.provenance.resource_uri
            assert hit.provenance.resource_type == given.provenance.resource_type


def _written(metadata: dict[str, Any]) -> str:
    """As JSON, by which ``1``, ``1.0`` and ``True`` differ and NaN equals itself."""
    return json.dumps(metadata, sort_keys=True)


def _letters(hits: Sequence[SearchHit]) -> str:
    letters = {item.uko_node: letter for item, letter in zip(FILTERED, "abcd", strict=True)}
    return "".join(sorted(letters[node] for node in nodes_of(hits)))
