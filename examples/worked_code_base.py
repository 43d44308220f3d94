"""What the worked examples share: an indexed code base, and a look at what was assembled.

The code base is a part of the installed `chromadb`: who may do what (`auth`), its databases (`db`,
`segment`), its clients and their tests. Nothing of it is imported or run, only read.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from acms_adapters import ContextFragment, ContextPayload, ContextStore

PROJECT = "project://chroma"
PARTS = (
    "/auth/",
    "/db/",
    "/segment/impl/metadata/",
    "/api/async_client.py",
    "/api/async_fastapi.py",
    "/test/auth/",
    "/test/client/",
    "/test/db/",
)

console = Console(soft_wrap=True, markup=False, highlight=False, emoji=False)


def indexed_code_base() -> ContextStore:
    """Index it, in memory, in a few seconds; to be closed."""
    spec = importlib.util.find_spec("chromadb")
    if spec is None or spec.origin is None:
        raise SystemExit(
            "this example reads the code of chromadb: pip install 'acms-adapters[all]'"
        )
    store = ContextStore.in_memory()
    report = store.add_path(Path(spec.origin).parent, name="chroma", include=PARTS)
    console.print(report.summary())
    return store


def title(text: str) -> None:
    """Begin a part of the output."""
    console.print(Rule(text, align="left"))


def show(payload: ContextPayload, *, most: int = 12) -> None:
    """The figures of a payload, and its first fragments."""
    budget = payload.budget
    console.print(f"Fragments: {len(payload.fragments)}")
    console.print(f"Tokens: {payload.rendered_tokens} / {budget.available_tokens}")
    console.print(f"Budget used: {payload.budget_used:.1%}")
    console.print(f"Strategies: {', '.join(payload.strategies_used)}")
    for fragment in payload.fragments[:most]:
        console.print(f"  {line(fragment)}")
    if len(payload.fragments) > most:
        console.print(f"  and {len(payload.fragments) - most} more")
    console.print(f"Left out: {len(payload.ledger)}")


def line(fragment: ContextFragment) -> str:
    """A fragment in one line."""
    figures = f"depth {fragment.detail_depth}, {fragment.token_count:>4} tokens"
    kind = fragment.provenance.resource_type or "resource"
    return f"{figures}  {kind:<11}  {short(fragment.uko_node)}"


def short(uri: str) -> str:
    """The URI without the project it lies in."""
    return uri.removeprefix(f"{PROJECT}/")
