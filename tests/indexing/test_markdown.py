"""Markdown becomes a file and its sections, whose renderings nest (I1, I2, M4)."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.indexing.lines import split_lines
from acms_adapters.indexing.markdown import render_markdown
from acms_adapters.indexing.markdown_tree import find_headings
from acms_adapters.indexing.source import Rendered, SourceText
from acms_adapters.models import IndexedNode

PATH = "docs/guide.md"
FILE = f"project://app/{PATH}"

GUIDE = """\
---
title: User guide
tags: [a, b]
---
# Guide to *things*

It does things. It does them well.

More on that.

## Install

Run `pip install app`. Then go on.

```bash
# not a heading
pip install app
```

### From source {#src}

Clone it first.

## Install

Again.

The end
-------
Nothing more.
"""


def nodes_of(rendered: Rendered) -> dict[str, IndexedNode]:
    return {node.uko_node.removeprefix(FILE): node for node in rendered.nodes}


@pytest.fixture
def guide(source: Callable[..., SourceText]) -> dict[str, IndexedNode]:
    return nodes_of(render_markdown(source(GUIDE, PATH)))


def headings(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in find_headings(split_lines(text))]


def test_sections_are_nodes_below_the_file_i2(guide: dict[str, IndexedNode]) -> None:
    assert {name: node.parent.removeprefix(FILE) for name, node in guide.items() if name} == {
        "#part-1": "",
        "#install": "",
        "#install.part-1": "#install",
        "#src": "#install",
        "#install-1": "",
        "#the-end": "",
    }


def test_a_file_is_shown_at_every_depth_i1(guide: dict[str, IndexedNode]) -> None:
    """I1.prose."""
    assert guide[""].renderings == {
        0: "User guide",
        2: "User guide\n# Guide to *things*\n## Install\n### From source {#src}\n## Install\n"
        "The end\n-------",
        4: "User guide\n# Guide to *things*\nIt does things.\n## Install\n"
        "Run `pip install app`.\n### From source {#src}\nClone it first.\n## Install\nAgain.\n"
        "The end\n-------\nNothing more.",
        9: GUIDE.rstrip(),
    }


def test_a_section_without_subsections_is_searched_whole_b9(
    guide: dict[str, IndexedNode],
) -> None:
    section = guide["#src"]
    assert section.searched_depth == 9
    assert section.fields["title"] == "User guide / Install / From source"
    assert section.fields["body"] == "Clone it first."
    assert section.names == ("From source",)


def test_text_above_subsections_is_found_by_a_part_of_its_own(
    guide: dict[str, IndexedNode],
) -> None:
    assert guide["#install"].searched_depth == 4
    assert guide["#install.part-1"].renderings[9].startswith("## Install\n\nRun `pip")
    assert guide["#install.part-1"].renderings[9].endswith("```")
    assert "More on that." in guide["#part-1"].renderings[9]


def test_an_only_top_heading_belongs_to_the_file(source: Callable[..., SourceText]) -> None:
    (node,) = render_markdown(source("# Title\n\nText.\n", PATH)).nodes
    assert node.uko_node == FILE
    assert node.renderings == {0: "Title", 2: "# Title", 4: "# Title\nText.", 9: "# Title\n\nText."}


def test_a_file_without_headings_is_plain_text(source: Callable[..., SourceText]) -> None:
    (node,) = render_markdown(source("Just text. And more.\n", PATH)).nodes
    assert node.renderings[9] == "Just text. And more."


def test_two_top_headings_are_two_sections(source: Callable[..., SourceText]) -> None:
    nodes = nodes_of(render_markdown(source("Before.\n\n# A\n\na\n\n# B\n\nb\n", PATH)))
    assert set(nodes) == {"", "#a", "#b"}
    assert nodes[""].renderings[4] == "Before.\n# A\na\n# B\nb"


def test_a_long_section_has_parts_m6(source: Callable[..., SourceText]) -> None:
    long = "\n\n".join(f"Paragraph {n} says something. " * 5 for n in range(60))
    nodes = nodes_of(render_markdown(source(f"# A\n\nx\n\n## B\n\n{long}\n", PATH)))
    assert nodes["#b"].searched_depth == 9
    assert len([name for name in nodes if name.startswith("#b.part-")]) > 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A #\n#B\n  ## C ##  \n    # D\n####### E\n#\n", [(1, "A"), (2, "C"), (1, "")]),
        ("A\n===\n\nB\nb\n---\n", [(1, "A"), (2, "B\nb")]),
        ("text\n\n---\n\n- item\n---\n> quote\n---\n", []),
        ("```\n# a\n~~~\n# b\n```\n# c\n", [(1, "c")]),
        ("~~~~\n# a\n~~~\n# b\n~~~~\n# c\n", [(1, "c")]),
        ("- ```\n  # a\n  ```\n- # b\n\n# c\n", [(1, "c")]),
        ("1. one\n\n   ```sh\n   # a\n   ```\n\n# c\n", [(1, "c")]),
        ("<!--\n# a\n-->\n# c\n", [(1, "c")]),
        ("<pre>\n# a\n\n# b\n</pre>\n# c\n", [(1, "c")]),
        ("<div>\n# a\n\n# c\n</div>\n", [(1, "c")]),
        ("| a | b |\n|---|---|\n| c | d |\n", []),
        ("# CRLF\r\ntext\r\n\r\nB\r\n---\r\n", [(1, "CRLF"), (2, "B")]),
        ("---\na: 1\n# b\n---\n# c\n", [(1, "c")]),
        ("+++\na = 1\n+++\n# c\n", [(1, "c")]),
        ("---\n# c\n", [(1, "c")]),
        ("```\n# never closed\n", []),
    ],
)
def test_headings_are_those_of_the_text_itself(text: str, expected: list[object]) -> None:
    assert headings(text) == expected


BLOCKS = st.sampled_from(
    """
    # One|## Two|text of a paragraph|Title<>===|Sub<>---|- item|1. one<>   ```<>   # x<>   ```
    ```py<># c<>```|~~~<># d<>~~~|> quote|<!-- # c -->|    code|***||| a | b |<>|---|---|
    - ```<>  # x<>  ```|   # indented|#no|* a<><>  # in item|####### seven
    """.strip().split("|")
)


@given(st.lists(BLOCKS, max_size=9))
def test_headings_are_where_a_reference_parser_sees_them(blocks: list[str]) -> None:
    parser = pytest.importorskip("markdown_it").MarkdownIt()
    text = "\n\n".join(re.sub(r"\s*<>", "\n", block.strip("\n")) for block in blocks) + "\n"
    expected = [
        (token.map[0], int(token.tag[1]))
        for token in parser.parse(text)
        if token.type == "heading_open" and token.level == 0
    ]
    assert [(h.first, h.level) for h in find_headings(split_lines(text))] == expected


LINKS = """\
# Top

[other](../b.md#foo-bar "title") and [angle](<with blank.md>) and [code](../src/x.py#L10-L12)
[folder][f], [web](https://example.org/a.md), [out](../../x.md), [mail](mailto:a@b.c)
![picture](c.png) `[span](d.md)` [below](#below)

```
[fenced](e.md)
```

## Below

[up](#top) [root](/README.md) [shortcut]

[f]: ../sub/
[shortcut]: ./s.md
"""


def test_links_tie_a_section_to_what_it_links_to_i2(source: Callable[..., SourceText]) -> None:
    rendered = render_markdown(source(LINKS, PATH))
    names = [(r.source.removeprefix(FILE), r.name) for r in rendered.references]
    assert names == [
        ("", "project://app/b.md#foo-bar"),
        ("", "project://app/b.md"),
        ("", "project://app/docs/with blank.md"),
        ("", "project://app/src/x.py"),
        ("", "project://app/sub"),
        ("#below", "project://app/README.md"),
        ("#below", "project://app/docs/s.md"),
    ]
    links = [(e.source, e.target) for e in rendered.edges if e.relation == "links"]
    assert links == [(FILE, f"{FILE}#below"), (f"{FILE}#below", FILE)]


def test_sections_of_one_level_follow_each_other_i2(source: Callable[..., SourceText]) -> None:
    rendered = render_markdown(source("# T\n\n## A\n\na\n\n## B\n\nb\n\n## C\n\nc\n", PATH))
    following = [(e.source, e.target) for e in rendered.edges if e.relation == "next"]
    assert following == [(f"{FILE}#a", f"{FILE}#b"), (f"{FILE}#b", f"{FILE}#c")]


PARAGRAPHS = st.builds(
    lambda number, size: f"Sentence {number} here. " + f"More of {number}, at length. " * size,
    st.integers(0, 10**6),
    st.integers(0, 80),
)
PIECES = st.one_of(
    st.builds(
        lambda level, word: f"{'#' * level} Heading {word}", st.integers(1, 4), st.integers(0, 5)
    ),
    st.builds(lambda word: f"Heading {word}\n---", st.integers(0, 5)),
    PARAGRAPHS,
    st.builds(lambda word: f"- item {word}\n- item", st.integers(0, 10**6)),
    st.builds(lambda word: f"```\n# code {word}\n\nmore\n```", st.integers(0, 10**6)),
)


@given(st.lists(PIECES, min_size=1, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_renderings_nest_and_all_text_is_searched_once_i1(
    source: Callable[..., SourceText],
    assert_nests: Callable[[IndexedNode], None],
    pieces: list[str],
    end: str,
) -> None:
    """I1.searched."""
    text = "\n\n".join(pieces).replace("\n", end)
    rendered = render_markdown(source(text, PATH))
    whole = rendered.nodes[0].renderings[9]
    assert len({node.uko_node for node in rendered.nodes}) == len(rendered.nodes)
    for node in rendered.nodes:
        assert_nests(node)
        assert node.renderings[9] in whole
    found = {word for node in rendered.nodes for word in searched(node).split()}
    assert set(text.split()) <= found


def searched(node: IndexedNode) -> str:
    return "\n".join([node.renderings[node.searched_depth], *node.fields.values()])
