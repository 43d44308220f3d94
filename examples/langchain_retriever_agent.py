"""An agent that looks things up, within a budget that is set for each run.

Needs the extra `agents`. Runs offline with a scripted model; with OPENAI_API_KEY or
ANTHROPIC_API_KEY set and the model's LangChain package installed, with a real one.
"""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_model import DOCUMENTS, chat_model

from acms_adapters import token_counter
from acms_adapters.langchain import ACMSRetriever, retriever_tool


def main() -> None:
    """Ask one question twice, with a small budget and with a larger one."""
    retriever = ACMSRetriever.from_texts(DOCUMENTS.values(), ids=list(DOCUMENTS), max_tokens=500)
    for tokens in (20, 80):
        model = chat_model(
            ("search_context", {"query": "where are sessions kept?"}),
            "Sessions are kept in Redis and expire after a day.",
        )
        agent = create_agent(model, [retriever_tool(retriever)], context_schema=dict)
        result = agent.invoke(
            {"messages": "Where are sessions kept? Search before you answer."},
            context={"context_tokens": tokens},
        )
        for message in result["messages"]:
            if isinstance(message, ToolMessage):
                read = token_counter().count(str(message.text))
                names = ", ".join(document.id for document in message.artifact)
                print(f"budget {tokens}: read {read} tokens of {names}")
        print(f"  {result['messages'][-1].text}")


if __name__ == "__main__":
    main()
