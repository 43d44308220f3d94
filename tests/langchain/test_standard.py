"""LangChain's own suites."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_tests.integration_tests import RetrieversIntegrationTests

from acms_adapters.langchain import ACMSRetriever


class TestACMSRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> Any:
        return ACMSRetriever.from_documents

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        documents = [
            Document(page_content=f"Fact number {n}: the {animal} sleeps at night.")
            for n, animal in enumerate(("cat", "dog", "owl", "bat", "cow"))
        ]
        return {"documents": documents, "max_tokens": 2000}

    @property
    def retriever_query_example(self) -> str:
        return "Which animal sleeps?"
