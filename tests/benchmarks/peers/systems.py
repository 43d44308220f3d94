"""Other libraries as their own documentation sets them up, given the same candidates.

Each answers with passages in order, or with the texts that it leaves of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from astromesh_context import CallableSource, ContextEngine, ContextItem
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever as LlamaIndexRetriever
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.postprocessor.trimwise import TrimwiseNodePostprocessor
from peers.arms import DEPTH, Arms, Found

from acms_adapters import token_counter
from acms_adapters.evaluation import Question
from acms_adapters.evaluation.measures import ReadText
from acms_adapters.llamaindex import ACMSNodePostprocessor


class Peer(Protocol):
    """A system that answers questions with texts."""

    name: str

    def ranking(self, question: Question) -> list[str]:
        """Ids of passages, best first."""
        ...

    def read(self, question: Question, budget: int) -> list[ReadText]:
        """What a model would read."""
        ...


class Texts:
    """Passages with their tokens, counted once."""

    def __init__(self, arms: Arms) -> None:
        self.arms = arms
        self.passages = arms.dataset.passages
        self.places = {passage.id: place for place, passage in enumerate(self.passages)}
        self.counter = token_counter()
        self.tokens = [self.counter.count(passage.whole) for passage in self.passages]

    def text(self, place: int) -> ReadText:
        """A passage as it is read whole."""
        passage = self.passages[place]
        return ReadText(
            passage=passage.id,
            resource=passage.id,
            text=passage.whole,
            tokens=self.tokens[place],
        )

    def cut(self, places: Iterable[int], budget: int) -> list[ReadText]:
        """What fits in order, skipping what does not."""
        read, used = [], 0
        for place in places:
            if used + self.tokens[place] <= budget:
                used += self.tokens[place]
                read.append(self.text(place))
        return read

    def left(self, passage: str, text: str) -> ReadText:
        """What a system left of a passage."""
        return ReadText(
            passage=passage, resource=passage, text=text, tokens=self.counter.count(text)
        )


class Ranked:
    """A list, cut at the budget."""

    name = "ranked"

    def __init__(self, texts: Texts) -> None:
        self.texts = texts

    def places(self, question: Question) -> Sequence[int]:
        """Places of passages, best first."""
        raise NotImplementedError

    def ranking(self, question: Question) -> list[str]:
        """Ids of passages, best first."""
        return [self.texts.passages[place].id for place in self.places(question)]

    def read(self, question: Question, budget: int) -> list[ReadText]:
        """What fits."""
        return self.texts.cut(self.places(question), budget)


class BM25Alone(Ranked):
    """Words alone."""

    name = "BM25"

    def places(self, question: Question) -> Sequence[int]:
        """By BM25."""
        return self.texts.arms.bm25[question.id].places


class VectorsAlone(Ranked):
    """Vectors alone."""

    name = "vectors"

    def places(self, question: Question) -> Sequence[int]:
        """By cosine."""
        return self.texts.arms.near[question.id].places


class Ceiling(Ranked):
    """The evidence and nothing else, the shortest first."""

    name = "ceiling"

    def places(self, question: Question) -> Sequence[int]:
        """The evidence."""
        places = [self.texts.places[passage] for passage in question.evidence]
        return sorted(places, key=self.texts.tokens.__getitem__)


class _LangChainArm(LangChainRetriever):
    answers: dict[str, list[Document]]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.answers[query]


class LangChainEnsemble(Ranked):
    """EnsembleRetriever over both searches, with equal weights."""

    name = "LangChain EnsembleRetriever"

    def __init__(self, texts: Texts, asked: Sequence[Question]) -> None:
        super().__init__(texts)
        documents = [
            Document(id=p.id, page_content=p.whole, metadata={"id": p.id}) for p in texts.passages
        ]

        def arm(found: dict[str, Found]) -> _LangChainArm:
            return _LangChainArm(
                answers={q.id: [documents[at] for at in found[q.id].places] for q in asked}
            )

        self._retriever = EnsembleRetriever(
            retrievers=[arm(texts.arms.bm25), arm(texts.arms.near)],
            weights=[0.5, 0.5],
            id_key="id",
        )

    def places(self, question: Question) -> Sequence[int]:
        """As it ranks; arms are asked by the question's id, since texts may repeat."""
        found = self._retriever.invoke(question.id)
        return [self.texts.places[document.metadata["id"]] for document in found]


class _LlamaIndexArm(LlamaIndexRetriever):
    def __init__(self, answers: dict[str, list[NodeWithScore]]) -> None:
        self._answers = answers
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # fusion writes its scores into the nodes it is given
        found = self._answers[query_bundle.query_str]
        return [NodeWithScore(node=hit.node, score=hit.score) for hit in found]


class LlamaIndexFusion(Ranked):
    """QueryFusionRetriever over both searches by reciprocal rank, without generated queries."""

    name = "LlamaIndex QueryFusionRetriever"

    def __init__(self, texts: Texts, asked: Sequence[Question]) -> None:
        super().__init__(texts)
        nodes = [TextNode(id_=p.id, text=p.whole) for p in texts.passages]

        def arm(found: dict[str, Found]) -> _LlamaIndexArm:
            return _LlamaIndexArm(
                {
                    q.id: [
                        NodeWithScore(node=nodes[at], score=score)
                        for at, score in zip(found[q.id].places, found[q.id].scores, strict=True)
                    ]
                    for q in asked
                }
            )

        self._retriever = QueryFusionRetriever(
            [arm(texts.arms.bm25), arm(texts.arms.near)],
            llm=MockLLM(),
            mode="reciprocal_rerank",
            num_queries=1,
            similarity_top_k=2 * DEPTH,
            use_async=False,
        )

    def nodes(self, question: Question) -> list[NodeWithScore]:
        """The fused list."""
        return self._retriever.retrieve(question.id)

    def places(self, question: Question) -> Sequence[int]:
        """As it ranks."""
        return [self.texts.places[hit.node.node_id] for hit in self.nodes(question)]


class Postprocessed:
    """A LlamaIndex postprocessor over the fused list."""

    def __init__(self, name: str, fusion: LlamaIndexFusion, make: Any) -> None:
        self.name = name
        self._fusion = fusion
        self._make = make

    def ranking(self, question: Question) -> list[str]:
        """That of the list it is given."""
        return self._fusion.ranking(question)

    def read(self, question: Question, budget: int) -> list[ReadText]:
        """Texts of the nodes it leaves."""
        kept = self._make(budget).postprocess_nodes(
            self._fusion.nodes(question), query_str=question.text
        )
        return [self._fusion.texts.left(n.node.node_id, n.node.get_content()) for n in kept]


def trimwise(fusion: LlamaIndexFusion) -> Postprocessed:
    """Trimwise with its lexical strategy, counting as everybody else does."""
    count = fusion.texts.counter.count
    token_counter("o200k_base")  # what it ranks by; loaded here it need not be fetched
    return Postprocessed(
        "trimwise",
        fusion,
        lambda budget: TrimwiseNodePostprocessor(
            limit=budget, strategy="lexical", token_counter=count
        ),
    )


def acms_postprocessor(fusion: LlamaIndexFusion) -> Postprocessed:
    """Ours over the same list."""
    return Postprocessed(
        "ACMSNodePostprocessor", fusion, lambda budget: ACMSNodePostprocessor(max_tokens=budget)
    )


class Astromesh:
    """ContextEngine with each search as a source and its default policy."""

    name = "astromesh-context"

    def __init__(self, texts: Texts) -> None:
        self.texts = texts

    def ranking(self, question: Question) -> list[str]:
        """By its own final score, whether included or not."""
        window = self._window(question, 1_000_000)
        rated = sorted(window.trace.entries, key=lambda entry: (-entry.final, entry.item_id))
        return list(dict.fromkeys(entry.item_id for entry in rated))

    def read(self, question: Question, budget: int) -> list[ReadText]:
        """Its window's items."""
        return [self.texts.left(i.id, i.content) for i in self._window(question, budget).items]

    def _window(self, question: Question, budget: int) -> Any:
        arms = self.texts.arms
        sources = [
            CallableSource(self._source(name, found[question.id]), name=name)
            for name, found in (("bm25", arms.bm25), ("vectors", arms.near))
        ]
        engine = ContextEngine(sources, budget=budget, tokenizer=self.texts.counter)
        return asyncio.run(engine.build(question.text))

    def _source(self, name: str, found: Found) -> Any:
        items = [
            ContextItem(
                id=self.texts.passages[place].id,
                content=self.texts.passages[place].whole,
                source=name,
                kind="knowledge",
                stability="volatile",
                score=score,
                tokens=self.texts.tokens[place],
            )
            for place, score in zip(found.places, found.scores, strict=True)
        ]
        return lambda query, context: items
