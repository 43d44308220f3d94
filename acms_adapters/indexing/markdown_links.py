"""Links of a Markdown text to other parts of its project (ruling I2)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from acms_adapters.indexing.source import SourceText, file_uri

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"(`{1,9})(?!`).{1,1000}?(?<!`)\1(?!`)", re.DOTALL)
_DESTINATION = r"<([^<>\r\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)"
_TITLE = r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?"
_INLINE = re.compile(rf"(?<!!)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*(?:{_DESTINATION}){_TITLE}\s*\)")
_DEFINITION = re.compile(rf"^ {{0,3}}\[([^\]]{{1,999}})\]:\s*(?:{_DESTINATION})", re.MULTILINE)
_USE = re.compile(r"(?<!!)\[([^\[\]]+)\](?:\[([^\[\]]*)\])?(?![(:])")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_LINE_ANCHOR = re.compile(r"L\d+(?:-L?\d+)?")


class LinkReader:
    """Finds where the links of one file lead."""

    def __init__(self, source: SourceText, lines: Sequence[str]) -> None:
        self._source = source
        self._definitions = {
            _label(match[1]): match[2] or match[3]
            for match in _DEFINITION.finditer(_without_code(lines))
        }

    def targets(self, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Pairs of a URI in the project and an anchor there.

        A mere anchor is one in the file itself. Links out of the project are left aside.
        """
        for destination in dict.fromkeys(self._destinations(_without_code(lines))):
            path, _, anchor = destination.partition("#")
            if _SCHEME.match(destination) or not (path or anchor):
                continue
            target = self._target(unquote(path.partition("?")[0]))
            if target is not None:
                yield target, "" if _LINE_ANCHOR.fullmatch(anchor) else unquote(anchor)

    def _destinations(self, text: str) -> Iterator[str]:
        for match in _INLINE.finditer(text):
            yield match[1] or match[2] or ""
        for match in _USE.finditer(text):
            yield self._definitions.get(_label(match[2] or match[1]), "")

    def _target(self, path: str) -> str | None:
        if not path:
            return self._source.uri
        folder = "" if path.startswith("/") else posixpath.dirname(self._source.path)
        there = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
        if there == "..":
            return None
        if there == ".":
            return self._source.project
        return None if there.startswith("../") else file_uri(self._source.project, there)


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


def _without_code(lines: Iterable[str]) -> str:
    """The text without fences and code spans, where brackets are no links."""
    kept, fence = [], ""
    for line in lines:
        marker = _FENCE.match(line)
        if fence:
            closes = marker is not None and marker[1].startswith(fence)
            fence = "" if closes else fence
        elif marker:
            fence = marker[1]
        else:
            kept.append(line)
    return _CODE_SPAN.sub("", "".join(kept))
