"""Writes the pages beside it from the code: `python docs/reference/generate.py`."""

from __future__ import annotations

import json
import re
import runpy
from itertools import groupby
from pathlib import Path
from typing import Any

from commands import commands_page
from components import components_page, models_page, strategies_page
from profiles import profiles_page
from pydantic import BaseModel

from acms_adapters import Settings, StrategyRegistry
from acms_adapters.config import facades
from acms_adapters.config.profiles import PROFILES
from acms_adapters.config.schema import Keys
from acms_adapters.models import StrategyOptions

PAGE = Path(__file__).parent / "configuration.md"
REQUIREMENTS_PAGE = PAGE.with_name("requirements.md")
REQUIREMENTS = Path(__file__).parents[2] / "tests" / "requirements" / "reading.py"

INTRO = """\
# Configuration

Written from the code by `docs/reference/generate.py`; `tests/test_reference.py` fails when it is
out of date.

The user's own file is `config.toml` in the folder `acms` of the platform's configuration folder
(`~/.config/acms/config.toml` on Linux). A project's `.acms/config.toml` lies over it key by key; a
list such as `enabled` is replaced whole. Unknown keys and values outside their range are errors
that name the file, the key and the near one. `Settings.load(project_dir)` reads both,
`Settings.from_mapping(tables)` takes the same tables from code, `set_project(project_dir, values)`
writes a project's file and keeps everything else in it.

Import paths in `[context.strategies.custom]` are honoured in the global file and from code; in a
project's file only with `trust=True` (`--trust`), because a cloned repository must not run code.

A strategy is enabled when it is in `enabled` and its own table does not say `enabled = false`.
A strategy that is named in a call or part of the fallback chain need not be enabled; a hint only
prefers one that is.

`profile = "spec"` is the defaults below to the letter. `profile = "tuned"`, the default, changes:
"""

REQUIREMENTS_INTRO = """\
# Requirements

Written from `tests/requirements` by `docs/reference/generate.py`. Tests name the ids that they
prove in their names or docstrings; `tests/test_requirements.py` fails when a requirement has no
test or a test names an unknown id. Seconds and memory are measured by `make bench`, which decides
no test.
"""


def page() -> str:
    """The text of the page."""
    changes = "\n".join(f"- `{k}` = {show(v)}" for k, v in PROFILES["tuned"].items())
    spec = Settings(profile="spec")
    keys = [name for name in Keys.model_fields if name not in ("custom", "tables")]
    parts = [INTRO, changes]
    for title, names in (
        ("[context]", [name for name in keys if name in facades.CONTEXT_KEYS]),
        ("[context.strategies]", [name for name in keys if name not in facades.CONTEXT_KEYS]),
    ):
        parts.append(f"\n## `{title}`\n\n{table(Keys, names, defaults=spec)}")
    parts.append(
        "\n## Facade names\n\nWhere code and files call one setting by two names:\n\n"
        + names_table()
    )
    parts.append(
        "\n## A table for each strategy\n\nEvery strategy, built in or not, has these keys in "
        '`[context.strategies."its-name"]`:\n\n'
        + table(StrategyOptions, list(StrategyOptions.model_fields))
    )
    registry = StrategyRegistry()
    for strategy in registry.all():
        if "'acms_strategies." not in registry.source(strategy.name):
            continue
        kind = type(strategy.options)
        own = [n for n in kind.model_fields if differs(kind, n)]
        parts.append(f"\n### `[context.strategies.{strategy.name}]`\n\n{table(kind, own)}")
    return "\n".join(parts).rstrip() + "\n"


def requirements_page() -> str:
    """The text of the page of requirements."""
    known = runpy.run_path(str(REQUIREMENTS))["requirements"]()
    parts = [REQUIREMENTS_INTRO]
    for document, listed in groupby(known, key=lambda one: one.document):
        parts.append(f"## {document}\n")
        for section, rows in groupby(listed, key=lambda one: one.section):
            lines = [f"| {one.id} | {one.behaviour} |" for one in rows]
            parts.append("\n".join([f"### {section}\n", "| id | |", "|---|---|", *lines, ""]))
    return "\n".join(parts)


def table(model: type[BaseModel], names: list[str], *, defaults: Any = None) -> str:
    """One row for each key of a model."""
    meanings = {**described(StrategyOptions), **described(model)}
    properties = model.model_json_schema()["properties"]
    rows = ["| key | default | values | |", "|---|---|---|---|"]
    for name in names:
        given = model.model_fields[name].default if defaults is None else getattr(defaults, name)
        values = bounds(properties[name])
        rows.append(f"| `{name}` | {show(given)} | {values} | {meanings.get(name, '')} |")
    return "\n".join(rows) + "\n"


def names_table() -> str:
    """Fields of the facades whose key has another name."""
    rows = ["| in code | in a file |", "|---|---|"]
    rows += [
        f"| `{facade}({field}=…)` | `{facades.dotted(key)}` |"
        for facade, names in facades.FACADES.items()
        for field, key in names.items()
        if field != key
    ]
    return "\n".join(rows) + "\n"


def described(model: type[BaseModel]) -> dict[str, str]:
    """What a docstring says of each attribute."""
    _, _, text = (model.__doc__ or "").partition("Attributes:\n")
    entries = re.findall(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", text, re.MULTILINE)
    return {name: re.sub(r"\s+", " ", said).replace("``", "`") for name, said in entries}


def differs(model: type[BaseModel], name: str) -> bool:
    """Whether a model adds a key, or has another default for one that all strategies have."""
    general = StrategyOptions.model_fields.get(name)
    return general is None or general.default != model.model_fields[name].default


def bounds(schema: dict[str, Any]) -> str:
    """The values a key may have."""
    variants = [variant for variant in schema.get("anyOf", [schema]) if variant != {"type": "null"}]
    return " or ".join(dict.fromkeys(map(bound, variants)))


def bound(schema: dict[str, Any]) -> str:
    """The same, for one kind of value."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {bound(schema['items'])}"
    if schema.get("type") == "object":
        return f"table of {bound(schema['additionalProperties'])}"
    least, most = schema.get("minimum"), schema.get("maximum")
    above = schema.get("exclusiveMinimum")
    kind = {"integer": "whole number", "number": "number", "boolean": "true, false"}.get(
        schema.get("type", ""), "text"
    )
    if least is not None and most is not None:
        return f"{kind} {least:g} to {most:,.15g}"
    if least is not None:
        return f"{kind} ≥ {least:g}"
    if above is not None:
        return f"{kind} > {above:g}" + (f", ≤ {most:,.15g}" if most is not None else "")
    return kind


def show(value: Any) -> str:
    """A default as TOML writes it."""
    if value is None:
        return "–"
    if isinstance(value, dict):
        return "`{" + ", ".join(f"{k} = {v}" for k, v in value.items()) + "}`"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


PAGES = {
    PAGE: page,
    REQUIREMENTS_PAGE: requirements_page,
    PAGE.with_name("command-line.md"): commands_page,
    PAGE.with_name("components.md"): components_page,
    PAGE.with_name("models.md"): models_page,
    PAGE.with_name("profiles.md"): profiles_page,
    PAGE.with_name("strategies.md"): strategies_page,
}
"""Each page and what makes it."""

if __name__ == "__main__":
    for path, make in PAGES.items():
        path.write_text(make(), encoding="utf-8")
