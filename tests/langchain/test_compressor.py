"""The LangChain document compressor."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from acms_adapters import token_counter
from acms_adapters.langchain import ACMSDocumentCompressor, ACMSRetriever

Compress = Callable[..., list[Document]]


@pytest.fixture(params=["sync", "async"])
def compress(request: pytest.FixtureRequest) -> Compress:
    def run(compressor: Any, documents: Sequence[Document], query: str = "?") -> list[Document]:
        if request.param == "sync":
            return list(compressor.compress_documents(documents, query))
        return list(asyncio.run(compressor.acompress_documents(documents, query)))

    return run


def numbered(count: int, **metadata: Any) -> list[Document]:
    return [
        Document(id=str(n), page_content=f"text number {n}", metadata=dict(metadata))
        for n in range(count)
    ]


def joined(documents: Sequence[Document]) -> str:
    return "\n\n".join(document.page_content for document in documents)


TWO = token_counter().count(joined(numbered(3))) - 1
"""Room for two of the numbered ones, and not for three."""


def test_what_fits_is_kept_in_the_order_it_came_with_ids_and_metadata_a1(
    compress: Compress,
) -> None:
    given = numbered(9, source="a.txt", nested={"list": [1, None]})
    before = copy.deepcopy(given)
    kept = compress(ACMSDocumentCompressor(max_tokens=20), given)
    assert kept == given[: len(kept)]
    assert 0 < len(kept) < 9
    assert token_counter().count(joined(kept)) <= 20
    kept[0].metadata["nested"]["list"].append(2)
    assert given == before


def test_the_best_are_kept_by_their_scores_and_not_by_their_places(compress: Compress) -> None:
    given = numbered(4)
    for document, score in zip(given, (-3.0, 8.0, 2.0, 5.0), strict=True):
        document.metadata["relevance_score"] = score
    kept = compress(ACMSDocumentCompressor(max_tokens=TWO), given)
    assert [document.id for document in kept] == ["1", "3"]
    kept = compress(ACMSDocumentCompressor(max_tokens=TWO, order="relevance"), given[::-1])
    assert [document.id for document in kept] == ["1", "3"]


@pytest.mark.parametrize("metadata", [{}, {"relevance_score": 0.5}])
def test_what_answers_the_question_is_kept_before_what_stands_a_little_higher(
    compress: Compress, metadata: dict[str, Any]
) -> None:
    texts = ["Nothing of note. " * 10] * 20
    texts[8] = "Barns are painted red with iron oxide. " * 5
    given = [
        Document(id=str(n), page_content=f"{text} {'here ' * n}", metadata=metadata)
        for n, text in enumerate(texts)
    ]
    asked = "Why are barns painted red?"
    kept = compress(ACMSDocumentCompressor(max_tokens=150), given, asked)
    assert [document.id for document in kept] == ["0", "1", "8"]
    assert [document.metadata for document in kept] == [metadata] * 3
    trusting = ACMSDocumentCompressor(max_tokens=150, ranking="given")
    assert "8" not in [document.id for document in compress(trusting, given, asked)]


def test_a_title_tells_what_a_document_is_about(compress: Compress) -> None:
    given = [
        Document(id=str(n), page_content="Nothing of note. " * 10 + "here " * n) for n in range(20)
    ]
    given[8].metadata["title"] = "Red barns"
    kept = compress(ACMSDocumentCompressor(max_tokens=170), given, "Why are barns red?")
    assert "8" in [document.id for document in kept]


def test_what_does_not_fit_is_passed_over_and_a_smaller_one_behind_it_kept_f3(
    compress: Compress,
) -> None:
    given = [
        Document(page_content="word " * 80),
        Document(page_content="alpha " * 10),
        Document(page_content="beta " * 10),
    ]
    kept = compress(ACMSDocumentCompressor(max_tokens=40), given)
    assert joined(kept).count("alpha") == joined(kept).count("beta") == 10


def test_k_is_an_upper_bound_a1(compress: Compress) -> None:
    assert len(compress(ACMSDocumentCompressor(max_tokens=1000, k=2), numbered(5))) == 2


def test_where_nothing_fits_whole_an_outline_is_shown_f6(compress: Compress) -> None:
    text = "\n\n".join(f"Part {n} opens with this. " + "More of it. " * 60 for n in range(9))
    given = Document(id="long", page_content=text, metadata={"source": "long.txt"})
    (kept,) = compress(ACMSDocumentCompressor(max_tokens=200), [given])
    assert kept.id == "long"
    assert "Part 0 opens with this." in kept.page_content
    assert kept.metadata["source"] == "long.txt"
    assert kept.metadata["acms"]["detail_depth"] < 9
    assert token_counter().count(kept.page_content) <= 200


def test_a_document_of_which_nothing_fits_is_left_out_with_its_reason_a5() -> None:
    compressor = ACMSDocumentCompressor(max_tokens=3)
    given = [Document(page_content="word " * 500), Document(page_content="", id="empty")]
    assert compressor.compress_documents(given, "?") == []
    entries = compressor.explain(given).ledger.entries
    assert {entry.fragment_id: entry.reason.value for entry in entries} == {
        "0": "over_budget",
        "1": "empty",
    }


def test_copies_are_folded_and_texts_that_share_an_id_are_not_f1_f8(compress: Compress) -> None:
    given = [
        Document(id="a", page_content="one line\r\nand another"),
        Document(id="a", page_content="one line\nand another"),
        Document(id="a", page_content="something else", metadata={"page": 1}),
        Document(id="b", page_content="one line\nand another"),
    ]
    kept = compress(ACMSDocumentCompressor(max_tokens=1000), given)
    assert kept == [given[0], given[2], given[3]]


def test_a_document_longer_than_a_fragment_may_be_passes_whole_m6() -> None:
    long = Document(id="long", page_content="word " * 250_000)
    kept = ACMSDocumentCompressor(max_tokens=400_000).compress_documents([long], "?")
    assert kept == [long]
    assert ACMSDocumentCompressor(max_tokens=200_000).explain([long]).fragments[0].detail_depth < 9


def test_nothing_comes_of_nothing(compress: Compress) -> None:
    assert compress(ACMSDocumentCompressor(max_tokens=10), []) == []


TEXTS = st.text(
    alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from("你好\x00\r\n\ud83d</>")),
    max_size=150,
)


@given(
    documents=st.lists(
        st.builds(
            Document,
            page_content=TEXTS,
            id=st.sampled_from([None, "a", "b"]),
            metadata=st.fixed_dictionaries({}, optional={"relevance_score": st.floats()}),
        ),
        max_size=9,
    ),
    budget=st.integers(1, 300),
)
def test_any_documents_fit_any_budget_and_stay_unchanged_a1(
    documents: list[Document], budget: int
) -> None:
    before = [(d.id, d.page_content, repr(d.metadata)) for d in documents]
    kept = ACMSDocumentCompressor(max_tokens=budget).compress_documents(documents, "?")
    assert token_counter().count(joined(kept)) <= budget
    assert [(d.id, d.page_content, repr(d.metadata)) for d in documents] == before


@pytest.mark.parametrize("fields", [{}, {"max_tokens": 0}, {"max_tokens": 5, "k": 0}, {"max": 1}])
def test_a_value_outside_its_range_and_an_unknown_field_are_refused(fields: Any) -> None:
    with pytest.raises(ValidationError):
        ACMSDocumentCompressor(**fields)


def ensemble() -> EnsembleRetriever:
    words = [f"The {kind} number {n} sleeps." for kind in ("cat", "dog") for n in range(20)]
    return EnsembleRetriever(
        retrievers=[
            ACMSRetriever.from_texts(words[:30], embedder=None),
            ACMSRetriever.from_texts(words[10:], embedder="character-frequency-v1"),
        ]
    )


def test_behind_an_ensemble_whose_own_limits_are_lost_the_budget_holds(
    run: Callable[..., Any], listener: Any
) -> None:
    base = ensemble()
    assert token_counter().count(joined(base.invoke("the cat"))) > 120
    retriever = ContextualCompressionRetriever(
        base_compressor=ACMSDocumentCompressor(max_tokens=120), base_retriever=base
    )
    kept = run(retriever, "the cat", config={"callbacks": [listener]})
    assert len(kept) > 3
    assert token_counter().count(joined(kept)) <= 120
    names = [listener.runs[run_id][0] for _, _, run_id in listener.events]
    assert names.count("ContextualCompressionRetriever") == 1


def test_it_is_a_step_of_a_compressor_pipeline() -> None:
    steps = DocumentCompressorPipeline(transformers=[ACMSDocumentCompressor(max_tokens=TWO)])
    assert [d.id for d in steps.compress_documents(numbered(5), "?")] == ["0", "1"]


def test_without_a_run_above_it_nobody_is_told_and_nothing_fails() -> None:
    compressor = ACMSDocumentCompressor(max_tokens=TWO)
    step = RunnableLambda(lambda documents: compressor.compress_documents(documents, "?", []))
    assert len(step.invoke(numbered(5))) == 2
