"""Python source as nodes: a module, its classes, functions and methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from acms_adapters.indexing.embedding_text import QUALNAME_KEY
from acms_adapters.indexing.lines import split_lines
from acms_adapters.indexing.parts import WHOLE_TOKENS, rough_tokens
from acms_adapters.indexing.plain import render_plain
from acms_adapters.indexing.python_outline import (
    SIGNATURES,
    docstring_lines,
    header_lines,
    renderings_of,
    shown_lines,
)
from acms_adapters.indexing.python_references import ties_of
from acms_adapters.indexing.python_tree import (
    Definition,
    DefinitionNode,
    parse,
    read_definitions,
)
from acms_adapters.indexing.source import (
    Names,
    Rendered,
    SourceText,
    containment,
    part_nodes,
    sequence,
)
from acms_adapters.models import Edge, IndexedNode


def render_python(source: SourceText) -> Rendered:
    """Nodes, edges and references of a module (rulings I1, I2).

    A file that is no Python is taken as plain text, with a note that says so.
    """
    lines = split_lines(source.text)
    try:
        file = read_definitions(parse(source.text), lines)
    except SyntaxError as error:
        place = f" in line {error.lineno}" if error.lineno else ""
        return render_plain(source, note=f"no valid Python{place}: {error.msg}; taken as text")
    except RecursionError:  # thousands of conditions inside each other
        return render_plain(source, note="Python nested too deeply; taken as text")
    writer = _Writer(source=source, lines=lines, names=Names(source.uri))
    writer.write(file, parent=source.parent, inside="file")
    edges, references = ties_of(file, source, writer.uris)
    return Rendered(
        nodes=tuple(writer.nodes),
        edges=(*containment(writer.nodes), *writer.sequences, *edges),
        references=tuple(references),
    )


@dataclass(slots=True, kw_only=True)
class _Writer:
    """Writes definitions as nodes, a container before its members."""

    source: SourceText
    lines: Sequence[str]
    names: Names
    nodes: list[IndexedNode] = field(default_factory=list)
    sequences: list[Edge] = field(default_factory=list)
    uris: dict[int, str] = field(default_factory=dict)

    def write(self, definition: Definition, *, parent: str, inside: str) -> None:
        is_file = definition.kind == "file"
        uri = self.source.uri if is_file else self.names.claim(definition.name)
        self.uris[id(definition)] = uri
        renderings = renderings_of(definition, self.lines)
        node = self.source.node(
            uri,
            _kind(definition, inside),
            lines=(definition.first + 1, max(definition.end, 1)),
            parent=parent,
            names=self._names(definition),
            fields={
                **searched_fields(definition, self.lines),
                "name": definition.name or self.source.module,
            },
            renderings=renderings,
            is_container=definition.is_container,
            metadata={QUALNAME_KEY: definition.name or self.source.module},
        )
        self.nodes.append(node)
        if definition.is_container:
            for member in definition.members:
                self.write(member, parent=uri, inside=definition.kind)
            return
        text = "".join(self.lines[definition.first : definition.end])
        if rough_tokens(text) > WHOLE_TOKENS:
            start = definition.first + 1
            parts = part_nodes(node, text, names=self.names, first_line=start, is_prose=False)
            self.nodes.extend(parts)
            self.sequences.extend(sequence(part.uko_node for part in parts))

    def _names(self, definition: Definition) -> Iterator[str]:
        """The symbol, its dotted name in the file, and its dotted name for an import."""
        module = self.source.module
        if definition.kind == "file":
            yield from (module.rsplit(".", 1)[-1], module)
            return
        symbol = definition.name.rsplit(".", 1)[-1]
        if not (symbol.startswith("__") and symbol.endswith("__")):
            yield symbol
        yield definition.name
        yield f"{module}.{definition.name}".lstrip(".")


def searched_fields(definition: Definition, lines: Sequence[str]) -> dict[str, str]:
    """Searched text (ruling B9); what stands in members is left to them, signatures aside."""
    header = [i for node in _syntax(definition) for i in header_lines(node, lines)]
    doc = [i for node in definition.syntax for i in docstring_lines(node)]
    doc += definition.comments
    inside = {i for member in definition.members for i in range(member.first, member.end)}
    taken = {*header, *doc, *inside}
    signature = [lines[i] for i in header]
    for member in definition.members:
        shown = shown_lines(member, SIGNATURES, lines)
        signature.extend(shown[i] for i in sorted(shown))
    body = [lines[i] for i in range(definition.first, definition.end) if i not in taken]
    return {
        "signature": "".join(signature).strip(),
        "doc": "".join(lines[i] for i in sorted(set(doc))).strip(),
        "body": "".join(body).strip(),
    }


def _syntax(definition: Definition) -> list[DefinitionNode]:
    return [node for node in definition.syntax if isinstance(node, DefinitionNode)]


def _kind(definition: Definition, inside: str) -> str:
    if definition.kind == "file":
        return "module"
    return "method" if definition.kind == "function" and inside == "class" else definition.kind
