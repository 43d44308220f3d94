"""Long text is cut into parts that hold all of it (M6, F8)."""

from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.indexing.lines import split_lines, trim
from acms_adapters.indexing.parts import PART_TOKENS, rough_tokens, split_parts
from acms_adapters.models.fragment import MAX_CONTENT_CHARS


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_short_text_is_one_part() -> None:
    (part,) = split_parts("one\n\ntwo\n")
    assert (part.text, part.location) == ("one\n\ntwo", "lines 1-3")


def test_cuts_fall_between_paragraphs() -> None:
    paragraph = "word " * 150
    parts = split_parts("\n\n".join([paragraph.strip()] * 6))
    assert [part.text for part in parts] == ["\n\n".join([paragraph.strip()] * 2)] * 3
    assert [part.location for part in parts] == ["lines 1-3", "lines 5-7", "lines 9-11"]


def test_a_fenced_block_is_not_cut_at_its_empty_lines() -> None:
    fence = "```\n" + "\n\n".join(["code " * 30] * 5) + "\n```"
    parts = split_parts(f"{'intro ' * 200}\n\n{fence}\n\n{'rest ' * 200}")
    assert any(fence in part.text for part in parts)


def test_line_numbers_count_from_where_the_text_stands() -> None:
    assert split_parts("a\nb", first_line=41)[0].location == "lines 41-42"


def test_a_million_characters_in_one_line_become_parts_with_places_of_their_own() -> None:
    text = "^" * 1_000_001
    parts = split_parts(text)
    assert "".join(part.text for part in parts) == text
    assert len({part.location for part in parts}) == len(parts)
    assert parts[0].location == "line 1, characters 1-1600"
    assert all(len(part.text) < MAX_CONTENT_CHARS for part in parts)


def test_a_long_line_is_cut_between_words() -> None:
    parts = split_parts("word " * 2000)
    assert all(part.text.strip("word ") == "" for part in parts)
    assert all(not part.text.startswith(("ord", "rd", "d ")) for part in parts)


@given(st.text(st.sampled_from("ab é你\n\r\t\f`. \ud83d\u2028"), max_size=3000), st.integers(5, 60))
def test_parts_hold_every_character_and_stay_small(text: str, limit: int) -> None:
    """M6.long."""
    parts = split_parts(text, limit=limit)
    assert squeezed("".join(part.text for part in parts)) == squeezed(text)
    for part in parts:
        assert part.text in text
        assert rough_tokens(part.text) <= limit + max(limit // 4, 1)


@given(st.text(st.sampled_from("ab\n\r\f\v\x1c\u2028"), max_size=80))
def test_lines_join_to_the_text(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(line.rstrip("\r\n") for line in lines) or "\n" in text or "\r" in text


def test_trimming_keeps_indentation_and_drops_empty_lines_around() -> None:
    assert trim("\n \n    a\n  b\r\n\n") == "    a\n  b"


def test_a_part_is_about_four_hundred_tokens() -> None:
    parts = split_parts("\n\n".join(f"Paragraph {n}. " + "word " * 40 for n in range(100)))
    assert all(PART_TOKENS / 2 < rough_tokens(part.text) <= PART_TOKENS for part in parts[:-1])
