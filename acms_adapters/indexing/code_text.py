"""Pieces of code that come as documents: what they are called, declare and do."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from acms_adapters.indexing.kinds import PYTHON
from acms_adapters.indexing.lines import split_lines
from acms_adapters.indexing.prose import first_line_of
from acms_adapters.indexing.python import searched_fields
from acms_adapters.indexing.python_outline import DOCUMENTED, SIGNATURES, renderings_of
from acms_adapters.indexing.python_tree import Definition, parse, read_definitions

_LANGUAGES = (
    "bash c cc clj cpp cs cxx dart erl ex exs f90 go groovy h hh hpp hs java jl js jsx kt kts lua "
    "m mjs ml mm php pl ps1 py r rb rs scala sh sql swift ts tsx vue zig"
)
CODE = PYTHON | {f".{name}" for name in _LANGUAGES.split()}
"""Suffixes of files of code, in lower case."""

_QUALIFIED = re.compile(r"(?:::|#)(?P<name>[^:#\s][^\s]*)$")
_PLACEHOLDER = re.compile(r"<\w+>")


@dataclass(frozen=True, slots=True)
class CodeText:
    """What a piece of code is searched by.

    Attributes:
        names: The symbol, then its qualified name; empty when nobody says it.
        fields: Searched fields (ruling B9).
        renderings: Shorter texts, by depth.
    """

    names: tuple[str, ...]
    fields: Mapping[str, str]
    renderings: Mapping[int, str] = field(default_factory=dict)


def is_code(path: str) -> bool:
    """Whether a path is that of a file of code."""
    return PurePosixPath(path.replace("\\", "/")).suffix.lower() in CODE


def read_code(text: str, *, path: str, title: str = "", name: str = "") -> CodeText:
    """Read a piece of code, whole or cut anywhere.

    Args:
        text: The code; its first line may be the title.
        path: Of the file it stands in.
        title: What it is called; a qualified name behind ``::`` or ``#`` is taken from there.
        name: Its qualified name, where that is known.
    """
    heading, code = _without_title(text, title)
    definition, lines = _definition(code) if _is_python(path) else (None, [])
    name = name or _name_in(title) or (definition.name if definition else "")
    if definition is not None:
        fields = searched_fields(definition, lines)
        made = renderings_of(definition, lines)
        shorter = {depth: made[depth] for depth in (SIGNATURES, DOCUMENTED) if depth in made}
    else:
        first = first_line_of(code)
        fields = {"signature": first, "body": code}
        shorter = {SIGNATURES: first}
    symbol = name.rsplit(".", 1)[-1]
    return CodeText(
        names=tuple(dict.fromkeys(filter(None, (symbol, name)))),
        fields={"path": path, "name": name, **fields},
        renderings={0: heading or name, **{at: _below(heading, t) for at, t in shorter.items()}},
    )


def _is_python(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in PYTHON


def _without_title(text: str, title: str) -> tuple[str, str]:
    """The title, where the text begins with it, and the rest."""
    rest = text.removeprefix(title) if title else text
    return (title, rest.lstrip("\r\n")) if rest != text and rest[:1] in "\r\n" else ("", text)


def _below(heading: str, text: str) -> str:
    return f"{heading}\n{text}" if heading else text


def _name_in(title: str) -> str:
    found = _QUALIFIED.search(title.strip())
    return found["name"] if found and not _PLACEHOLDER.fullmatch(found["name"]) else ""


def _definition(code: str) -> tuple[Definition | None, list[str]]:
    """The one thing that Python code defines, else the code as a file; None if it is cut."""
    plain = textwrap.dedent(code)
    lines = split_lines(plain)
    try:
        file = read_definitions(parse(plain), lines)
    except (SyntaxError, RecursionError):
        return None, lines
    is_one = len(file.members) == 1 and not file.own
    return (file.members[0] if is_one else file), lines
