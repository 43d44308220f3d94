"""A real index, a real query engine, and what the model was sent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Settings, VectorStoreIndex, get_response_synthesizer
from llama_index.core.base.llms.types import (
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.llms.mock import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import BaseSynthesizer, CompactAndRefine
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.schema import Document, QueryBundle
from pydantic import PrivateAttr

import acms_adapters
from acms_adapters import BudgetError, token_counter
from acms_adapters.backends.embedders import CharacterFrequencyEmbedder
from acms_adapters.llamaindex import ACMSNodePostprocessor, budget_for

QUESTION = "How are fragments scored, and what happens to duplicates?"
BUDGETS = [64, 100, 128, 256, 512, 777, 1024, 2048, 4096, 8192]


class Reader(MockLLM):
    """Answers "noted." and keeps what it was sent."""

    window: int = 16_384
    answer_tokens: int = 256
    _prompts: list[str] = PrivateAttr(default_factory=list)

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        for name, value in fields.items():
            setattr(self, name, value)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(
            context_window=self.window,
            num_output=self.answer_tokens,
            is_chat_model=bool(self.is_chat_model),
        )

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self._prompts.append(prompt)
        return CompletionResponse(text="noted.")


class Letters(BaseEmbedding):
    """Embeds by letters, without a model."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(CharacterFrequencyEmbedder().embed_query(text))

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


@pytest.fixture(scope="session")
def index() -> VectorStoreIndex:
    """The library's own pipeline, in chunks of 512 tokens with their file's name."""
    folder = Path(acms_adapters.__file__).parent / "pipeline"
    documents = [
        Document(text=file.read_text(encoding="utf-8"), metadata={"file_name": file.name})
        for file in sorted(folder.glob("*.py"))
    ]
    return VectorStoreIndex.from_documents(
        documents,
        embed_model=Letters(),
        transformations=[SentenceSplitter(chunk_size=512, chunk_overlap=20)],
    )


def ask(index: VectorStoreIndex, synthesizer: BaseSynthesizer, **fields: Any) -> Any:
    engine = RetrieverQueryEngine(
        retriever=index.as_retriever(similarity_top_k=40),
        response_synthesizer=synthesizer,
        node_postprocessors=[ACMSNodePostprocessor(**fields)],
    )
    return engine.query(QUESTION)


def tokens(text: str) -> int:
    return token_counter().count(text)


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_prompt_is_within_the_window_at_every_budget(
    index: VectorStoreIndex, budget: int
) -> None:
    llm = Reader()
    response = ask(index, get_response_synthesizer(llm), max_tokens=budget)
    (prompt,) = llm._prompts
    head, tail = (
        get_response_synthesizer(llm)
        ._text_qa_template.format(query_str=QUESTION, context_str="<nodes>")
        .split("<nodes>")
    )
    context = prompt.removeprefix(head).removesuffix(tail)
    assert len(context) == len(prompt) - len(head) - len(tail)
    assert tokens(context) <= budget
    assert tokens(prompt) <= llm.window - llm.answer_tokens
    assert response.source_nodes
    assert all(node.node.get_content("llm").strip() in prompt for node in response.source_nodes)
    assert tokens(context) >= 0.6 * budget


@pytest.mark.parametrize("window", [1_200, 2_000, 4_096, 8_192, 16_384])
@pytest.mark.parametrize("mode", ["compact", "tree_summarize", "compact_accumulate"])
def test_what_fits_the_budget_for_a_synthesizer_takes_exactly_one_call(
    index: VectorStoreIndex, mode: str, window: int
) -> None:
    llm = Reader(window=window)
    synthesizer = get_response_synthesizer(llm, response_mode=mode)
    budget = budget_for(synthesizer, QUESTION)
    ask(index, synthesizer, max_tokens=budget)
    (prompt,) = llm._prompts
    assert tokens(prompt) <= window - llm.answer_tokens
    assert budget > window - llm.answer_tokens - 800


def test_more_than_that_budget_takes_another_call(index: VectorStoreIndex) -> None:
    llm = Reader(window=2_000)
    synthesizer = get_response_synthesizer(llm)
    ask(index, synthesizer, max_tokens=budget_for(synthesizer, QUESTION) + 200)
    assert len(llm._prompts) > 1


def test_the_padding_of_a_synthesizer_is_respected(index: VectorStoreIndex) -> None:
    llm = Reader(window=2_000)
    wide, narrow = CompactAndRefine(llm=llm, response_padding_size=5), CompactAndRefine(llm=llm)
    assert budget_for(wide, QUESTION) == budget_for(narrow, QueryBundle(QUESTION)) + 495
    ask(index, wide, max_tokens=budget_for(wide, QUESTION))
    assert len(llm._prompts) == 1


def test_asynchronous_queries_do_the_same(index: VectorStoreIndex) -> None:
    llm = Reader(window=2_000)
    synthesizer = get_response_synthesizer(llm)
    engine = RetrieverQueryEngine(
        retriever=index.as_retriever(similarity_top_k=40),
        response_synthesizer=synthesizer,
        node_postprocessors=[ACMSNodePostprocessor(max_tokens=budget_for(synthesizer, QUESTION))],
    )
    asyncio.run(engine.aquery(QUESTION))
    assert len(llm._prompts) == 1


def test_a_multimodal_synthesizer_has_a_budget_too() -> None:
    llm = Reader(is_chat_model=True)
    synthesizer = get_response_synthesizer(llm, multimodal=True)
    assert 14_000 < budget_for(synthesizer, QUESTION) < 16_000


def test_a_window_without_room_is_an_error_that_says_so() -> None:
    for window in (260, 300):
        synthesizer = get_response_synthesizer(Reader(window=window))
        with pytest.raises(BudgetError, match="no room"):
            budget_for(synthesizer, QUESTION)


def test_what_is_no_synthesizer_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="pass max_tokens yourself"):
        budget_for(object(), QUESTION)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pass max_tokens yourself"):
        budget_for(NoText(llm=Reader()), QUESTION)


def test_nothing_here_needs_the_global_settings() -> None:
    assert Settings._llm is None
    assert Settings._embed_model is None
