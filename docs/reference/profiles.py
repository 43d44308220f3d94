"""Writes profiles.md: what profiles change, and where facades and files differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components import NOTE
from describing import Option, options

from acms_adapters import (
    CoordinatorConfig,
    FusionConfig,
    ScorerWeights,
    Settings,
)
from acms_adapters.config import facades
from acms_adapters.config.profiles import PROFILES, REASONS
from acms_adapters.pipeline import PreambleGenerator, SkeletonCompressor

CLASSES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        CoordinatorConfig,
        FusionConfig,
        ScorerWeights,
        PreambleGenerator,
        SkeletonCompressor,
    )
}

DIFFERENCES: Mapping[str, str] = {
    "min_useful_budget": "Two documented defaults for one thing: that of the facade and that of "
    "the file (ruling S6).",
    "reserve": "Nothing is lost where a caller hands both parts on; `profile` decides for a file "
    "(ruling S3).",
    "tier_priority": "By itself the engine goes by relevance; tiers come first only in the "
    "pipeline (ruling F3).",
    "order": "By itself the engine keeps the packing order.",
}
"""Field of a facade whose default is another one than its key's: the reason."""

INTRO = f"""\
# Profiles and names

{NOTE}
## What tuned changes

`profile = "spec"` is the documented behaviour to the letter. `profile = "tuned"`, the default,
starts there and changes what measuring has shown to help:

"""

NAMES = """
## Facade names and file keys

A setting is a key of a file and a field of a facade; both read and check it alike. Ranges are in
[configuration](configuration.md).

"""

DEFAULTS = """
## Defaults that differ

A facade made in code without arguments has the defaults below; a pipeline takes those of the
configuration.

"""


def profiles_page() -> str:
    """The text of the page."""
    spec = Settings(profile="spec")
    changes = ["| key | `spec` | `tuned` | why |", "|---|---|---|---|"]
    for key, value in PROFILES["tuned"].items():
        changes.append(f"| `{key}` | {toml(getattr(spec, key))} | {toml(value)} | {REASONS[key]} |")
    names = ["| in code | in a file |", "|---|---|"]
    names += [f"| `{name}({o.name}=…)` | `{facades.dotted(key)}` |" for name, o, key in fields()]
    differ = ["| in code | by itself | in a file | why |", "|---|---|---|---|"]
    for name, option, key in fields():
        own, file = option.default, toml(getattr(spec, key))
        if alike(own) != alike(file):
            why = DIFFERENCES[option.name]
            differ.append(f"| `{name}({option.name}=…)` | {own} | {file} | {why} |")
    differ.append(
        f"| `FusionConfig(scorer_weights=…)` | – | `{weights(spec)}` | By itself the engine goes "
        "by relevance alone; the pipeline weighs (ruling F2). |"
    )
    differ.append(
        f"| `ContextBudget(reserved_tokens=…)` | `0` | {toml(spec.reserved_tokens)} | Who names a "
        "number of tokens means all of them (ruling S3). |"
    )
    tables = (INTRO, changes, NAMES, names, DEFAULTS, differ)
    return "".join(t if isinstance(t, str) else "\n".join(t) + "\n" for t in tables)


def fields() -> Iterator[tuple[str, Option, str]]:
    """Each field of a facade that a key sets."""
    for name, keys in facades.FACADES.items():
        for option in options(CLASSES[name]):
            if option.name in keys:
                yield name, option, keys[option.name]


def weights(settings: Settings) -> str:
    """The scorer's weights, in their order."""
    values = (f"{name} {getattr(settings, key):g}" for name, key in facades.SCORER.items())
    return ", ".join(values)


def toml(value: Any) -> str:
    """A value as a file has it."""
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        return "`{" + ", ".join(f"{k} = {v:g}" for k, v in value.items()) + "}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`[{', '.join(map(_bare, value))}]`"
    return f"`{_bare(value)}`"


def alike(shown: str) -> str:
    """A value without what is notation: ``(1, 2)`` in code is ``[1, 2]`` in a file."""
    return shown.lower().translate(str.maketrans("([", "[[")).replace(")", "]")


def _bare(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return f'"{value}"' if isinstance(value, str) else str(value)
