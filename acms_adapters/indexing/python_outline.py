"""Renderings of Python definitions (ruling I1), made of verbatim lines.

A rendering is a choice of lines, some of them cut behind a name or an annotation. Each deeper one
shows at least the lines of the one before, so it contains it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from acms_adapters.indexing.lines import trim
from acms_adapters.indexing.python_tree import (
    SHORT_BODY_LINES,
    Definition,
    DefinitionNode,
    docstring_of,
    end_line,
    first_line,
    is_import,
    target_name,
    with_comments,
)
from acms_adapters.indexing.source import keep_renderings

NAMES, SIGNATURES, DOCUMENTED, SHORT_BODIES, FULL = 0, 2, 4, 6, 9

_DECLARED = re.compile(r"\s*(?:(?:async\s+)?def|class)\s+(\w+)")
_WORD = re.compile(r"\s*(\w+)")

Shown = dict[int, str]
"""What is shown, by line number from 0."""


def renderings_of(definition: Definition, lines: Sequence[str]) -> dict[int, str]:
    """Text of a definition by depth."""
    depths = (NAMES, SIGNATURES, DOCUMENTED, SHORT_BODIES, FULL)
    return keep_renderings({depth: _text(definition, depth, lines) for depth in depths})


def header_lines(node: DefinitionNode, lines: Sequence[str]) -> range:
    """Lines of decorators and signature, from 0."""
    start, body = first_line(node), node.body[0]
    end = first_line(body)
    if lines[end].encode()[: body.col_offset].strip() and end == body.lineno - 1:
        return range(start, end + 1)  # the body begins on the line where the signature ends
    while end > node.lineno and _is_blank_or_comment(lines[end - 1]):
        end -= 1
    return range(start, end)


def docstring_lines(node: ast.AST) -> range:
    """Lines of a docstring, from 0; none if there is none."""
    docstring = docstring_of(node)
    return range(first_line(docstring), end_line(docstring)) if docstring else range(0)


def _text(definition: Definition, depth: int, lines: Sequence[str]) -> str:
    shown = shown_lines(definition, depth, lines)
    return trim("".join(shown[index] for index in sorted(shown)))


def shown_lines(definition: Definition, depth: int, lines: Sequence[str]) -> Shown:
    """Lines of a definition that are shown at a depth, by number from 0."""
    if depth >= FULL or (depth >= SHORT_BODIES and _is_short(definition, lines)):
        return {index: lines[index] for index in range(definition.first, definition.end)}
    shown: Shown = {}
    for node in definition.syntax[: 1 if depth < SIGNATURES else None]:
        if isinstance(node, DefinitionNode):
            _show_header(shown, node, depth, lines)
        elif isinstance(node, ast.stmt):
            _show_statement(shown, node, depth, lines, floor=definition.first)
        if depth >= DOCUMENTED:
            _show(shown, docstring_lines(node), lines)
    if depth >= DOCUMENTED:
        _show(shown, definition.comments, lines)
    _show_inside(shown, definition, depth, lines)
    return shown


def _show(shown: Shown, numbers: range, lines: Sequence[str]) -> None:
    shown.update((index, lines[index]) for index in numbers)


def _show_start(shown: Shown, index: int, length: int, lines: Sequence[str]) -> None:
    """Show a line up to `length` characters, if it is not there whole."""
    line = lines[index].rstrip("\r\n")
    shown.setdefault(index, line[:length] + lines[index][len(line) :])


def _show_header(shown: Shown, node: DefinitionNode, depth: int, lines: Sequence[str]) -> None:
    if depth >= SIGNATURES:
        _show(shown, header_lines(node, lines), lines)
        return
    index = node.lineno - 1
    found = _DECLARED.match(lines[index])
    known = found is not None and found[1] == node.name
    _show_start(shown, index, found.end() if found and known else len(lines[index]), lines)


def _show_inside(shown: Shown, definition: Definition, depth: int, lines: Sequence[str]) -> None:
    """Show members and own statements of a class or file."""
    docstring = docstring_of(definition.syntax[0])
    floor = definition.first
    for node in definition.own:
        if node is not docstring:
            _show_statement(shown, node, depth, lines, floor=floor)
        floor = end_line(node)
    for member in definition.members:
        for index, text in shown_lines(member, depth, lines).items():
            shown.setdefault(index, text)


def _show_statement(
    shown: Shown, node: ast.stmt, depth: int, lines: Sequence[str], *, floor: int
) -> None:
    """Show a constant by name, then by its first line; short statements whole with docstrings."""
    name, index = target_name(node), first_line(node)
    if is_import(node) or name == "__all__":
        return
    if depth >= DOCUMENTED and end_line(node) - index <= SHORT_BODY_LINES:
        _show(shown, range(with_comments(index, lines, floor=floor), end_line(node)), lines)
    elif depth >= SIGNATURES and isinstance(node, ast.Assign | ast.AnnAssign):
        _show_start(shown, index, _declared_length(node, lines), lines)
    elif name and (found := _WORD.match(lines[index])) and found[1] == name:
        _show_start(shown, index, found.end(), lines)


def _declared_length(node: ast.Assign | ast.AnnAssign, lines: Sequence[str]) -> int:
    """How much of a first line says what is assigned: up to the annotation if it goes on."""
    line = lines[node.lineno - 1]
    goes_on = end_line(node) > node.lineno
    if goes_on and isinstance(node, ast.AnnAssign) and node.annotation.end_lineno == node.lineno:
        return len(line.encode()[: node.annotation.end_col_offset].decode())
    return len(line)


def _is_short(definition: Definition, lines: Sequence[str]) -> bool:
    """Whether a function's body, docstring aside, has at most 10 lines."""
    if definition.kind != "function":
        return False
    node = definition.syntax[-1]
    assert isinstance(node, DefinitionNode)
    body = end_line(node) - header_lines(node, lines).stop
    return body - len(docstring_lines(node)) <= SHORT_BODY_LINES


def _is_blank_or_comment(line: str) -> bool:
    text = line.strip()
    return not text or text.startswith("#")
