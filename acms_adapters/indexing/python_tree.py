"""Definitions in Python source, as line ranges."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from acms_adapters.indexing.lines import indent_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DefinitionNode = FunctionNode | ast.ClassDef

SHORT_BODY_LINES = 10
"""Up to how many lines a body or statement is short (ruling I1)."""

_ACCESSORS = frozenset({"setter", "getter", "deleter"})


@dataclass(slots=True, kw_only=True)
class Definition:
    """A file, class, function, or a long statement that stands beside such.

    Lines are counted from 0; `end` is the first line behind.

    Attributes:
        kind: ``file``, ``class``, ``function`` or ``code``.
        name: Dotted name inside the file; empty for the file.
        syntax: Its statements: one, or a function with its overloads or accessors.
        first: First line, comments and decorators in front included.
        members: Definitions directly inside.
        own: Statements directly inside that are no members, in order.
    """

    kind: str
    name: str
    syntax: Sequence[ast.AST]
    first: int
    end: int
    members: list[Definition] = field(default_factory=list)
    own: list[ast.stmt] = field(default_factory=list)

    @property
    def is_container(self) -> bool:
        """Whether its members are nodes of their own."""
        return bool(self.members)

    @property
    def comments(self) -> range:
        """Lines of the comments in front of it."""
        node = self.syntax[0]
        return range(self.first, first_line(node) if isinstance(node, ast.stmt) else self.first)


def parse(text: str) -> ast.Module:
    """Parse source without the warnings that running it would give.

    Raises:
        SyntaxError: It is no Python; also where Python says so in other ways.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (ValueError, MemoryError, RecursionError) as error:
            raise SyntaxError(str(error) or type(error).__name__) from error


def read_definitions(tree: ast.Module, lines: Sequence[str]) -> Definition:
    """Find what a file defines; what stands inside a function belongs to the function."""
    file = Definition(kind="file", name="", syntax=[tree], first=0, end=len(lines))
    _fill_container(file, tree.body, lines, floor=0)
    return file


def docstring_of(node: ast.AST) -> ast.Expr | None:
    """The statement that is the docstring of a module, class or function."""
    body = getattr(node, "body", None)
    if not isinstance(node, ast.Module | DefinitionNode) or not body:
        return None
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first if isinstance(first.value.value, str) else None
    return None


def first_line(node: ast.stmt) -> int:
    """First line of a statement from 0, decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return int(min([node.lineno, *(decorator.lineno for decorator in decorators)])) - 1


def end_line(node: ast.stmt) -> int:
    """The line behind a statement, from 0."""
    return node.end_lineno or node.lineno


def with_comments(first: int, lines: Sequence[str], *, floor: int) -> int:
    """Go up over comments of the same indentation that stand directly above a line."""
    indent = indent_of(lines[first])
    while (
        first > floor
        and lines[first - 1].lstrip().startswith("#")
        and indent_of(lines[first - 1]) == indent
    ):
        first -= 1
    return first


def is_import(node: ast.stmt) -> bool:
    """Whether a statement does nothing but import, on whatever condition."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Import | ast.ImportFrom | ast.Pass):
            continue
        inside = [inner for block in _blocks(one) for inner in block]
        if not inside:
            return False
        waiting.extend(inside)  # not by recursion: a chain of elif is as deep as it is long
    return True


def target_name(node: ast.stmt) -> str:
    """The one name that a statement assigns, or nothing."""
    targets: list[ast.expr]
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.Assign):
        targets = node.targets
    else:
        return ""
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""


def _fill(parent: Definition, body: Sequence[ast.stmt], lines: Sequence[str], floor: int) -> None:
    """Sort the statements of a body into members and own statements.

    A block on a condition that holds definitions is looked into, so that they are members too.
    """
    previous: ast.stmt | None = None
    for node in body:
        if isinstance(node, DefinitionNode):
            if isinstance(node, FunctionNode) and _continues(previous, node):
                parent.members[-1] = _extended(parent.members[-1], node, lines)
            else:
                parent.members.append(_definition(parent, node, lines, floor))
            floor = parent.members[-1].end
        elif _holds_definition(node):
            for block in _blocks(node):
                _fill(parent, block, lines, floor=first_line(node) + 1)
            floor = end_line(node)
        else:
            parent.own.append(node)
            floor = end_line(node)
        previous = node


def _definition(
    parent: Definition, node: DefinitionNode, lines: Sequence[str], floor: int
) -> Definition:
    definition = Definition(
        kind="class" if isinstance(node, ast.ClassDef) else "function",
        name=f"{parent.name}.{node.name}".lstrip("."),
        syntax=[node],
        first=with_comments(first_line(node), lines, floor=floor),
        end=_with_trailing_comments(node, lines),
    )
    if isinstance(node, ast.ClassDef):
        _fill_container(definition, node.body, lines, floor=node.lineno)
    return definition


def _extended(member: Definition, node: FunctionNode, lines: Sequence[str]) -> Definition:
    member.syntax = [*member.syntax, node]
    member.end = _with_trailing_comments(node, lines)
    return member


def _continues(previous: ast.stmt | None, node: FunctionNode) -> bool:
    """Whether a function goes on what stands above: an overload, or an accessor of a property."""
    if not isinstance(previous, FunctionNode) or previous.name != node.name:
        return False
    if any(_last_name(decorator) == "overload" for decorator in previous.decorator_list):
        return True
    return any(
        isinstance(decorator, ast.Attribute) and decorator.attr in _ACCESSORS
        for decorator in node.decorator_list
    )


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _with_trailing_comments(node: ast.stmt, lines: Sequence[str]) -> int:
    """Go down over comments that are indented deeper than the definition they end."""
    end = end_line(node)
    indent = indent_of(lines[node.lineno - 1])
    for index in range(end, len(lines)):
        text = lines[index].strip()
        if text.startswith("#") and indent_of(lines[index]) > indent:
            end = index + 1
        elif text:
            break
    return end


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement that runs other statements."""
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(node, name, None):
            yield block
    for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
        yield part.body


def _holds_definition(node: ast.stmt) -> bool:
    waiting = list(_blocks(node))
    while waiting:
        for inner in waiting.pop():
            if isinstance(inner, DefinitionNode):
                return True
            waiting.extend(_blocks(inner))
    return False


def _fill_container(
    container: Definition, body: Sequence[ast.stmt], lines: Sequence[str], floor: int
) -> None:
    """Fill a container, and make long statements members where there are others.

    Beside members an outline stands for the container, and it could not show them whole.
    """
    _fill(container, body, lines, floor)
    if not container.members:
        return
    ends = sorted([0, *(m.end for m in container.members), *map(end_line, container.own)])
    docstring = docstring_of(container.syntax[0])
    shown: list[ast.stmt] = []
    anonymous = 0
    for node in container.own:
        first, name = first_line(node), target_name(node)
        short = end_line(node) - first <= SHORT_BODY_LINES
        if short or node is docstring or is_import(node) or name == "__all__":
            shown.append(node)
            continue
        anonymous += not name
        floor = ends[bisect_right(ends, first) - 1]
        container.members.append(
            Definition(
                kind="code",
                name=f"{container.name}.{name or f'code-{anonymous}'}".lstrip("."),
                syntax=[node],
                first=with_comments(first, lines, floor=floor),
                end=end_line(node),
            )
        )
    container.own = shown
    container.members.sort(key=lambda member: member.first)
