"""An agent with two sub-agents at once, each handed a skeleton of what the parent knows.

Needs the extra `llama-index`. Runs offline with scripted models; with OPENAI_API_KEY or
ANTHROPIC_API_KEY set and the model's LlamaIndex package installed, with real ones.
"""

from __future__ import annotations

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llamaindex_model import language_model, text_nodes

from acms_adapters import ContextStore
from acms_adapters.llamaindex import ACMSFunctionAgent, delegate_tool

CHILDREN = (
    ("architect", "Judges designs.", "Redis keeps the web servers stateless."),
    ("operator", "Judges operations.", "Servers are replaced one by one."),
)
TASKS = {
    "architect": "Why are sessions kept in Redis?",
    "operator": "What happens to sessions in a deploy of servers?",
}


async def ask(store: ContextStore) -> None:
    """Let both children look at their side of a question."""
    tools = [
        delegate_tool(
            FunctionAgent(name=name, description=role, llm=language_model(answer)), tokens=70
        )
        for name, role, answer in CHILDREN
    ]
    parent = ACMSFunctionAgent(
        name="parent",
        system_prompt="Ask the architect and the operator, then sum up.",
        tools=tools,
        pipeline=store.pipeline(),
        max_tokens=400,
        llm=language_model(
            [(name, {"task": task}) for name, task in TASKS.items()],
            "Sessions live in Redis, so replacing the servers does not end them.",
        ),
    )
    result = await parent.run(user_msg="Do sessions outlive a deploy of the servers?")
    for call in result.tool_calls:
        delegated = call.tool_output.raw_output
        sizes = f"{delegated.receipt.compressed_tokens} of {delegated.receipt.original_tokens}"
        print(f"{call.tool_name}: handed {sizes} tokens\n  {delegated}")
    print(result)


def main() -> None:
    """Index the small project and ask."""
    with ContextStore.in_memory(embedder=None) as store:
        store.add_nodes(text_nodes())
        asyncio.run(ask(store))


if __name__ == "__main__":
    main()
