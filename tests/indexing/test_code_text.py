"""Code that comes as documents is searched and shortened as code (rulings B9, I1)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from acms_adapters import ContextStore
from acms_adapters.indexing.code_text import is_code, read_code

FUNCTION = '''def retry_after(response, *, now):
    """Seconds until the server wants to be asked again."""
    header = response.headers.get("Retry-After")
    return int(header) if header else now
'''


def document(text: str, **metadata: Any) -> Any:
    return SimpleNamespace(id=metadata.pop("id", None), page_content=text, metadata=metadata)


@pytest.mark.parametrize(
    ("path", "answer"),
    [("a/b.py", True), ("b.TS", True), ("c\\d.rs", True), ("e.md", False), ("", False)],
)
def test_a_file_of_code_is_known_by_its_suffix(path: str, answer: bool) -> None:
    assert is_code(path) is answer


def test_b9_a_function_is_searched_by_path_name_signature_docstring_and_body() -> None:
    found = read_code(FUNCTION, path="net/http.py", name="Session.retry_after")
    assert found.names == ("retry_after", "Session.retry_after")
    assert found.fields["path"] == "net/http.py"
    assert found.fields["name"] == "Session.retry_after"
    assert found.fields["signature"] == "def retry_after(response, *, now):"
    assert "Seconds until" in found.fields["doc"]
    assert "Retry-After" in found.fields["body"]
    assert "Seconds until" not in found.fields["body"]


def test_i1_a_function_has_shorter_renderings_that_keep_its_title() -> None:
    title = "net/http.py::Session.retry_after"
    found = read_code(f"{title}\n{FUNCTION}", path="net/http.py", title=title)
    assert found.names == ("retry_after", "Session.retry_after")
    assert found.renderings[0] == title
    assert found.renderings[2] == f"{title}\ndef retry_after(response, *, now):"
    assert found.renderings[4].startswith(found.renderings[2])
    assert "Retry-After" not in found.renderings[4]


@pytest.mark.parametrize("title", ["net/http.py::<module>", "About retries", ""])
def test_a_title_that_names_nothing_leaves_the_name_to_the_code(title: str) -> None:
    assert read_code(FUNCTION, path="a.py", title=title).names == ("retry_after",)


@pytest.mark.parametrize(
    ("path", "text"),
    [("a.py", "    return header\n\ndef ("), ("a.go", "func Wait(n int) {\n\tsleep(n)\n}")],
)
def test_code_that_cannot_be_read_is_searched_whole_and_shortened_to_its_first_line(
    path: str, text: str
) -> None:
    found = read_code(text, path=path)
    assert found.fields["body"] == text
    assert found.renderings[2] == text.strip().splitlines()[0]


def test_documents_of_code_are_found_by_the_parts_of_their_names() -> None:
    with ContextStore.in_memory(embedder=None) as store:
        store.add_documents(
            [
                document(FUNCTION, id="retry", path="net/http.py", qualname="Session.retry_after"),
                document("Retry what failed after some time.", id="prose", title="Retries"),
            ]
        )
        text = store.backends().text
        assert text is not None
        (hit, *_) = text.search("session retry", resource_types=["source_file"])
        assert (hit.uko_node, hit.metadata["path"]) == ("retry", "net/http.py")
        renderings = store.backends().renderings
        assert renderings is not None
        shorter = renderings.at("retry", 2)
        assert shorter is not None
        assert shorter.content == "def retry_after(response, *, now):"
