"""A small project to ask about: documents, links, a plan and what was decided in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from acms_adapters.models import ContextRequest, Decision, Edge, Plan, PlanContext
from acms_adapters.protocols import BackendSet
from acms_adapters.testing.plain import (
    PlainCounter,
    PlainEmbedder,
    PlainGraph,
    PlainText,
    PlainVectors,
)
from acms_adapters.testing.plain_temporal import PlainTemporal
from acms_adapters.testing.suite import document

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)

_ROOT = "project://harbour"
_TEXTS = {
    "src/lamp.py": "def light_lamp(fuel):\n    return Beam(fuel)  # the lighthouse lamp",
    "src/fuel.py": "def fill_tank(litres):\n    return litres  # fuel of the lighthouse",
    "src/beam.py": "class Beam:\n    def turn(self):\n        return light_lamp(self.fuel)",
    "tests/test_lamp.py": "def test_the_lamp_lights():\n    assert light_lamp(1)",
    "docs/keeping.md": "# Keeping\n\nThe keeper lights the lighthouse lamp at dusk.",
    "docs/tides.md": "# Tides\n\nHigh water comes twice a day.",
}
_LINKS = (
    ("src/lamp.py", "src/beam.py", "calls"),
    ("src/beam.py", "src/lamp.py", "calls"),
    ("src/lamp.py", "src/fuel.py", "imports"),
    ("tests/test_lamp.py", "src/lamp.py", "imports"),
    ("docs/keeping.md", "docs/tides.md", "links"),
    ("docs/keeping.md", "src/lamp.py", "links"),
)
_TYPES = {"src": "source_file", "tests": "test", "docs": "document"}


def sample_backends() -> BackendSet:
    """Everything a strategy may ask, filled with a project of six files."""
    documents = [
        document(
            f"{_ROOT}/{path}",
            text,
            resource_type=_TYPES[path.partition("/")[0]],
            created_at=NOW - timedelta(days=index),
        )
        for index, (path, text) in enumerate(_TEXTS.items())
    ]
    edges = [
        Edge(source=f"{_ROOT}/{source}", target=f"{_ROOT}/{target}", relation=relation)
        for source, target, relation in _LINKS
    ]
    embedder = PlainEmbedder()
    return BackendSet(
        text=PlainText(documents),
        vector=PlainVectors(documents, embedder.embed_documents(list(_TEXTS.values()))),
        graph=PlainGraph(documents, edges),
        temporal=_past(),
        counter=PlainCounter(),
        embedder=embedder,
        now=NOW,
    )


def sample_request() -> ContextRequest:
    """A question that each kind of strategy can answer from the sample."""
    return ContextRequest(
        query="who lights the lighthouse lamp?",
        focus_nodes=[f"{_ROOT}/src/lamp.py"],
        breadth=2,
        depth=1,
        plan_id="repair",
        plan_context=PlanContext(plan_id="repair", parent_id="season", ancestors=("season",)),
        temporal_window="all",
    )


def _past() -> PlainTemporal:
    past = PlainTemporal(lambda: NOW)
    for plan, parent, text in (
        ("season", None, "Burn whale oil no more: the lamp gets a new fuel."),
        ("survey", "season", "Measure the tides from the lighthouse every hour."),
        ("repair", "season", "Turn the beam of the lamp by clockwork."),
    ):
        decided = NOW - timedelta(days=50)
        decision = Decision(
            plan_id=plan,
            text=text,
            decision_id=f"{plan}-1",
            nodes=(f"{_ROOT}/src/lamp.py",),
            decided_at=decided,
        )
        past.record(Plan(title=plan, plan_id=plan, parent=parent, created_at=decided))
        past.record(decision)
    past.archive("survey")
    return past
