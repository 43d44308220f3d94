"""Embedders: the two built in, and everybody else's (ruling B7)."""

import functools
import logging
import math
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import chromadb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from llama_index.core.embeddings import BaseEmbedding, MockEmbedding

from acms_adapters.backends import embedders
from acms_adapters.backends.embedders import (
    CharacterFrequencyEmbedder,
    WordLlamaEmbedder,
    as_embedder,
    default_embedder,
    word_llama,
)
from acms_adapters.errors import (
    ACMSError,
    BackendError,
    EmbedderMismatchError,
    MissingExtraError,
    UnknownNameError,
)
from acms_adapters.protocols import Embedder

TEXTS = ["parse the file", "解析文件", "разбор файла", "🚀", "", "def parse(path): ...", " \n"]


def cosine(left: Any, right: Any) -> float:
    a, b = np.asarray(left), np.asarray(right)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@pytest.fixture(params=[CharacterFrequencyEmbedder, WordLlamaEmbedder])
def built_in(request: pytest.FixtureRequest) -> Embedder:
    return request.param()


def test_b7_the_file_keys_default_is_character_frequencies_with_half_as_threshold() -> None:
    embedder = as_embedder("character-frequency-v1")
    assert isinstance(embedder, CharacterFrequencyEmbedder)
    assert (embedder.name, embedder.similarity_threshold) == ("character-frequency-v1", 0.5)


def test_b7_wordllama_counts_every_direction_that_is_not_opposite() -> None:
    embedder = as_embedder("wordllama")
    assert isinstance(embedder, WordLlamaEmbedder)
    assert (embedder.name, embedder.dimensions, embedder.similarity_threshold) == (
        "wordllama",
        256,
        0.0,
    )


def test_a_built_in_gives_each_text_its_vector_in_order(built_in: Embedder) -> None:
    vectors = built_in.embed_documents(TEXTS)
    assert [len(vector) for vector in vectors] == [built_in.dimensions] * len(TEXTS)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert np.allclose(vector, built_in.embed_query(text), atol=1e-6)


def test_a_built_in_gives_lists_of_plain_numbers(built_in: Embedder) -> None:
    vector = built_in.embed_query("plain")
    assert isinstance(vector, list)
    assert type(vector[0]) is float
    assert vector == built_in.embed_query("plain")


def test_a_text_without_content_is_near_nothing_and_no_error(built_in: Embedder) -> None:
    assert built_in.embed_documents([]) == []
    assert not any(built_in.embed_query(""))
    assert not any(math.isnan(value) for value in built_in.embed_query("\x00"))


@given(st.text(max_size=60))
def test_vectors_have_length_one_or_zero_whatever_the_text(text: str) -> None:
    vector = CharacterFrequencyEmbedder().embed_query(text)
    assert math.isclose(np.linalg.norm(vector), 1.0 if text.split() else 0.0, abs_tol=1e-9)


def test_a_lone_surrogate_is_embedded_like_its_repair(built_in: Embedder) -> None:
    assert built_in.embed_query("a\ud83d") == built_in.embed_query("a\ufffd")


@pytest.mark.parametrize(
    ("near", "query", "far"),
    [
        ("aab", "aba", "xyz"),
        ("故乡明月", "故乡", "检索文件"),
        ("разбор", "разбора", "μέγας"),
        ("CAFÉ", "cafe\u0301", "tux"),
        ("🚀🚀", "🚀", "🐢"),
    ],
)
def test_character_frequencies_tell_texts_of_any_script_apart(
    near: str, query: str, far: str
) -> None:
    embedder = CharacterFrequencyEmbedder()
    asked = embedder.embed_query(query)
    assert cosine(asked, embedder.embed_query(near)) >= 0.5
    assert cosine(asked, embedder.embed_query(far)) < 0.5


def test_character_frequencies_are_the_same_in_every_process() -> None:
    """B7."""
    code = (
        "from acms_adapters.backends.embedders import CharacterFrequencyEmbedder as E;"
        "print(E().embed_query('Déjà vu 🚀 #1'))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = CharacterFrequencyEmbedder().embed_query("Déjà vu 🚀 #1")
    assert [output.decode().strip() for output in outputs] == [str(here)]


def test_wordllama_finds_what_is_meant(built_in: Embedder) -> None:
    embedder = WordLlamaEmbedder()
    asked = embedder.embed_query("How do I read a file?")
    near = embedder.embed_query("open a document and load its contents")
    assert cosine(asked, near) > cosine(asked, embedder.embed_query("bananas are yellow fruit"))


def test_wordllama_reads_a_long_text_up_to_its_cap() -> None:
    embedder = WordLlamaEmbedder()
    text = "the lighthouse keeper " * 200
    assert len(text) > word_llama.MAX_CHARS
    cut = embedder.embed_query(text[: word_llama.MAX_CHARS])
    assert embedder.embed_query(text + "bananas") == cut


def test_wordllama_loads_once_for_many_threads_and_without_a_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loads: list[int] = []
    load = word_llama._load
    monkeypatch.setattr(word_llama, "_loaded", [])
    monkeypatch.setattr(word_llama, "_load", lambda: loads.append(1) or load())
    monkeypatch.setattr(socket, "socket", None)
    together = threading.Barrier(8)

    def embed(number: int) -> list[list[float]]:
        embedder = WordLlamaEmbedder()
        together.wait(timeout=60)
        return embedder.embed_documents([f"text {number}", "the same", "x" * number])

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(embed, range(8)))
    assert loads == [1]
    assert all(np.allclose(answer[1], answers[0][1]) for answer in answers)
    assert len({tuple(answer[0]) for answer in answers}) == 8


def test_wordllama_is_not_loaded_before_its_first_use() -> None:
    code = (
        "import sys; from acms_adapters.backends.embedders import WordLlamaEmbedder as E; E();"
        "print('wordllama' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert ran.stdout.strip() == "False"


def test_wordllama_leaves_everybodys_logging_as_it_was() -> None:
    code = (
        "import logging; from acms_adapters.backends.embedders import WordLlamaEmbedder as E;"
        "E().embed_query('x'); root = logging.getLogger();"
        "print(root.handlers, root.level == logging.WARNING)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert ran.stdout.strip() == "[] True"


@pytest.fixture
def without_wordllama(monkeypatch: pytest.MonkeyPatch) -> None:
    find = embedders.importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *rest: None if name == "wordllama" else find(name)
    )
    embedders._warn_of_no_vectors.cache_clear()


def test_b7_wordllama_is_chosen_when_it_is_installed() -> None:
    """B7.chosen."""
    assert isinstance(default_embedder(), WordLlamaEmbedder)


def test_b7_without_any_embedder_there_is_one_warning(
    without_wordllama: None, caplog: pytest.LogCaptureFixture
) -> None:
    """B7.chosen."""
    with caplog.at_level(logging.WARNING, logger="acms_adapters"):
        assert [default_embedder(), default_embedder()] == [None, None]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "acms-adapters[embed]" in caplog.text


def test_asking_for_wordllama_without_it_names_the_extra(without_wordllama: None) -> None:
    with pytest.raises(MissingExtraError, match=r"acms-adapters\[embed\]") as caught:
        as_embedder("wordllama")
    assert caught.value.extra == "embed"


def test_an_unknown_name_is_told_the_near_one() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'wordllama'") as caught:
        as_embedder("word-llama")
    assert caught.value.known == ("character-frequency-v1", "wordllama")


def test_none_means_no_vectors() -> None:
    assert as_embedder(None) is None


def test_an_embedder_stays_itself(built_in: Embedder) -> None:
    assert as_embedder(built_in) is built_in
    foreign = as_embedder(lambda texts: [[1.0] for _ in texts])
    assert as_embedder(foreign) is foreign


class LangChainLike(Embeddings):
    model = "tiny-1"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text)), 1.0, 0.0]


class LlamaIndexLike(BaseEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(len(text)), 1.0, 0.0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(len(query)), 2.0, 0.0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class ChromaLike(chromadb.EmbeddingFunction[Any]):
    def __init__(self) -> None:
        self.model_name = "tiny-2"

    def __call__(self, input: list[str]) -> Any:
        return [np.array([len(text), 1.0, 0.0], dtype=np.float32) for text in input]

    @staticmethod
    def name() -> str:
        return "own"


def together(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, 0.0] for text in texts]


def one_by_one(text: str) -> list[float]:
    return [float(len(text.strip())), 1.0, 0.0]


def counting(text: str) -> list[float]:
    return [float(len(text)), text.count("zz") + 1.0, 0.0]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (LangChainLike(), "LangChainLike/tiny-1"),
        (LlamaIndexLike(), "LlamaIndexLike"),
        (LlamaIndexLike(model_name="tiny-3"), "LlamaIndexLike/tiny-3"),
        (ChromaLike(), "own/tiny-2"),
        (together, f"{__name__}.together"),
        (one_by_one, f"{__name__}.one_by_one"),
        (counting, f"{__name__}.counting"),
        (functools.partial(together), f"{__name__}.together"),
        (lambda texts: np.array(together(texts)), f"{__name__}.<lambda>"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_b7_embeddings_of_other_libraries_are_taken_by_their_shape(value: Any, name: str) -> None:
    """B7.foreign."""
    embedder = as_embedder(value)
    assert isinstance(embedder, Embedder)
    assert (embedder.name, embedder.dimensions, embedder.similarity_threshold) == (name, 3, 0.0)
    documents = embedder.embed_documents(["ab", "abc"])
    assert [vector[:2] for vector in documents] == [[2.0, 1.0], [3.0, 1.0]]
    assert embedder.embed_query("abcd")[0] == 4.0
    assert embedder.embed_documents(["abcde"])[0][0] == 5.0


def test_b7_a_question_goes_through_the_method_for_questions() -> None:
    embedder = as_embedder(LlamaIndexLike())
    assert embedder.embed_documents(["ab"]) == [[2.0, 1.0, 0.0]]
    assert embedder.embed_query("ab") == [2.0, 2.0, 0.0]


@pytest.mark.parametrize(
    "value", [DeterministicFakeEmbedding(size=7), MockEmbedding(embed_dim=7)], ids=type
)
def test_b7_the_frameworks_own_stand_ins_work(value: Any) -> None:
    embedder = as_embedder(value)
    assert embedder.name == type(value).__name__
    assert embedder.dimensions == 7
    assert len(embedder.embed_documents(["a", "b"])) == 2


def test_b7_an_embedding_may_declare_its_own_threshold_and_name() -> None:
    """B7.threshold."""
    embedding = LangChainLike()
    embedding.similarity_threshold = 0.3
    embedding.reliability = 0.5
    embedder = as_embedder(embedding)
    assert (embedder.similarity_threshold, embedder.reliability) == (0.3, 0.5)
    assert as_embedder(LangChainLike()).reliability == 1.0
    assert as_embedder(embedding, name="mine").name == "mine"


def test_nothing_is_embedded_before_it_is_needed() -> None:
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return [[1.0, 2.0] for _ in texts]

    embedder = as_embedder(embed)
    assert asked == []
    assert (embedder.dimensions, embedder.dimensions) == (2, 2)
    assert len(asked) == 1
    embedder.embed_documents([])
    assert len(asked) == 1


def test_a_foreign_embedding_never_sees_half_a_surrogate_pair() -> None:
    seen: list[str] = []
    embedder = as_embedder(lambda texts: seen.extend(texts) or [[1.0] for _ in texts])
    embedder.embed_documents(["x\ud83d"])
    assert seen == ["x\ufffd"]


@pytest.mark.parametrize("value", [3, object(), [[1.0]], LangChainLike, str])
def test_what_cannot_embed_is_refused_with_what_could(value: Any) -> None:
    with pytest.raises(ValueError, match="cannot embed with"):
        as_embedder(value)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda texts: [[1.0]] * (len(texts) + 1), "2 vectors for 1 texts"),
        (lambda texts: None, "instead of vectors"),
        (lambda texts: [[math.nan] for _ in texts], "finite numbers"),
        (lambda texts: [["x"] for _ in texts], "finite numbers"),
        (lambda texts: [[] for _ in texts], "finite numbers"),
    ],
)
def test_an_embedding_that_answers_nonsense_is_named(answer: Any, told: str) -> None:
    embedder = as_embedder(answer, name="broken")
    with pytest.raises(BackendError, match=f"'broken'.*{told}"):
        embedder.embed_documents(["one"])


def test_b7_vectors_of_two_sizes_are_an_error_that_names_both() -> None:
    embedder = as_embedder(lambda texts: [[1.0] * len(text) for text in texts], name="uneven")
    with pytest.raises(EmbedderMismatchError, match=r"'uneven'.*\b3\b.*\b2\b"):
        embedder.embed_documents(["ab", "abc"])


def test_an_embeddings_own_error_is_not_hidden() -> None:
    class OwnError(Exception):
        pass

    def embed(texts: list[str]) -> list[list[float]]:
        raise OwnError("rate limit")

    with pytest.raises(OwnError, match="rate limit"):
        as_embedder(embed).embed_query("a")
    assert not issubclass(OwnError, ACMSError)
