"""An agent that stays within its window: one line of middleware, several turns.

Needs the extra `agents`. Runs offline with a scripted model; with OPENAI_API_KEY or
ANTHROPIC_API_KEY set and the model's LangChain package installed, with a real one.
"""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_model import DOCUMENTS, chat_model
from langgraph.checkpoint.memory import InMemorySaver

from acms_adapters import ContextPayload
from acms_adapters.langchain import ACMSContextMiddleware, ACMSRetriever

QUESTIONS = (
    "Where are sessions kept?",
    "How are clients slowed down?",
    "How is a new version deployed?",
)


def main() -> None:
    """Ask three questions in one conversation and show what was read for each."""
    pipeline = ACMSRetriever.from_texts(DOCUMENTS.values(), ids=list(DOCUMENTS)).pipeline
    model = chat_model("In Redis, for a day.", "By a token bucket each.", "By pushing a tag.")
    agent = create_agent(
        model,
        [],
        system_prompt="Answer in one sentence.",
        middleware=[ACMSContextMiddleware(pipeline, max_tokens=120, window=2_000)],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "example"}}
    for question in QUESTIONS:
        answer = agent.invoke({"messages": question}, thread)["messages"][-1].text
        state = agent.get_state(thread).values
        context = ContextPayload.model_validate_json(state["acms_context"])
        nodes = ", ".join(fragment.uko_node for fragment in context.fragments)
        print(f"{question}\n  read: {nodes}\n  {answer}")
    history = agent.get_state(thread).values["messages"]
    print(f"history: {len(history)} messages, none of them context")


if __name__ == "__main__":
    main()
