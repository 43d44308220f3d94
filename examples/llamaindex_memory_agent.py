"""An agent whose memory brings, at each turn, what the question needs, and nothing stays behind.

Needs the extra `llama-index`. Runs offline with a scripted model; with OPENAI_API_KEY or
ANTHROPIC_API_KEY set and the model's LlamaIndex package installed, with a real one.
"""

from __future__ import annotations

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import Memory
from llamaindex_model import language_model, text_nodes

from acms_adapters import ContextStore
from acms_adapters.llamaindex import ACMSMemoryBlock

TURNS = ("Where are sessions kept?", "How does the rate limiter count?", "How is a deploy done?")


async def talk(store: ContextStore) -> None:
    """Ask one thing after the other."""
    block = ACMSMemoryBlock(store=store, max_tokens=150)
    memory = Memory.from_defaults(token_limit=4_000, memory_blocks=[block])
    agent = FunctionAgent(
        llm=language_model("In Redis.", "By a token bucket.", "By pushing a tag."),
        system_prompt="Answer from the context.",
    )
    for question in TURNS:
        answer = await agent.run(user_msg=question, memory=memory)
        read = block.context.fragments if block.context else ()
        print(f"{question}\n  read: {', '.join(fragment.uko_node for fragment in read)}")
        print(f"  {answer}")
    history = await memory.aget_all()
    print(f"history: {len(history)} messages")


def main() -> None:
    """Index the small project and talk about it."""
    with ContextStore.in_memory(embedder=None) as store:
        store.add_nodes(text_nodes())
        asyncio.run(talk(store))


if __name__ == "__main__":
    main()
