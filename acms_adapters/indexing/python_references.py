"""What Python code imports, calls and inherits (ruling I2).

A name is followed through the imports, definitions and bases of its own file. What lies beyond is a
reference: a dotted path where the import says which, else the bare symbol, which only counts if
one node of the whole index has it.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acms_adapters.indexing.python_tree import Definition, FunctionNode
from acms_adapters.indexing.source import SourceText
from acms_adapters.models import Edge, Reference

_BUILTINS = frozenset(dir(builtins))
_EVERYDAY = frozenset(  # methods of the built-in types say nothing about who is called
    name for kind in (str, bytes, list, dict, set, tuple, int, float, Path) for name in dir(kind)
) | {"close", "read", "write", "flush", "open", "send", "put", "run", "set", "main", "setdefault"}
_SELF = ("self", "cls", "super()")

Target = Edge | Reference


def ties_of(
    file: Definition, source: SourceText, uris: Mapping[int, str]
) -> tuple[list[Edge], list[Reference]]:
    """Edges and references of everything a file defines.

    Args:
        uris: URI of each definition by its `id()`.
    """
    reader = _Reader(source=source, uris=uris)
    reader.learn(file)
    found: dict[Target, None] = {}
    for definition, owner in _with_owner(file):
        found.update(dict.fromkeys(reader.ties(definition, owner)))
    edges = [tie for tie in found if isinstance(tie, Edge) and tie.source != tie.target]
    return edges, [tie for tie in found if isinstance(tie, Reference)]


def _with_owner(
    definition: Definition, owner: Definition | None = None
) -> Iterator[tuple[Definition, Definition | None]]:
    """Each definition with the class it stands in."""
    yield definition, owner
    inner = definition if definition.kind == "class" else None
    for member in definition.members:
        yield from _with_owner(member, inner)


@dataclass(slots=True, kw_only=True)
class _Reader:
    """Knows the names of one file."""

    source: SourceText
    uris: Mapping[int, str]
    defined: dict[str, str] = field(default_factory=dict)
    classes: dict[str, Definition] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)

    def learn(self, file: Definition) -> None:
        for definition, _ in _with_owner(file):
            self.defined.setdefault(definition.name, self.uris[id(definition)])
            if definition.kind == "class":
                self.classes.setdefault(definition.name, definition)
        self.imports |= self._imported(_Seen.of(file.own).imports)

    def ties(self, definition: Definition, owner: Definition | None) -> Iterator[Target]:
        uri = self.uris[id(definition)]
        seen = _Seen.of(_roots(definition))
        scope = self.imports
        if definition.kind == "function":
            scope = {name: path for name, path in scope.items() if name not in seen.names}
            scope |= dict.fromkeys(seen.names, "") | self._imported(seen.imports)
        for path in self._import_paths(seen.imports):
            yield Reference(source=uri, name=path, relation="imports")
        for base in self._bases(definition):
            yield from self._tie(uri, base, "inherits", owner, self.imports)
        for node in [*seen.called, *_decorators(definition)]:
            yield from self._tie(uri, _chain(node), "calls", owner or definition, scope)

    def _tie(
        self,
        uri: str,
        chain: Sequence[str],
        relation: str,
        owner: Definition | None,
        scope: Mapping[str, str],
    ) -> Iterator[Target]:
        for name, known in self._resolve(chain, owner, scope):
            if known:
                yield Edge(source=uri, target=name, relation=relation)
            else:
                yield Reference(source=uri, name=name, relation=relation)

    def _resolve(
        self, chain: Sequence[str], owner: Definition | None, scope: Mapping[str, str]
    ) -> Iterator[tuple[str, bool]]:
        """Pairs of a URI and True, or of a name to be looked up and False."""
        if not chain:
            return
        head, *rest = chain
        if head in _SELF and len(rest) == 1 and owner is not None:
            yield from self._attribute(owner, rest[0], own=head != "super()")
        elif scope.get(head):
            path = ".".join([scope[head], *rest])
            if not _is_foreign(path):
                yield path, False
        elif head not in scope and (uri := self.defined.get(".".join(chain))):
            yield uri, True
        elif head not in scope and head in self.classes and len(rest) == 1:
            yield from self._attribute(self.classes[head], rest[0], own=True)
        elif (rest or (head not in scope and head not in _BUILTINS)) and _tells(chain[-1]):
            yield chain[-1], False

    def _attribute(
        self, owner: Definition, name: str, *, own: bool, seen: set[str] | None = None
    ) -> Iterator[tuple[str, bool]]:
        """Where an attribute of a class is defined: there, or in each base that has it first.

        Args:
            seen: Classes that were asked; there are many ways to one that bases have in common.
        """
        seen = {owner.name} if seen is None else seen
        if own and (uri := self.defined.get(f"{owner.name}.{name}")):
            yield uri, True
            return
        for base in self._bases(owner):
            path = ".".join(base)
            if base[0] in self.imports:
                path = ".".join([self.imports[base[0]], *base[1:]])
                if not _is_foreign(path):
                    yield f"{path}.{name}", False
            elif path in self.classes and path not in seen:
                seen.add(path)
                yield from self._attribute(self.classes[path], name, own=True, seen=seen)

    def _bases(self, definition: Definition) -> list[list[str]]:
        if definition.kind != "class":
            return []
        bases = [base for node in definition.syntax for base in getattr(node, "bases", [])]
        chains = [_chain(base.value if isinstance(base, ast.Subscript) else base) for base in bases]
        return [chain for chain in chains if chain]

    def _imported(self, imports: Iterable[ast.Import | ast.ImportFrom]) -> dict[str, str]:
        """What each imported name stands for, as a dotted path."""
        table = {}
        for node in imports:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.split(".")[0]
                    table[alias.asname or top] = alias.name if alias.asname else top
            else:
                module = self._module(node)
                for alias in node.names:
                    table[alias.asname or alias.name] = f"{module}.{alias.name}".lstrip(".")
        return table

    def _import_paths(self, imports: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[str]:
        """Dotted paths that are imported: the module, and what is taken from it."""
        for node in imports:
            if isinstance(node, ast.Import):
                paths = [alias.name for alias in node.names]
            else:
                module = self._module(node)
                names = [alias.name for alias in node.names if alias.name != "*"]
                paths = [module, *(f"{module}.{name}".lstrip(".") for name in names)]
            yield from (path for path in paths if path and not _is_foreign(path))

    def _module(self, node: ast.ImportFrom) -> str:
        """Absolute path of the module a `from … import` names."""
        if not node.level:
            return node.module or ""
        package = self.source.module.split(".") if self.source.module else []
        up = node.level - 1 if self.source.is_package else node.level
        package = package[: max(0, len(package) - up)]
        return ".".join([*package, *([node.module] if node.module else [])])


@dataclass(slots=True)
class _Seen:
    """What stands in some syntax.

    Attributes:
        names: Arguments and local names, which hide what the file knows by that name.
    """

    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    called: list[ast.expr] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, roots: Sequence[ast.AST]) -> _Seen:
        seen = cls()
        for root in roots:
            for node in ast.walk(root):
                if isinstance(node, ast.Name):
                    if isinstance(node.ctx, ast.Store):
                        seen.names.add(node.id)
                elif isinstance(node, ast.Call):
                    seen.called.append(node.func)
                elif isinstance(node, ast.arg):
                    seen.names.add(node.arg)
                elif isinstance(node, ast.Import | ast.ImportFrom):
                    seen.imports.append(node)
                elif isinstance(node, FunctionNode) and node is not root:
                    seen.names.add(node.name)
        return seen


def _roots(definition: Definition) -> Sequence[ast.AST]:
    """Syntax that speaks for a definition itself, not for its members."""
    if definition.kind == "file":
        return definition.own
    if definition.kind == "class":
        return [*definition.own, *_decorators(definition)]
    return definition.syntax


def _decorators(definition: Definition) -> list[ast.expr]:
    return [found for node in definition.syntax for found in getattr(node, "decorator_list", [])]


def _chain(node: ast.expr) -> list[str]:
    """`a.b.c` as its names; what is reached through a call or an index begins with nothing."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        names.append(node.id)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        names.append("super()")
    elif names:
        names.append("")
    return names[::-1]


def _is_foreign(path: str) -> bool:
    return path.split(".")[0] in sys.stdlib_module_names


def _tells(name: str) -> bool:
    """Whether a bare symbol is worth looking up."""
    return len(name) > 2 and not name.startswith("__") and name not in _EVERYDAY
