"""One store, one pipeline, one retriever: asked from threads and event loops of every kind.

SQLite refuses a connection in another thread than its own, and what waits on an event loop is lost
with it. Neither may show.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.documents import Document

from acms_adapters.indexing import ContextStore
from acms_adapters.langchain import ACMSRetriever
from acms_adapters.llamaindex import ACMSRetriever as ACMSNodeRetriever

WORDS = ("millet", "barley", "rye")
QUESTIONS = [f"the {word} field of {number}" for word in WORDS for number in range(2)]
BUILT_IN = ("arce", "breadth-depth-navigator", "semantic-embedding", "simple-keyword")
PATIENT = {"context": {"strategies": {name: {"timeout_seconds": 600.0} for name in BUILT_IN}}}
"""On a busy machine a strategy may take long; what it finds is to be the same."""

Ask = Callable[[str], Coroutine[Any, Any, Any]]
Answers = list[Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loops") / "store"
    with ContextStore.open(folder, embedder="character-frequency-v1") as store:
        store.add_documents(
            Document(id=f"{word}-{number}", page_content=f"Of the {word} field {number}, {word}.")
            for word in WORDS
            for number in range(10)
        )
    return folder


@pytest.fixture(params=["a folder", "memory"])
def store(request: pytest.FixtureRequest, place: Path) -> Iterator[ContextStore]:
    """Made in the main thread."""
    if request.param == "a folder":
        with ContextStore.open(place, read_only=True) as store:
            yield store
        return
    with ContextStore.in_memory(embedder="character-frequency-v1") as store:
        store.add_documents(Document(id=word, page_content=f"The {word} field.") for word in WORDS)
        yield store


@pytest.fixture(params=["pipeline", "langchain", "llamaindex"])
def ask(request: pytest.FixtureRequest, store: ContextStore) -> tuple[Ask, Callable[[str], Any]]:
    """The same question asked on an event loop and without one."""
    pipeline = store.pipeline(PATIENT)
    if request.param == "pipeline":

        async def assembled(question: str) -> Any:
            return (await pipeline.aassemble(question, budget=400)).context_hash

        return assembled, lambda question: pipeline.assemble(question, budget=400).context_hash
    if request.param == "langchain":
        retriever = ACMSRetriever(pipeline=pipeline, max_tokens=400)

        async def invoked(question: str) -> Any:
            return _texts(await retriever.ainvoke(question))

        return invoked, lambda question: _texts(retriever.invoke(question))
    nodes = ACMSNodeRetriever(pipeline, max_tokens=400)

    async def retrieved(question: str) -> Any:
        return [node.node_id for node in await nodes.aretrieve(question)]

    return retrieved, lambda question: [node.node_id for node in nodes.retrieve(question)]


def _texts(documents: Sequence[Document]) -> list[tuple[str | None, str]]:
    return [(one.id, one.page_content) for one in documents]


async def in_turn(ask: Ask) -> Answers:
    return [await ask(question) for question in QUESTIONS]


async def at_once(ask: Ask) -> Answers:
    return list(await asyncio.gather(*map(ask, QUESTIONS)))


def test_b8_one_object_answers_alike_on_every_event_loop_and_thread(
    ask: tuple[Ask, Callable[[str], Any]],
) -> None:
    """B8.loops: loops one after the other, in other threads, two at the same time."""
    on_loop, plainly = ask
    wanted = [plainly(question) for question in QUESTIONS]
    assert any(wanted)
    for calls in (in_turn, at_once, in_turn):
        assert asyncio.run(calls(on_loop)) == wanted
    together = threading.Barrier(2)

    def loop_of_its_own(calls: Callable[[Ask], Coroutine[Any, Any, Answers]]) -> Answers:
        together.wait(600)
        return asyncio.run(calls(on_loop))

    with ThreadPoolExecutor(2) as pool:
        for pair in ((in_turn, at_once), (at_once, at_once)):
            assert list(pool.map(loop_of_its_own, pair)) == [wanted, wanted]
    assert [plainly(question) for question in QUESTIONS] == wanted


async def test_b8_a_thread_asks_while_the_event_loop_does(
    ask: tuple[Ask, Callable[[str], Any]],
) -> None:
    """B8.loops: plain calls in workers beside waiting ones."""
    on_loop, plainly = ask
    wanted = [plainly(question) for question in QUESTIONS]
    jobs = [asyncio.to_thread(plainly, question) for question in QUESTIONS]
    answers = await asyncio.gather(*map(on_loop, QUESTIONS), *jobs)
    assert cast(Answers, answers) == [*wanted, *wanted]


def test_b8_what_a_thread_made_is_asked_on_the_loop_of_another(place: Path) -> None:
    """B8.loops: the thread that made everything is gone by then."""
    with ThreadPoolExecutor(1) as pool:
        store = pool.submit(ContextStore.open, place, read_only=True).result()
        pipeline = pool.submit(store.pipeline, PATIENT).result()
        wanted = pool.submit(pipeline.assemble, QUESTIONS[0], budget=400).result()
    with store:
        answer = asyncio.run(pipeline.aassemble(QUESTIONS[0], budget=400))
        assert answer.context_hash == wanted.context_hash
        assert answer.fragments
