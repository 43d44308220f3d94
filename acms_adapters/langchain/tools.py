"""Retrieval as a tool of an agent."""

from __future__ import annotations

from collections.abc import Mapping

from langchain.tools import ToolRuntime
from langchain_core.documents import Document
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field, field_validator

from acms_adapters.errors import RequestError
from acms_adapters.langchain.retriever import ACMSRetriever


class Question(BaseModel):
    """What the model passes to the tool."""

    query: str = Field(description="What to look for, in words.")

    @field_validator("query")
    @classmethod
    def _says_something(cls, query: str) -> str:
        # what is refused here the agent tells its model, which asks again; an error ends the run
        if not query.strip():
            raise ValueError(f"the question is empty: {query!r}; ask something")
        return query


def retriever_tool(
    retriever: ACMSRetriever,
    *,
    name: str = "search_context",
    description: str = "Search the project's context for what answers a question.",
    budget: str = "context_tokens",
) -> BaseTool:
    """Make a retriever a tool whose budget may be set for each run of the agent.

    The model reads the documents' texts, joined by a blank line, which are within the budget
    (ruling A1); the documents are the artifact of the tool's message.

    Args:
        retriever: What searches; its `max_tokens` is the budget of runs that set none, and the
            most that a run can set.
        name: Name of the tool.
        description: When to use it.
        budget: Key or attribute of the run's context that holds the budget in tokens:
            ``agent.invoke(..., context={"context_tokens": 500})``.
    """

    # outside an agent nobody passes a runtime; as an optional type it would not be passed inside
    def search(
        query: str,
        runtime: ToolRuntime = None,  # type: ignore[assignment]
    ) -> tuple[str, list[Document]]:
        documents = retriever.invoke(query, max_tokens=tokens(runtime))
        return _read(documents), documents

    async def asearch(
        query: str,
        runtime: ToolRuntime = None,  # type: ignore[assignment]
    ) -> tuple[str, list[Document]]:
        documents = await retriever.ainvoke(query, max_tokens=tokens(runtime))
        return _read(documents), documents

    def tokens(runtime: ToolRuntime | None) -> int:
        context: object = runtime.context if runtime is not None else None
        if isinstance(context, Mapping):
            found = context.get(budget)
        else:
            found = getattr(context, budget, None)
        if found is None:
            return retriever.max_tokens
        if type(found) is not int or found < 1:
            raise RequestError(f"{budget} must be a whole number >= 1, not {found!r}")
        return min(found, retriever.max_tokens)

    return StructuredTool.from_function(
        func=search,
        coroutine=asearch,
        name=name,
        description=description,
        args_schema=Question,
        response_format="content_and_artifact",
    )


def _read(documents: list[Document]) -> str:
    text = "\n\n".join(document.page_content for document in documents)
    return text or "Nothing was found."  # some providers refuse an empty message
