"""Python source becomes nodes whose renderings nest and whose text is all there (I1, M4, F9)."""

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.indexing import python_references
from acms_adapters.indexing.lines import split_lines
from acms_adapters.indexing.python import render_python
from acms_adapters.indexing.source import Rendered, SourceText
from acms_adapters.models import IndexedNode

FILE = "project://app/pkg/mod.py"

SHAPES = '''\
"""A module of shapes."""

from __future__ import annotations

import math

LIMIT = 10

# how it was
OLD = {
    "a": 1,
}


# A round thing.
@final
class Circle(Shape):
    """A circle.

    With a radius.
    """

    radius: float = field(
        default=1.0,
    )
    """Half of the diameter."""

    def area(self) -> float:
        """Square units."""
        return math.pi * self.radius**2

    @property
    def width(self) -> float:
        return 2 * self.radius

    @width.setter
    def width(self, value: float) -> None:
        self.radius = value / 2

    class Part:
        angle = 0

        async def cut(
            self,
            angle: int,
        ) -> None:
            def inner():
                return angle
            inner()


def biggest(shapes):
    first = 1
    second = 2
    third = 3
    fourth = 4
    fifth = 5
    sixth = 6
    seventh = 7
    eighth = 8
    ninth = 9
    tenth = 10
    return max(shapes)
'''


def nodes_of(rendered: Rendered) -> dict[str, IndexedNode]:
    return {node.uko_node.removeprefix(FILE): node for node in rendered.nodes}


def lines_of(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


@pytest.fixture
def shapes(source: Callable[..., SourceText]) -> dict[str, IndexedNode]:
    return nodes_of(render_python(source(SHAPES)))


def test_files_classes_functions_and_methods_are_nodes_m4(shapes: dict[str, IndexedNode]) -> None:
    assert {name: node.kind for name, node in shapes.items()} == {
        "": "module",
        "#Circle": "class",
        "#Circle.area": "method",
        "#Circle.width": "method",
        "#Circle.Part": "class",
        "#Circle.Part.cut": "method",
        "#biggest": "function",
    }


def test_a_container_comes_before_what_it_contains(shapes: dict[str, IndexedNode]) -> None:
    seen = {"project://app"}
    for node in shapes.values():
        assert node.parent in seen
        seen.add(node.uko_node)


def test_a_class_is_shown_at_every_depth_i1(shapes: dict[str, IndexedNode]) -> None:
    """I1.code, D4-83."""
    circle = shapes["#Circle"].renderings
    assert circle[0] == lines_of("""
        class Circle
            radius
            def area
            def width
            class Part
                angle
                async def cut
    """)
    assert circle[2] == lines_of("""
        @final
        class Circle(Shape):
            radius: float
            def area(self) -> float:
            @property
            def width(self) -> float:
            @width.setter
            def width(self, value: float) -> None:
            class Part:
                angle = 0
                async def cut(
                    self,
                    angle: int,
                ) -> None:
    """)
    assert circle[4].startswith("# A round thing.\n@final\nclass Circle(Shape):\n")
    assert '    """Half of the diameter."""' in circle[4]
    assert "return math.pi" not in circle[4]
    assert "        return math.pi * self.radius**2" in circle[6]
    assert circle[9] == lines_of(SHAPES[SHAPES.index("# A round") : SHAPES.index("\n\n\ndef big")])


def test_bodies_of_more_than_ten_lines_are_shown_at_full_depth_alone_i1(
    shapes: dict[str, IndexedNode],
) -> None:
    """I1.code."""
    module = shapes[""].renderings
    assert "eighth" not in module[6]
    assert "eighth" in module[9]
    assert sorted(shapes["#biggest"].renderings) == [0, 2, 9]


def test_constants_are_shown_with_what_is_said_about_them(shapes: dict[str, IndexedNode]) -> None:
    module = shapes[""].renderings
    assert module[0].startswith("LIMIT\nOLD\nclass Circle\n")
    assert module[2].startswith("LIMIT = 10\nOLD = {\n@final\n")
    assert '# how it was\nOLD = {\n    "a": 1,\n}\n' in module[4]
    assert "import math" not in module[6]


def test_comments_and_decorators_belong_to_their_definition(
    shapes: dict[str, IndexedNode],
) -> None:
    assert shapes["#Circle"].renderings[9].startswith("# A round thing.\n@final\n")
    assert shapes["#Circle"].location == "lines 15-49"


def test_an_accessor_and_its_property_are_one_node(shapes: dict[str, IndexedNode]) -> None:
    assert "@width.setter" in shapes["#Circle.width"].renderings[9]


def test_the_text_of_a_method_is_a_part_of_its_classes_text_f9(
    shapes: dict[str, IndexedNode],
) -> None:
    whole = shapes[""].renderings[9]
    for node in shapes.values():
        assert node.renderings[9] in whole
        if node.parent in {FILE + name for name in shapes}:
            assert node.renderings[9] in shapes[node.parent.removeprefix(FILE)].renderings[9]


def test_text_to_search_is_kept_by_field_b9(shapes: dict[str, IndexedNode]) -> None:
    area = shapes["#Circle.area"].fields
    assert area["path"] == "pkg/mod.py"
    assert area["name"] == "Circle.area"
    assert area["signature"] == "def area(self) -> float:"
    assert area["doc"] == '"""Square units."""'
    assert area["body"] == "return math.pi * self.radius**2"
    circle = shapes["#Circle"].fields
    assert "def area" in circle["signature"]
    assert "math.pi" not in "".join(circle.values())


def test_containers_are_found_by_their_outline_and_leaves_by_their_text(
    shapes: dict[str, IndexedNode],
) -> None:
    assert {name: node.searched_depth for name, node in shapes.items()} == {
        "": 4,
        "#Circle": 4,
        "#Circle.area": 9,
        "#Circle.width": 9,
        "#Circle.Part": 2,  # nothing is said about it beyond its signatures
        "#Circle.Part.cut": 9,
        "#biggest": 9,
    }


def test_a_node_is_known_by_symbol_dotted_name_and_import_path(
    shapes: dict[str, IndexedNode],
) -> None:
    assert shapes["#Circle.area"].names == ("area", "Circle.area", "pkg.mod.Circle.area")
    assert shapes[""].names == ("mod", "pkg.mod")


def test_overloads_and_their_implementation_are_one_node(
    source: Callable[..., SourceText],
) -> None:
    text = """
        @overload
        def get(key: int) -> int: ...
        @overload
        def get(key: str) -> str: ...
        def get(key):
            return key
    """
    nodes = nodes_of(render_python(source(textwrap.dedent(text))))
    assert list(nodes) == ["", "#get"]
    assert nodes["#get"].renderings[2].count("def get") == 3


def test_definitions_on_a_condition_are_nodes_with_uris_of_their_own_m4(
    source: Callable[..., SourceText],
) -> None:
    text = """
        try:
            import fast
        except ImportError:
            def load(): return None
        else:
            def load():
                return fast
        if fast:
            class Tool:
                x = 1
    """
    nodes = nodes_of(render_python(source(textwrap.dedent(text))))
    assert list(nodes) == ["", "#load", "#load-2", "#Tool"]
    assert nodes["#load-2"].renderings[9] == "    def load():\n        return fast"


def test_functions_inside_functions_are_no_nodes(shapes: dict[str, IndexedNode]) -> None:
    assert not any("inner" in name for name in shapes)


def test_a_file_of_code_alone_is_one_node(source: Callable[..., SourceText]) -> None:
    (node,) = render_python(source("import sys\n\nprint(sys.path)\n")).nodes
    assert node.searched_depth == 9
    assert node.renderings[9] == "import sys\n\nprint(sys.path)"
    assert "print" in node.fields["body"]


def test_a_long_statement_between_functions_is_a_node(source: Callable[..., SourceText]) -> None:
    table = "TABLE = {\n" + "".join(f"    {n}: 'entry{n}',\n" for n in range(20)) + "}\n"
    nodes = nodes_of(render_python(source(f"def f():\n    return TABLE\n\n{table}")))
    assert nodes["#TABLE"].kind == "code"
    assert "entry19" in nodes["#TABLE"].renderings[9]
    assert nodes[""].renderings[2] == "def f():\nTABLE = {"


def test_a_large_function_has_parts_that_make_up_its_text_m6(
    source: Callable[..., SourceText],
) -> None:
    body = "".join(f"    value_{n} = compute({n})\n\n" for n in range(400))
    text = f"def large():\n{body}"
    rendered = render_python(source(text))
    nodes = nodes_of(rendered)
    parts = [node for name, node in nodes.items() if name.startswith("#large.part-")]
    assert nodes["#large"].searched_depth == 9
    assert len(parts) > 4
    assert "\n\n".join(part.renderings[9] for part in parts) == text.rstrip()
    assert all(part.parent == f"{FILE}#large" for part in parts)
    assert parts[0].location.startswith("lines 1-")
    following = [(e.source, e.target) for e in rendered.edges if e.relation == "next"]
    assert following[0] == (parts[0].uko_node, parts[1].uko_node)


def test_what_is_no_python_is_taken_as_text_with_a_note(
    source: Callable[..., SourceText],
) -> None:
    rendered = render_python(source("def broken(:\n    pass\n"))
    assert rendered.note.startswith("no valid Python in line 1")
    assert rendered.nodes[0].renderings[9] == "def broken(:\n    pass"


@pytest.mark.parametrize("text", ["(" * 5000, "x = " + "-" * 100_000 + "1", "a\0b"])
def test_source_that_defeats_the_parser_is_taken_as_text(
    text: str, source: Callable[..., SourceText]
) -> None:
    rendered = render_python(source(text))
    assert rendered.note.startswith("no valid Python")
    assert rendered.nodes


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_and_form_feeds_stay_as_they_are(
    end: str, source: Callable[..., SourceText]
) -> None:
    text = f"x = 1{end}\f{end}def f():{end}    '''a\x0bb\x1cc\u2028d'''{end}    return x{end}"
    nodes = nodes_of(render_python(source(text)))
    assert nodes["#f"].renderings[9] == text[text.index("def") :].rstrip("\r\n")
    assert nodes["#f"].location == "lines 3-5"


def test_bases_in_common_are_asked_once_however_many_ways_lead_to_them(
    source: Callable[..., SourceText], monkeypatch: pytest.MonkeyPatch
) -> None:
    """I2."""
    layers = "".join(
        f"class {side}{n + 1}(A{n}, B{n}):\n    pass\n" for n in range(40) for side in "AB"
    )
    text = (
        "class A0:\n    def there(self):\n        pass\n\nclass B0:\n    pass\n\n" + layers
    ) + "class Top(A40, B40):\n    def go(self):\n        self.there()\n        self.gone()\n"
    asked, bases = [0], python_references._Reader._bases

    def counted(self: Any, definition: Any) -> Any:
        asked[0] += 1
        assert asked[0] < 1_000
        return bases(self, definition)

    monkeypatch.setattr(python_references._Reader, "_bases", counted)
    rendered = render_python(source(text))
    calls = [edge for edge in rendered.edges if edge.relation == "calls"]
    assert [edge.target.rpartition("#")[2] for edge in calls] == ["A0.there"]


def test_two_runs_give_the_same_nodes(source: Callable[..., SourceText]) -> None:
    assert render_python(source(SHAPES)) == render_python(source(SHAPES))


NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta"])
COMMENTS = st.sampled_from(["", "# note\n", "# one\n# two\n"])
DOCS = st.sampled_from(["", '"""Says {0}."""\n', '"""Says {0}.\n\nAt length.\n"""\n'])
COUNTER = iter(range(10**9))


def indented(text: str) -> str:
    return textwrap.indent(text, "    ")


@st.composite
def statements(draw: st.DrawFn) -> str:
    word = f"word{next(COUNTER)}"
    return draw(
        st.sampled_from(
            [
                f"{word} = 1\n",
                f"{word}: int = (\n    2\n)\n",
                f"call('{word}')\n",
                f"import {word}\n",
                f"{word} = [\n" + "    0,\n" * 12 + "]\n",
                f"for {word} in ():\n    pass\n",
                f"x = 1; {word} = 2\n",
            ]
        )
    )


@st.composite
def functions(draw: st.DrawFn) -> str:
    word = f"word{next(COUNTER)}"
    head = draw(
        st.sampled_from(["def {0}(a):", "async def {0}(\n    a,\n    b=1,\n):", "def {0}():"])
    )
    lines = draw(st.sampled_from([1, 12]))
    body = (
        draw(DOCS).format(word) + f"{word} = 1\n" * lines + draw(st.sampled_from(["", "# end\n"]))
    )
    one_line = draw(st.booleans()) and lines == 1
    text = f"{head.format(draw(NAMES))} return '{word}'\n" if one_line else ""
    return (
        draw(COMMENTS)
        + draw(st.sampled_from(["", "@mark\n", "@mark(\n    1,\n)\n"]))
        + (text or f"{head.format(draw(NAMES))}\n{indented(body)}")
    )


@st.composite
def classes(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    word = f"word{next(COUNTER)}"
    parts = draw(st.lists(inner, max_size=4))
    body = draw(DOCS).format(word) + draw(st.sampled_from(["\n", ""])).join(parts) or "pass\n"
    return f"{draw(COMMENTS)}class {draw(NAMES).title()}(Base):\n{indented(body)}"


@st.composite
def conditions(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    one, other = draw(inner), draw(inner)
    return draw(
        st.sampled_from(
            [
                f"if word{next(COUNTER)}:\n{indented(one)}else:\n{indented(other)}",
                f"try:\n{indented(one)}except Error:\n{indented(other)}",
            ]
        )
    )


PIECES = st.recursive(
    statements() | functions(), lambda inner: classes(inner) | conditions(inner), max_leaves=8
)


@given(
    st.lists(PIECES, min_size=1, max_size=6),
    st.sampled_from(["\n", "\n\n", "", "\n# lone comment\n\n"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_renderings_nest_and_all_text_is_searched_once_i1(
    source: Callable[..., SourceText],
    assert_nests: Callable[[IndexedNode], None],
    pieces: list[str],
    gap: str,
    end: str,
) -> None:
    """I1.searched."""
    text = gap.join(pieces).replace("\n", end)
    rendered = render_python(source(text))
    assert rendered.note == ""
    whole = rendered.nodes[0].renderings[9]
    uris = [node.uko_node for node in rendered.nodes]
    assert len(set(uris)) == len(uris)
    for node in rendered.nodes:
        assert_nests(node)
        assert node.renderings[9] in whole
    assert_disjoint([node for node in rendered.nodes if node.searched_depth == 9])
    assert stripped_lines(text) <= searched_lines(rendered)


def stripped_lines(text: str) -> set[str]:
    return {line.strip() for line in split_lines(text) if line.strip()}


def searched_lines(rendered: Rendered) -> set[str]:
    texts = (text for node in rendered.nodes for text in node.fields.values())
    return {line for text in texts for line in stripped_lines(text)}


def assert_disjoint(leaves: list[IndexedNode]) -> None:
    """No two leaves hold the same line; parts of a leaf aside."""
    taken: set[int] = set()
    for leaf in leaves:
        if leaf.kind != "chunk":
            numbers = [int(word) for word in leaf.location.split(" ")[1].split("-")]
            lines = set(range(numbers[0], numbers[-1] + 1))
            assert not lines & taken
            taken |= lines


@pytest.mark.parametrize("package", ["langchain_core", "pydantic"])
def test_the_files_of_a_real_package_keep_the_promises(
    package: str,
    installed: Callable[[str], list[SourceText]],
    assert_nests: Callable[[IndexedNode], None],
) -> None:
    sources = installed(package)
    assert len(sources) > 50
    for file in sources[:: 3 if package == "langchain_core" else 7]:
        rendered = render_python(file)
        assert rendered.note == ""
        whole = rendered.nodes[0].renderings[9]
        assert whole == file.text
        for node in rendered.nodes:
            assert_nests(node)
            assert node.renderings[9] in whole
        assert_disjoint([node for node in rendered.nodes if node.searched_depth == 9])
        assert stripped_lines(file.text) <= searched_lines(rendered)
