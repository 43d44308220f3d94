"""Cases for what may be asked of every search: scope, resource types, metadata (ruling B5)."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from acms_adapters.models import SearchHit
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


def _letters(hits: Sequence[SearchHit]) -> str:
    letters = {item.uko_node: letter for item, letter in zip(FILTERED, "abcd", strict=True)}
    return "".join(sorted(letters[node] for node in nodes_of(hits)))
