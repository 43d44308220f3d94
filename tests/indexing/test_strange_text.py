"""Text that would keep a careless reader busy for hours is read like any other."""

from collections.abc import Callable

import pytest

from acms_adapters.indexing.markdown import render_markdown
from acms_adapters.indexing.plain import render_plain
from acms_adapters.indexing.python import render_python
from acms_adapters.indexing.source import SourceText

MANY = 100_000

STRANGE = {
    "blanks before a word": " " * MANY + "x",
    "blanks inside a heading": f"# a{' ' * MANY}b\n\ntext\n",
    "a heading of hashes": f"# {'a #' * MANY}x",
    "a title of blanks": f"---\ntitle:{' ' * MANY}x\n---\n# a\n",
    "blanks inside a paragraph": f"a.{' ' * MANY}b.{' ' * MANY}c",
    "open brackets": "[" * MANY,
    "open links": "[a](" * MANY,
    "nested brackets": "[[a]" * MANY,
    "open code": "`a``b```c````d" * (MANY // 14),
    "one open backtick": "`" + "a " * MANY,
    "rules": "* " * MANY + "x",
    "dashes": "-" * MANY + "x",
    "items": "- " * MANY + "x",
    "tags": "<a " * MANY,
    "quotes": "> " * MANY,
    "fences": "```\n" * (MANY // 4 + 1),
    "one heading many times": "# Added\n\nx\n\n" * 4_000,
    "empty lines": "\n" * MANY,
    "carriage returns": "\r" * MANY + "x",
    "sentences": "A. " * MANY,
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
@pytest.mark.parametrize("render", [render_markdown, render_plain])
def test_strange_prose_is_rendered(
    render: Callable[[SourceText], object], text: str, source: Callable[..., SourceText]
) -> None:
    if text.strip():
        render(source(text, "a.md"))


@pytest.mark.parametrize(
    "text",
    [
        "def f(): pass\n" + "x = [\n" + "0,\n" * 11 + "]\n",
        "def f(): pass\n" + ("x = [\n" + "0,\n" * 11 + "]\n") * 1_000,
        "def f(): pass\n" * 2_000,
        "# comment\n" * 50_000 + "def f(): pass\n",
        "x = 1; " * 10_000 + "\n",
        f"x = '{'a' * MANY}'\n",
        "if a:\n    pass\n" + "elif b:\n    pass\n" * 500,
    ],
)
def test_strange_code_is_rendered(text: str, source: Callable[..., SourceText]) -> None:
    rendered = render_python(source(text))
    assert rendered.note == ""
    assert len({node.uko_node for node in rendered.nodes}) == len(rendered.nodes)


def test_definitions_behind_thousands_of_conditions_are_taken_as_text(
    source: Callable[..., SourceText],
) -> None:
    chain = "if a:\n    def f(): pass\n" + "elif b:\n    def f(): pass\n" * 2_000
    rendered = render_python(source(chain))
    assert "taken as text" in rendered.note
    assert rendered.nodes
