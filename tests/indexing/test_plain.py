"""Plain text is one node, or a node and its parts (I1)."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.indexing.plain import render_plain
from acms_adapters.indexing.source import SourceText
from acms_adapters.models import IndexedNode

FILE = "project://app/notes.txt"


def test_a_short_text_is_searched_whole(source: Callable[..., SourceText]) -> None:
    (node,) = render_plain(source("\nA title\n\nFirst sentence. Second one.\n", "notes.txt")).nodes
    assert node.searched_depth == 9
    assert node.renderings == {0: "A title", 9: "A title\n\nFirst sentence. Second one."}
    assert node.fields["title"] == "A title"


def test_a_long_text_is_searched_by_its_parts(source: Callable[..., SourceText]) -> None:
    paragraphs = [f"Sentence {n} begins. " + "It goes on and on. " * 30 for n in range(12)]
    rendered = render_plain(source("\n\n".join(paragraphs), "notes.txt"))
    file, *parts = rendered.nodes
    assert file.searched_depth == 4
    assert file.renderings[4].startswith("Sentence 0 begins.")
    assert [part.uko_node for part in parts[:2]] == [f"{FILE}#part-1", f"{FILE}#part-2"]
    assert parts[0].location == "lines 1-3"
    relations = [(edge.relation, edge.source, edge.target) for edge in rendered.edges]
    assert ("contains", FILE, f"{FILE}#part-1") in relations
    assert ("next", f"{FILE}#part-1", f"{FILE}#part-2") in relations


@given(st.text(st.sampled_from("ab .!?。\n\r你`#-|"), min_size=1, max_size=4000))
def test_renderings_nest_and_every_part_is_in_the_text_i1(
    source: Callable[..., SourceText], assert_nests: Callable[[IndexedNode], None], text: str
) -> None:
    if not text.strip():
        return
    file, *parts = render_plain(source(text, "notes.txt")).nodes
    for node in (file, *parts):
        assert_nests(node)
        assert node.renderings[9] in text
    if parts:
        joined = "".join(part.renderings[9] for part in parts)
        assert "".join(joined.split()) == "".join(text.split())
