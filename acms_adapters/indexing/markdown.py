"""Markdown as nodes: a file and its sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from acms_adapters.indexing.lines import split_lines, trim
from acms_adapters.indexing.markdown_links import LinkReader
from acms_adapters.indexing.markdown_tree import (
    MAX_HEADING,
    Section,
    front_matter_end,
    read_sections,
)
from acms_adapters.indexing.parts import WHOLE_TOKENS, rough_tokens
from acms_adapters.indexing.plain import render_plain
from acms_adapters.indexing.prose import first_line_of, lead_sentence, opening
from acms_adapters.indexing.source import (
    Names,
    Rendered,
    SourceText,
    containment,
    part_nodes,
    sequence,
)
from acms_adapters.models import Edge, IndexedNode, Reference
from acms_adapters.models.fragment import MAX_DEPTH

OUTLINE, LEADS = 2, 4

_FRONT_TITLE = re.compile(r"title\s*[:=]\s*[\"']?(.+?)[\"']?\s*$", re.IGNORECASE)
_CUSTOM_ID = re.compile(r"\s*\{:?\s*#([\w-]+)[^}]*\}\s*$")
_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_TAG = re.compile(r"<[^>]+>")


def render_markdown(source: SourceText) -> Rendered:
    """Nodes, edges and references of a Markdown file (rulings I1, I2).

    A file without headings is plain text whose links count.
    """
    lines = split_lines(source.text)
    file = read_sections(lines)
    writer = _Writer(source, lines)
    if file.heading is None and not file.children:
        plain = render_plain(source, title=writer.title(file))
        writer.nodes.extend(plain.nodes)
        writer.edges.extend(plain.edges)
        writer.uris[id(file)] = source.uri
    else:
        writer.write(file, parent=source.parent, above=())
    writer.link(file)
    return Rendered(
        nodes=tuple(writer.nodes),
        edges=tuple(dict.fromkeys(writer.edges)),
        references=tuple(dict.fromkeys(writer.references)),
    )


def clean_title(text: str) -> str:
    """A heading as people say it: without the marks of code, emphasis, links and tags."""
    text = _TAG.sub("", _LINK.sub(r"\1", _CUSTOM_ID.sub("", text)))
    return " ".join(re.sub(r"[`*]|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)", "", text).split())


def slug(text: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    custom = _CUSTOM_ID.search(text)
    if custom:
        return custom[1]
    kept = re.sub(r"[^\w\- ]", "", clean_title(text).lower())
    return kept.replace(" ", "-") or "section"


class _Writer:
    """Writes sections as nodes, a section before its subsections."""

    def __init__(self, source: SourceText, lines: Sequence[str]) -> None:
        self.nodes: list[IndexedNode] = []
        self.edges: list[Edge] = []
        self.references: list[Reference] = []
        self.uris: dict[int, str] = {}
        self._source = source
        self._lines = lines
        self._front = front_matter_end(lines)
        self._names = Names(source.uri, first_repeat=1)
        self._anchors: dict[str, str] = {"": source.uri}
        self._links = LinkReader(source, lines)

    def write(self, section: Section, *, parent: str, above: tuple[str, ...]) -> None:
        """Write a section; `above` are the titles it stands under."""
        is_file, is_container = not self.nodes, bool(section.children)
        uri = self._claim(section, is_file=is_file)
        self.uris[id(section)] = uri
        title = self.title(section)
        said = (*above, clean_title(title))
        whole_title = " / ".join(filter(None, said))
        texts = {
            0: title,
            OUTLINE: trim("".join(self._outline(section, title, leads=False))),
            LEADS: trim("".join(self._outline(section, title, leads=True))),
            MAX_DEPTH: trim("".join(self._lines[section.first : section.end])),
        }
        node = self._source.node(
            uri,
            "file" if is_file else "section",
            lines=(section.first + 1, max(section.end, 1)),
            parent=parent,
            names=(said[-1], self._source.path.rsplit("/", 1)[-1] if is_file else ""),
            fields={
                "title": whole_title,
                "body": texts[LEADS] if is_container else trim("".join(self._own(section))),
            },
            renderings=texts,
            is_container=is_container,
            metadata={"title": whole_title},
        )
        self.nodes.append(node)
        self.edges.extend(containment([node]))
        if self._needs_parts(section, texts):
            self._write_parts(section, node)
        for child in section.children:
            self.write(child, parent=uri, above=said)
        inside = [self.uris[id(child)] for child in section.children]
        self.edges.extend(sequence(inside))

    def link(self, section: Section) -> None:
        """Tie a section and its subsections to what their own texts link to."""
        uri = self.uris[id(section)]
        for target, anchor in self._links.targets(self._lines[section.first : section.own_end]):
            if target != self._source.uri:
                self._refer(uri, target, anchor)
            elif self._anchors.get(anchor, uri) != uri:
                self.edges.append(Edge(source=uri, target=self._anchors[anchor], relation="links"))
        for child in section.children:
            self.link(child)

    def title(self, section: Section) -> str:
        """What a section is called, as it stands in its text."""
        if section.first == 0:
            for line in self._lines[1 : self._front]:
                if found := _FRONT_TITLE.match(line[:MAX_HEADING]):
                    return found[1]
        if section.heading is not None:
            return _CUSTOM_ID.sub("", section.heading.text)
        own = "".join(self._own(section)[self._front :])
        heading = section.children[0].heading if section.children else None
        return first_line_of(own) or (_CUSTOM_ID.sub("", heading.text) if heading else "")

    def _refer(self, uri: str, target: str, anchor: str) -> None:
        """Refer to the place of an anchor, and to its file in case there is no such place."""
        names = (f"{target}#{anchor}", target) if anchor else (target,)
        self.references.extend(Reference(source=uri, name=n, relation="links") for n in names)

    def _claim(self, section: Section, *, is_file: bool) -> str:
        """A URI, known by the anchor that links use."""
        anchor = slug(section.heading.text) if section.heading else ""
        uri = self._source.uri if is_file else self._names.claim(anchor)
        self._anchors.setdefault(anchor if is_file else uri.rpartition("#")[2], uri)
        return uri

    def _own(self, section: Section) -> list[str]:
        """Lines of a section's own text, without its heading."""
        heading, lines = section.heading, self._lines
        if heading is None:
            return list(lines[section.first : section.own_end])
        return [*lines[section.first : heading.first], *lines[heading.end : section.own_end]]

    def _outline(self, section: Section, title: str, *, leads: bool) -> Iterator[str]:
        """Headings of a section and its subsections, with lead sentences where asked for."""
        heading = section.heading
        first = self._front if section.first == 0 else section.first
        before = self._lines[first : heading.first if heading else section.own_end]
        lead = lead_sentence("".join(before)) if leads else ""
        shown = heading or (section.children[0].heading if section.children else None)
        top = "" if shown and title in shown.text else title
        yield from (f"{text}\n" for text in opening(top, lead))
        if heading is not None:
            yield from self._lines[heading.first : heading.end]
            behind = "".join(self._lines[heading.end : section.own_end])
            if leads and not lead and (lead := lead_sentence(behind)):
                yield f"{lead}\n"
        for child in section.children:
            yield from self._outline(child, "", leads=leads)

    def _needs_parts(self, section: Section, texts: Mapping[int, str]) -> bool:
        """Whether there is text that nothing else is found by, or too much of it."""
        if not section.children:
            return rough_tokens(texts[MAX_DEPTH]) > WHOLE_TOKENS
        own = "".join(self._own(section)).strip()
        lead = lead_sentence(own)
        return own not in (lead, texts[0])

    def _write_parts(self, section: Section, node: IndexedNode) -> None:
        text = "".join(self._lines[section.first : section.own_end])
        parts = part_nodes(node, text, names=self._names, first_line=section.first + 1)
        self.nodes.extend(parts)
        self.edges.extend(containment(parts))
        self.edges.extend(sequence([part.uko_node for part in parts]))
