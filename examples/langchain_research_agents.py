"""A research agent with two sub-agents, each handed a skeleton of what the parent knows.

Needs the extra `agents`. Runs offline with scripted models; with OPENAI_API_KEY or
ANTHROPIC_API_KEY set and the model's LangChain package installed, with real ones.
"""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_model import DOCUMENTS, chat_model

from acms_adapters.langchain import (
    ACMSContextMiddleware,
    ACMSRetriever,
    delegate_tool,
    receipt_of,
)


def main() -> None:
    """Let two children look at two sides of a question."""
    children = [
        delegate_tool(
            create_agent(
                chat_model(answer), [], system_prompt=role, middleware=[ACMSContextMiddleware()]
            ),
            name=name,
            description=f"{role} Give it one task.",
            tokens=60,
        )
        for name, role, answer in (
            ("ask_architect", "You judge designs.", "Redis keeps the web servers stateless."),
            ("ask_operator", "You judge operations.", "Servers are replaced one by one."),
        )
    ]
    pipeline = ACMSRetriever.from_texts(DOCUMENTS.values(), ids=list(DOCUMENTS)).pipeline
    parent = create_agent(
        chat_model(
            ("ask_architect", {"task": "Why are sessions kept in Redis?"}),
            ("ask_operator", {"task": "What happens to sessions in a deploy of servers?"}),
            "Sessions live in Redis, so replacing the servers does not end them.",
        ),
        children,
        system_prompt="Ask the architect and the operator, then sum up.",
        middleware=[ACMSContextMiddleware(pipeline, max_tokens=300)],
    )
    result = parent.invoke({"messages": "Do sessions outlive a deploy of the servers?"})
    for message in result["messages"]:
        if isinstance(message, ToolMessage) and (receipt := receipt_of(message)):
            sizes = f"{receipt.compressed_tokens} of {receipt.original_tokens} tokens"
            print(f"{message.name}: handed {sizes}\n  {message.text}")
    print(result["messages"][-1].text)


if __name__ == "__main__":
    main()
