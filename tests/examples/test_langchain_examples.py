"""The LangChain examples run offline and show what they are about."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest


@pytest.mark.parametrize("output", ["langchain_retriever_agent"], indirect=True)
def test_an_agent_with_a_retriever_reads_within_the_budget_of_each_run(output: str) -> None:
    read = [(int(a), int(b)) for a, b in re.findall(r"budget (\d+): read (\d+) tokens", output)]
    assert [budget for budget, _ in read] == [20, 80]
    assert all(0 < tokens <= budget for budget, tokens in read)
    assert read[0][1] < read[1][1]


@pytest.mark.parametrize("output", ["langchain_middleware_agent"], indirect=True)
def test_an_agent_with_middleware_reads_for_each_turn_what_it_asks_about(output: str) -> None:
    for place, node in enumerate(("session", "limiter", "deploy")):
        assert node in re.findall(r"read: (.*)", output)[place]
    assert "history: 6 messages" in output


@pytest.mark.parametrize("output", ["langchain_research_agents"], indirect=True)
def test_sub_agents_are_handed_less_than_the_parent_knows(output: str) -> None:
    handed = re.findall(r"(ask_\w+): handed (\d+) of (\d+) tokens", output)
    assert [name for name, _, _ in handed] == ["ask_architect", "ask_operator"]
    assert all(0 < int(kept) <= 60 < int(known) for _, kept, known in handed)


@pytest.mark.parametrize("output", ["langchain_chain"], indirect=True)
def test_a_chain_reads_within_its_budget_and_its_child_inherits(output: str) -> None:
    (tokens,) = re.findall(r"read (\d+) of 60 tokens", output)
    assert 0 < int(tokens) <= 60
    assert "adr/7" in re.findall(r"the child inherits (.*)", output)[0]


def test_with_a_key_the_examples_use_a_real_model(
    monkeypatch: pytest.MonkeyPatch, examples: Path
) -> None:
    pytest.importorskip("langchain_anthropic")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not a key")
    made = runpy.run_path(str(examples / "langchain_model.py"))["chat_model"]("a line")
    assert type(made).__name__ == "ChatAnthropic"
