"""The LlamaIndex examples run offline and show what they are about."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest


@pytest.mark.parametrize("output", ["llamaindex_query_engine"], indirect=True)
def test_a_query_engine_reads_what_fits_and_says_what_did_not(output: str) -> None:
    small, large = output.split("read ")[1:]
    sizes = [re.match(r"(\d+) of (\d+) tokens: ", part) for part in (small, large)]
    (read, budget), (more, room) = ((int(m[1]), int(m[2])) for m in sizes if m)
    assert 0 < read <= budget == 40
    assert read < more <= room
    assert "without" in small
    assert "without" not in large
    assert "a part of docs/deploy.md" in small or "without docs/deploy.md" in small
    assert "Yes: they live in Redis." in large


@pytest.mark.parametrize("output", ["llamaindex_memory_agent"], indirect=True)
def test_an_agent_with_a_memory_block_reads_for_each_turn_what_it_asks_about(output: str) -> None:
    for place, node in enumerate(("src/session.py", "src/limiter.py", "docs/deploy.md")):
        assert re.findall(r"read: (.*)", output)[place].startswith(node)
    assert "history: 6 messages" in output


@pytest.mark.parametrize("output", ["llamaindex_sub_agents"], indirect=True)
def test_sub_agents_are_handed_less_than_the_parent_knows(output: str) -> None:
    handed = re.findall(r"(\w+): handed (\d+) of (\d+) tokens", output)
    assert sorted(name for name, _, _ in handed) == ["architect", "operator"]
    assert all(0 < int(kept) <= 70 < int(known) for _, kept, known in handed)
    assert "Sessions live in Redis" in output.splitlines()[-1]


def test_with_a_key_the_examples_use_a_real_model(
    monkeypatch: pytest.MonkeyPatch, examples: Path
) -> None:
    pytest.importorskip("llama_index.llms.anthropic")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not a key")
    made = runpy.run_path(str(examples / "llamaindex_model.py"))["language_model"]("a line")
    assert type(made).__name__ == "Anthropic"
