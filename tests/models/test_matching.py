"""Scope and metadata filters (ruling B5)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models.matching import in_scope, matches_metadata, scope_prefixes


@pytest.mark.parametrize(
    ("uri", "scope", "inside"),
    [
        ("project://app/src/main.py", None, True),
        ("project://app/src/main.py", (), True),
        ("project://app/src/main.py", ("project://app",), True),
        ("project://app/src/main.py", ("project://app/src/",), True),
        ("project://app/src/main.py", ("project://app/src/main.py",), True),
        ("project://app/src/main.py", ("project://app/sr",), False),
        ("project://app/srcs/main.py", ("project://app/src",), False),
        ("project://application/a.py", ("project://app",), False),
        ("project://app/src/main.py#run", ("project://app/src/main.py",), True),
        ("project://app/b.py", ("project://app/src", "project://app/b.py"), True),
        ("project://app", ("project://",), True),
        ("notes/a.md", ("notes",), True),
        ("/srv/a.md", ("/",), True),
    ],
)
def test_b5_a_scope_holds_whole_path_segments(uri: str, scope: tuple | None, inside: bool) -> None:
    assert in_scope(uri, scope) is inside


def test_b5_prefixes_of_a_resource_run_from_its_root_to_itself() -> None:
    assert scope_prefixes("project://app/src/a.py") == (
        "project://app",
        "project://app/src",
        "project://app/src/a.py",
    )


@given(st.text("ab:/#", min_size=1, max_size=12), st.text("ab:/#", min_size=1, max_size=6))
def test_b5_prefixes_say_the_same_as_the_scope(uri: str, prefix: str) -> None:
    stem = prefix.rstrip("/")
    if stem and not stem.endswith(":") and uri.rstrip("/") == uri:
        assert (stem in scope_prefixes(uri)) == in_scope(uri, [prefix])


@pytest.mark.parametrize(
    ("metadata", "wanted", "matching"),
    [
        ({"a": 1}, None, True),
        ({"a": 1}, {}, True),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, False),
        ({"a": "x"}, {"a": ["x", "y"]}, True),
        ({"a": "z"}, {"a": ["x", "y"]}, False),
        ({"a": ["x", "y"]}, {"a": "x"}, True),
        ({"a": ["x", "y"]}, {"a": ("x", "y")}, True),
        ({}, {"a": None}, True),
        ({"a": None}, {"a": None}, True),
        ({"a": 0}, {"a": None}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": math.nan}, {"a": math.nan}, True),
        ({"a": {"b": [1, None]}}, {"a": {"b": [1, None]}}, True),
        ({"a": 1}, {"a": []}, False),
    ],
)
def test_a_metadata_filter_asks_for_every_value(
    metadata: dict, wanted: dict | None, matching: bool
) -> None:
    assert matches_metadata(metadata, wanted) is matching
