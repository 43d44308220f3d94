"""What a payload looks like as tables."""

from __future__ import annotations

import io

from rich.console import Console

from acms_adapters import (
    ACMSPipeline,
    ContextFragment,
    ContextPayload,
    FragmentProvenance,
    StrategyFailure,
)
from acms_adapters.cli.tables import explanation, many


def printed(*fragments: ContextFragment) -> str:
    return shown(ACMSPipeline().assemble("plan", fragments, 40))


def shown(payload: ContextPayload) -> str:
    console = Console(file=io.StringIO(), width=120)
    for table in explanation(payload):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def found(node: str, words: int, by: str) -> ContextFragment:
    place = FragmentProvenance(resource_uri=node, strategy=by)
    return ContextFragment(uko_node=node, content=f"{node} " * words, provenance=place)


def test_what_had_no_room_stands_before_what_was_found_twice() -> None:
    text = printed(
        found("short", 4, "simple-keyword"),
        found("short", 4, "semantic-embedding"),
        found("long", 400, "simple-keyword"),
    )
    assert text.startswith("In: 1 fragment ")
    out = text.partition("Out: 2 candidates")[2]
    assert 0 < out.find("over_budget: needed") < out.find("duplicate: the same node, found once")


def test_what_failed_is_told_whether_a_strategy_or_one_of_its_searches() -> None:
    payload = ContextPayload(
        fragments=(),
        failures=(StrategyFailure(strategy="semantic", kind="timeout", message="too slow"),),
        strategy_stats={"walker": {"failed_searches": ["text: disk is gone"]}},
    )
    text = shown(payload).partition("Failed")[2]
    assert "too slow" in text
    assert "walker: text: disk is gone" in text
    assert "Failed" not in shown(ContextPayload(fragments=()))


def test_a_number_of_things_agrees_with_its_noun() -> None:
    assert [many(n, "fragment") for n in (0, 1, 2)] == ["0 fragments", "1 fragment", "2 fragments"]
