"""Sections of a Markdown text, as line ranges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

MAX_HEADING = 300
"""Characters of a heading that are read as its text."""

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t\r\n]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*[\r\n]*$")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})[\r\n]*$")
_ITEM = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])(?:([ \t]+)(?=\S)|[ \t]*[\r\n]*$)")
_QUOTE = re.compile(r" {0,3}>")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})", re.DOTALL)
_RAW_HTML = re.compile(r" {0,3}<(pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_HTML = re.compile(
    r" {0,3}</?(?:address|article|aside|blockquote|body|center|dd|details|dialog|div|dl|dt|"
    r"fieldset|figcaption|figure|footer|form|h[1-6]|head|header|hr|html|iframe|legend|li|link|"
    r"main|menu|nav|ol|option|p|param|section|summary|table|tbody|td|tfoot|th|thead|title|tr|ul)"
    r"(?=[\s>]|/>|$)",
    re.IGNORECASE,
)
_TAG = re.compile(r" {0,3}</?[a-z][\w-]*(?:\s[^<>]*)?/?>[ \t]*[\r\n]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its lines from 0 without the end, its level, its text as written."""

    first: int
    end: int
    level: int
    text: str


@dataclass(slots=True, kw_only=True)
class Section:
    """A stretch of lines below a heading; the whole file is one without a heading of its own."""

    first: int
    end: int
    heading: Heading | None = None
    children: list[Section] = field(default_factory=list)

    @property
    def own_end(self) -> int:
        """Where its own text ends and that of its subsections begins."""
        return self.children[0].first if self.children else self.end


def read_sections(lines: Sequence[str]) -> Section:
    """The file as a tree of sections.

    Where one heading stands above everything else it is the file's own, so that no text belongs to
    two sections.
    """
    file = Section(first=0, end=len(lines))
    open_sections = [file]
    for heading in find_headings(lines):
        while len(open_sections) > 1 and _level(open_sections[-1]) >= heading.level:
            open_sections.pop().end = heading.first
        section = Section(first=heading.first, end=len(lines), heading=heading)
        open_sections[-1].children.append(section)
        open_sections.append(section)
    if len(file.children) == 1:
        top = file.children[0]
        file.heading, file.children = top.heading, top.children
    return file


def front_matter_end(lines: Sequence[str]) -> int:
    """Number of lines that a file begins with as YAML or TOML front matter."""
    first = lines[0].rstrip() if lines else ""
    if first not in ("---", "+++") or not "".join(lines[1:2]).strip():
        return 0
    ends = {"---": ("---", "..."), "+++": ("+++",)}[first]
    for index in range(1, len(lines)):
        if lines[index].rstrip() in ends:
            return index + 1
    return 0


def find_headings(lines: Sequence[str]) -> list[Heading]:
    """Headings of both kinds that stand at the top: none in fences, lists, quotes or HTML."""
    scanner = _Scanner(lines)
    for index in range(front_matter_end(lines), len(lines)):
        scanner.read(index)
    return scanner.headings


def _level(section: Section) -> int:
    return section.heading.level if section.heading else 0


@dataclass(slots=True)
class _Scanner:
    """Reads line by line, knowing in what kind of block it is."""

    lines: Sequence[str]
    headings: list[Heading] = field(default_factory=list)
    fence: str = ""  # the marker that a fence was opened with
    html_end: str = ""  # what ends an HTML block; a line feed stands for an empty line
    item: int = 0  # how far the text of a list item is indented
    lazy: bool = False  # whether plain text goes on with a list item or quote
    paragraph: int | None = None  # where the current paragraph began

    def read(self, index: int) -> None:
        line = self.lines[index]
        is_blank, indent = not line.strip(), _indent(line)
        outside = self.item and not is_blank and indent < self.item
        if outside and not (self.lazy and not self.fence and self._is_plain(line)):
            self.item, self.fence = 0, ""
        if self.fence:
            self._read_fenced(line)
        elif self.html_end:
            self._read_html(line, is_blank)
        elif is_blank:
            self.paragraph, self.lazy = None, False
        elif self.item and indent >= self.item:
            self._read_inside(line)
        else:
            self._read_top(index, line, indent)

    def _read_fenced(self, line: str) -> None:
        text = line.strip()
        if text.startswith(self.fence) and not text.strip(self.fence[0]):
            self.fence = ""

    def _read_html(self, line: str, is_blank: bool) -> None:
        if is_blank if self.html_end == "\n" else self.html_end in line.lower():
            self.html_end = ""

    def _read_inside(self, line: str) -> None:
        """A line of a list item: only a fence matters."""
        self.lazy = True
        if marker := _FENCE.match(line):
            self.fence, self.lazy = marker[1], False

    def _read_top(self, index: int, line: str, indent: int) -> None:
        started, self.paragraph = self.paragraph, None
        lazy, self.lazy = self.lazy, False
        underline = _SETEXT.match(line)
        if started is not None and underline:
            text = "\n".join(part.strip() for part in self.lines[started:index])[:MAX_HEADING]
            level = 1 if underline[1][0] == "=" else 2
            self.headings.append(Heading(started, index + 1, level, text))
        elif indent > 3:  # code, or more of a paragraph
            self.paragraph, self.lazy = started, lazy
        elif atx := _ATX.match(line):
            self.headings.append(Heading(index, index + 1, len(atx[1]), _text(line[atx.end() :])))
        elif _RULE.match(line):
            pass
        elif item := _ITEM.match(line):
            self._open_item(line, item)
        elif _QUOTE.match(line):
            self.lazy = self._is_plain(line.lstrip().lstrip("> "))
        elif marker := _FENCE.match(line):
            self.fence = marker[1]
        elif self._opens_html(line, in_paragraph=started is not None):
            pass
        elif lazy:
            self.lazy = True
        else:
            self.paragraph = index if started is None else started

    def _open_item(self, line: str, item: re.Match[str]) -> None:
        blanks = len(item[3] or " ")
        self.item = len(item[1]) + len(item[2]) + (blanks if blanks <= 4 else 1)
        self._read_inside(line)

    def _opens_html(self, line: str, *, in_paragraph: bool) -> bool:
        raw = _RAW_HTML.match(line)
        if raw:
            end = f"</{raw[1].lower()}>"
        elif re.match(r" {0,3}<!--", line):
            end = "-->"
        elif _HTML.match(line) or (not in_paragraph and _TAG.match(line)):
            end = "\n"
        else:
            return False
        self.html_end = "" if end in line.lower()[4:] and end != "\n" else end
        return True

    def _is_plain(self, line: str) -> bool:
        """Whether a line could be more of a paragraph."""
        blocks = (_ATX, _RULE, _ITEM, _QUOTE, _FENCE, _RAW_HTML, _HTML)
        return bool(line.strip()) and not any(block.match(line) for block in blocks)


def _text(heading: str) -> str:
    """Text of a heading, without the marks that may close it."""
    text = heading.strip()
    open_text = text.rstrip("#")
    closed = open_text != text and (not open_text or open_text[-1] in " \t")
    return (open_text.rstrip() if closed else text)[:MAX_HEADING].rstrip()


def _indent(line: str) -> int:
    """Columns in front of a line; a tab goes to the next multiple of four."""
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))
