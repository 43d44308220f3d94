"""What a renderer is given, and what it gives back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from acms_adapters.indexing.lines import lines_between
from acms_adapters.indexing.parts import OUTLINE_TOKENS, rough_tokens, split_parts
from acms_adapters.indexing.prose import lead_sentence
from acms_adapters.models import Edge, IndexedNode, Reference
from acms_adapters.models.base import repair_text
from acms_adapters.models.fragment import MAX_CONTENT_CHARS, MAX_DEPTH

OUTLINE_DEPTHS = (4, 2, 0)

_SHARED = ("path", "name", "title")  # searched fields that a part has from the whole
_UNSAFE = re.compile(r"[%#\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """A decoded file.

    Attributes:
        project: URI of its project.
        path: Path below the project's folder, with slashes.
        text: Its text, line ends as they are.
        parent: URI of the folder or project that contains it.
        resource_type: ``source_file``, ``test``, ``document`` or ``decision``.
        module: Dotted name that Python imports it by; empty for other files.
        is_package: Whether it is a package's ``__init__``.
        changed: When it was last changed.
    """

    project: str
    path: str
    text: str
    parent: str
    resource_type: str
    module: str = ""
    is_package: bool = False
    changed: datetime | None = None

    @property
    def uri(self) -> str:
        """URI of the file (ruling M4)."""
        return file_uri(self.project, self.path)

    def node(
        self,
        uri: str,
        kind: str,
        *,
        lines: tuple[int, int],
        parent: str,
        names: Iterable[str],
        fields: Mapping[str, str],
        renderings: Mapping[int, str],
        is_container: bool,
        metadata: Mapping[str, str],
    ) -> IndexedNode:
        """A node of this file.

        Args:
            lines: Its first and last line, from 1.
            is_container: Whether it is found by its outline, because its members are nodes too.
        """
        kept, path = keep_renderings(renderings), repair_text(self.path)
        whole = not is_container and MAX_DEPTH in kept
        return IndexedNode(
            uko_node=uri,
            kind=kind,
            resource_uri=self.uri,
            location=lines_between(*lines),
            resource_type=self.resource_type,
            parent=parent,
            names=tuple(dict.fromkeys(name for name in names if name)),
            fields={"path": path, **{name: text for name, text in fields.items() if text}},
            renderings=kept,
            searched_depth=MAX_DEPTH if whole else outline_depth(kept),
            metadata={
                "path": path,
                "kind": kind,
                "resource_type": self.resource_type,
                **metadata,
            },
            created_at=self.changed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """Nodes of a text, containers before what they contain, and what ties them."""

    nodes: tuple[IndexedNode, ...]
    edges: tuple[Edge, ...] = ()
    references: tuple[Reference, ...] = ()
    note: str = ""


@dataclass(slots=True)
class Names:
    """Gives each node of a file a URI of its own."""

    uri: str
    first_repeat: int = 2
    _next: dict[str, int] = field(default_factory=dict)

    def claim(self, name: str) -> str:
        """URI of a node called `name`; the second of that name gets a number, and so on."""
        return self.claim_quoted(_quote(name))

    def claim_quoted(self, name: str) -> str:
        """The same for a name that stood in a URI already."""
        unique = name
        while unique in self._next:
            unique = f"{name}-{self._next[name]}"
            self._next[name] += 1
        self._next[unique] = self.first_repeat
        return f"{self.uri}#{unique}"


def project_uri(name: str) -> str:
    """URI of a project (ruling M4)."""
    return f"project://{_quote(name)}"


def file_uri(project: str, path: str) -> str:
    """URI of a file or folder of a project; `path` has slashes."""
    return f"{project}/{_quote(path)}"


def _quote(text: str) -> str:
    """Percent-encode what would make two URIs one, or no text at all."""
    return _UNSAFE.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in _bytes_of(match.group())), text
    )


def _bytes_of(character: str) -> bytes:
    # U+DC80 to U+DCFF stand for bytes of a file name that are no UTF-8
    escaped = "\udc80" <= character <= "\udcff"
    return character.encode("utf-8", "surrogateescape" if escaped else "replace")


def keep_renderings(texts: Mapping[int, str]) -> dict[int, str]:
    """Drop renderings that are empty, too long, or no different from another (ruling I1).

    A depth that adds nothing to the one before is not made, so that asking for it gives that one;
    one that is not shorter than the full text is dropped for it.
    """
    full = texts.get(MAX_DEPTH, "")
    has_full = bool(full.strip()) and len(full) <= MAX_CONTENT_CHARS
    limit = len(full) if has_full else MAX_CONTENT_CHARS + 1
    kept: dict[int, str] = {}
    longest = 0
    for depth in sorted(set(texts) - {MAX_DEPTH}):
        text = texts[depth]
        if text.strip() and longest < len(text) < limit:
            kept[depth] = text
            longest = len(text)
    return kept | ({MAX_DEPTH: full} if has_full else {})


def outline_depth(renderings: Mapping[int, str]) -> int:
    """Depth that a container is found by: its deepest outline of a useful size."""
    there = [depth for depth in OUTLINE_DEPTHS if depth in renderings]
    for depth in there:
        if rough_tokens(renderings[depth]) <= OUTLINE_TOKENS:
            return depth
    return there[-1] if there else min(renderings, default=MAX_DEPTH)


def part_nodes(
    whole: IndexedNode,
    text: str,
    *,
    names: Names,
    first_line: int = 1,
    is_prose: bool = True,
) -> list[IndexedNode]:
    """Parts of a node's text as nodes of their own, below it (rulings F8, M6).

    Args:
        first_line: Number of the text's first line in its resource.
        is_prose: Whether the parts have lead sentences.
    """
    stem = whole.uko_node.removeprefix(names.uri).removeprefix("#")
    is_file = whole.kind != "document"  # a document's metadata stay its own
    shared = {name: whole.fields[name] for name in _SHARED if name in whole.fields}
    return [
        IndexedNode(
            uko_node=names.claim_quoted(f"{stem}.part-{number}" if stem else f"part-{number}"),
            kind="chunk",
            resource_uri=whole.resource_uri,
            location=part.location,
            resource_type=whole.resource_type,
            parent=whole.uko_node,
            fields={**shared, "body": part.text},
            renderings=keep_renderings(
                {4: lead_sentence(part.text) if is_prose else "", MAX_DEPTH: part.text}
            ),
            metadata={**whole.metadata, **({"kind": "chunk"} if is_file else {})},
            tier=whole.tier,
            created_at=whole.created_at,
        )
        for number, part in enumerate(split_parts(text, first_line=first_line), start=1)
    ]


def containment(nodes: Iterable[IndexedNode]) -> list[Edge]:
    """Edges from each node's parent to it."""
    return [
        Edge(source=node.parent, target=node.uko_node, relation="contains")
        for node in nodes
        if node.parent is not None
    ]


def sequence(uris: Iterable[str]) -> list[Edge]:
    """Edges from each node to the one behind it."""
    return [Edge(source=one, target=other, relation="next") for one, other in pairwise(uris)]
