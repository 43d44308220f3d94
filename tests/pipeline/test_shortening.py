"""A text loses sentences or lines of code, and nothing of what is left is changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters import token_counter
from acms_adapters.pipeline.shortening import GAP, Excerpt, Shortening, shorten
from acms_adapters.pipeline.text_units import units_of

PROSE = """# Incident report

The site went down at 09:14. Initial checks by Dr. Smith focused on the network. They found
nothing, e.g. no packet loss! The night team slept.

- Pumps were off.
- Valves
  were open.

## Root cause

An expired credential blocked the service. Nobody had renewed it.
"""
CODE = '''import os

class Tank:
    """Holds fuel."""

    @property
    def level(self):
        return self._level

    def fill(
        self,
        litres,
    ):
        if litres < 0:
            raise ValueError(litres)
        self._level += litres
'''


def count(text: str) -> int:
    return token_counter().count(text)


def cut_up(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in units_of(text)]


def parts(text: str, excerpt: Excerpt) -> list[str]:
    return [text[start:end] for start, end in excerpt.spans]


def test_prose_is_cut_between_sentences_list_items_and_headings() -> None:
    assert cut_up(PROSE) == [
        "# Incident report",
        "The site went down at 09:14.",
        "Initial checks by Dr. Smith focused on the network.",
        "They found\nnothing, e.g. no packet loss!",
        "The night team slept.",
        "- Pumps were off.",
        "- Valves\n  were open.",
        "## Root cause",
        "An expired credential blocked the service.",
        "Nobody had renewed it.",
    ]


def test_scripts_without_blanks_have_sentences_too() -> None:
    assert cut_up("今天天气好。明天不好！「后天也许。」完") == [
        "今天天气好。",
        "明天不好！",
        "「后天也许。」",
        "完",
    ]


def test_code_is_cut_between_statements_and_keeps_what_belongs_together() -> None:
    pieces = cut_up(CODE)
    assert "    @property\n    def level(self):" in pieces
    assert "    def fill(\n        self,\n        litres,\n    ):" in pieces
    assert "            raise ValueError(litres)" in pieces


def test_a_line_of_code_comes_with_the_lines_it_stands_in() -> None:
    excerpt = shorten(CODE, 40, count=count, query="raise an error for negative litres")
    assert excerpt is not None
    assert parts(CODE, excerpt) == [
        'class Tank:\n    """Holds fuel."""',
        "    def fill(\n        self,\n        litres,\n    ):\n        if litres < 0:\n"
        "            raise ValueError(litres)",
    ]
    assert excerpt.text.count(f"\n{GAP}\n") == 1


def test_without_a_question_code_keeps_its_outline() -> None:
    excerpt = shorten(CODE, 35, count=count)
    assert excerpt is not None
    kept = "\n".join(parts(CODE, excerpt))
    assert "def level" in kept
    assert "def fill" in kept
    assert "return" not in kept


def test_code_between_fences_is_cut_as_code_and_the_rest_as_prose() -> None:
    code = "```python\ndef f(x):\n    return x. y\n```\n"
    text = f"Two sentences. In one line.\n\n{code}And more. Here.\n"
    assert cut_up(text) == [
        "Two sentences.",
        "In one line.",
        "```python",
        "def f(x):",
        "    return x. y",
        "```",
        "And more.",
        "Here.",
    ]


def test_what_answers_the_question_stays_with_its_neighbour() -> None:
    excerpt = shorten(PROSE, 25, count=count, query="Why was the service blocked?")
    assert excerpt is not None
    assert "An expired credential blocked the service. Nobody had renewed it." in excerpt.text


def test_without_a_question_the_beginning_stays() -> None:
    excerpt = shorten(PROSE, 16, count=count)
    assert excerpt is not None
    assert excerpt.text.startswith("# Incident report\n\nThe site went down at 09:14.")


def test_a_gap_shows_within_a_line_and_between_lines() -> None:
    text = "Alpha is first. Beta is second. Gamma is third.\n\nDelta is last. Epsilon is not."
    excerpt = shorten(text, 18, count=count, query="alpha gamma epsilon")
    assert excerpt is not None
    assert excerpt.text == f"Alpha is first. {GAP} Gamma is third.\n{GAP}\nEpsilon is not."
    assert excerpt.spans == ((0, 15), (32, 47), (64, 79))


def test_what_fits_stays_as_it_is() -> None:
    assert shorten(PROSE, 1_000, count=count) == Excerpt(PROSE, ((0, len(PROSE)),), count(PROSE))


@pytest.mark.parametrize("text", ["word " * 900, "^" * 100_001, "你好" * 500])
def test_what_has_no_sentences_is_cut_behind_a_word_or_within_one(text: str) -> None:
    excerpt = shorten(text, 20, count=count)
    assert excerpt is not None
    assert 10 <= count(excerpt.text) <= 20
    ((start, end),) = excerpt.spans
    assert excerpt.text == f"{text[start:end]} {GAP}"
    assert Shortening(text, count=count).within(20) is None


@pytest.mark.parametrize(
    "text", ["." * 200_000, " " * 200_000 + "x", "(" * 200_000, "\n" * 200_000, ". " * 100_000]
)
def test_no_text_takes_more_than_a_moment(text: str) -> None:
    assert len(units_of(text)) <= 100_001


def test_nothing_fits_into_nothing() -> None:
    assert shorten("Some words. And more.", 0, count=count) is None
    assert shorten("", 10, count=count) is None
    assert shorten(" \n ", 0, count=count) is None


TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(
        st.sampled_from(
            [*cut_up(PROSE), *CODE.splitlines(), "", "```", "今天。", "\r", "\t", "x" * 50]
        )
    ).map("\n".join),
    st.lists(st.sampled_from(["One is here. ", "And two! ", "e.g. three? ", "\r\n\r\n"])).map(
        "".join
    ),
)


@given(text=TEXTS, tokens=st.integers(0, 60), query=st.sampled_from(["", "tank fuel", "service"]))
def test_any_text_comes_down_to_any_number_of_tokens_verbatim(
    text: str, tokens: int, query: str
) -> None:
    excerpt = shorten(text, tokens, count=count, query=query)
    if excerpt is None:
        return
    assert count(excerpt.text) == excerpt.tokens <= tokens
    left = excerpt.text
    last = 0
    for start, end in excerpt.spans:
        assert last <= start < end <= len(text)
        assert left.startswith(text[start:end])
        left = left[end - start :].lstrip(f" \n{GAP}") if end < len(text) else ""
        last = end


@given(text=TEXTS)
def test_units_cover_all_but_blanks_in_order(text: str) -> None:
    units = units_of(text)
    covered = 0
    for place, unit in enumerate(units):
        assert text[covered : unit.start].strip() == ""
        assert unit.start < unit.end
        assert unit.outer is None or unit.outer < place
        covered = unit.end
    assert text[covered:].strip() == ""
