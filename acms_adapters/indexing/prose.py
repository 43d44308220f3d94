"""What prose is known by: its title and its lead sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable

from acms_adapters.indexing.lines import split_lines

LEAD_CHARS = 240
TITLE_CHARS = 120

_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*(?=\s+[^a-z\s]|\s*$)|[。！？]")
_NO_PROSE = re.compile(
    r"(?:-{3,}\s|\+{3,}\s|```|~~~|\||<|!\[|\[!\[|[-*+]\s|\d+[.)]\s|>|[-=*_~#\s]+$|#{1,6}\s)"
)


def first_line_of(text: str) -> str:
    """The first line that says anything, without blanks around it, cut at 120 characters."""
    for line in split_lines(text):
        if line.strip():
            return line.strip()[:TITLE_CHARS].rstrip()
    return ""


def lead_sentence(text: str) -> str:
    """The first sentence of the first paragraph of a text, verbatim, at most 240 characters.

    Headings, lists, tables, quotes, fences and images are no paragraphs; nothing if there is none.
    """
    fence = ""
    for paragraph in map(str.strip, _paragraphs(text)):
        marker = paragraph[:3]
        if fence:
            fence = "" if fence in paragraph else fence
        elif marker in ("```", "~~~"):
            fence = "" if paragraph.count(marker) > 1 else marker
        elif not _NO_PROSE.match(paragraph[:LEAD_CHARS]):
            return _sentence(paragraph)
    return ""


def _sentence(paragraph: str) -> str:
    end = _SENTENCE_END.search(paragraph)
    sentence = (paragraph[: end.end()] if end else paragraph).strip()
    if len(sentence) <= LEAD_CHARS:
        return sentence
    cut = sentence.rfind(" ", LEAD_CHARS // 2, LEAD_CHARS)
    return sentence[: cut if cut > 0 else LEAD_CHARS].rstrip()


def _paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"(?:\r\n|\r|\n)[ \t]*(?=\r\n|\r|\n)", text) if part.strip()]


def prose_outline(title: str, texts: Iterable[str]) -> str:
    """A title and the lead sentence of each text, one below the other."""
    first, *others = [*map(lead_sentence, texts)] or [""]
    return "\n".join(filter(None, [*opening(title, first), *others]))


def opening(title: str, lead: str) -> list[str]:
    """A title and the sentence behind it; one of them where it begins with the other."""
    if lead.startswith(title):
        return [lead] if lead else []
    return [title] if title.startswith(lead) else [title, lead]
