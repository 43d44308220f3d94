"""Tokens are counted without a network, and by estimate rather than not at all (ruling A6)."""

import copy
import hashlib
import importlib
import logging
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

import acms_adapters.tokens as tokens
from acms_adapters.errors import UnknownNameError
from acms_adapters.models.vocabularies import VOCABULARIES
from acms_adapters.protocols import TokenCounter
from acms_adapters.tokens import (
    CallableCounter,
    EncodingCounter,
    EstimateCounter,
    available_encodings,
    token_counter,
)

TEXT = "def main() -> None:\n    print('你好, world 😀')\n"
CL100K = token_counter("cl100k_base")
CORE = find_spec("llama_index.core")  # found before a test hides it
BUNDLE = Path(str(CORE and CORE.origin)).parent / "_static" / "tiktoken_cache"


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A process that has loaded no vocabulary, has none in its cache and no LlamaIndex."""
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    tokens._shared.cache_clear()
    monkeypatch.setattr(tokens, "_warned", set())
    monkeypatch.setitem(sys.modules, "llama_index", None)
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    return cache


@pytest.fixture
def warnings_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_warned", set())


def encoding(name: str) -> tiktoken.Encoding:
    assert token_counter(name).exact  # loads it without a network
    return tiktoken.get_encoding(name)


def bundled(name: str = "cl100k_base") -> Path:
    (address,) = VOCABULARIES[name]
    return BUNDLE / hashlib.sha1(address.encode()).hexdigest()


class TestEncodings:
    @pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
    def test_an_encoding_counts_as_tiktoken_does(self, name: str) -> None:
        counter = token_counter(name)
        assert isinstance(counter, TokenCounter)
        assert (counter.name, counter.exact) == (name, True)
        made = encoding(name)
        for text in ("", "a", TEXT, TEXT * 50):
            assert counter.count(text) == len(made.encode_ordinary(text))

    def test_nothing_said_means_cl100k_base(self) -> None:
        assert token_counter().name == token_counter(None).name == "cl100k_base"

    @pytest.mark.parametrize(
        ("model", "encoding"),
        [
            ("gpt-4", "cl100k_base"),
            ("gpt-4o-mini", "o200k_base"),
            ("gpt-4o-2024-08-06", "o200k_base"),
        ],
    )
    def test_a_known_model_counts_by_its_encoding(self, model: str, encoding: str) -> None:
        assert token_counter(model) is token_counter(encoding)

    def test_an_unknown_model_is_counted_by_one_counter_too(self) -> None:
        assert token_counter("claude-sonnet-9") is token_counter("claude-sonnet-9")
        assert token_counter("claude-sonnet-9") is not token_counter("claude-opus-9")

    def test_special_tokens_are_plain_text(self) -> None:
        text = "<|endoftext|> and <|im_start|>"
        assert CL100K.count(text) == len(CL100K._encoding.encode(text, disallowed_special=()))
        assert CL100K.count("<|endoftext|>") == 7

    def test_half_a_surrogate_pair_is_counted_as_its_repair(self) -> None:
        assert CL100K.count("x\ud83d") == CL100K.count("x\ufffd") > 0

    def test_a_million_characters_of_one_kind_are_counted(self) -> None:
        assert CL100K.count("^" * 1_000_001) == pytest.approx(250_000, rel=0.01)

    def test_line_ends_and_control_characters_are_counted(self) -> None:
        for text in ("\x00\x01", "\r\n\r\n", "\ufeffx", "\u2028"):
            assert CL100K.count(text) == len(CL100K._encoding.encode_ordinary(text))

    def test_the_names_of_all_encodings_are_known(self) -> None:
        assert {"cl100k_base", "o200k_base", "gpt2"} <= set(available_encodings())

    def test_counts_are_remembered_without_the_texts(self) -> None:
        calls: list[str] = []

        class Spy:
            name = "spy"

            def encode_ordinary(self, text: str) -> list[int]:
                calls.append(text)
                return [0] * len(text)

        counter = EncodingCounter(Spy())  # type: ignore[arg-type]
        assert [counter.count("text"), counter.count("text"), counter.count("text!")] == [4, 4, 5]
        assert calls == ["text", "text!"]
        assert not any(isinstance(key, str) for key in counter._cache)

    def test_the_memory_of_counts_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tokens, "_CACHE_ENTRIES", 3)
        counter = EncodingCounter(encoding("cl100k_base"))
        for i in range(10):
            assert counter.count(f"text {i}") > 0
        assert len(counter._cache) == 3


class TestUnknownModels:
    def test_a6_a_fallback_counts_a_fifth_more_and_says_so(self, warnings_again: None) -> None:
        counter = token_counter("claude-sonnet-5")
        assert counter.name == "cl100k_base x 1.2 for claude-sonnet-5"
        assert not counter.exact
        exact = CL100K.count(TEXT * 10)
        assert counter.count(TEXT * 10) == -(-exact * 12 // 10)
        assert counter.count("a") == 2
        assert counter.count("") == 0

    def test_a6_it_is_warned_of_once_and_by_name(
        self, warnings_again: None, caplog: pytest.LogCaptureFixture
    ) -> None:
        for _ in range(3):
            token_counter("claude-sonnet-5")
        token_counter("gemini-9")
        told = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert [record.name for record in told] == ["acms_adapters"] * 2
        assert "'claude-sonnet-5'" in told[0].getMessage()
        assert "inexact" in told[0].getMessage()
        assert "'gemini-9'" in told[1].getMessage()

    @pytest.mark.parametrize("name", ["", " ", "\t\n"])
    def test_an_empty_name_is_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match="must not be empty"):
            token_counter(name)


class HuggingFace:
    """Adds its markers unless told not to, and can be called as well."""

    name_or_path = "bert-base"

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        body = [1] * len(text.split())
        return [0, *body, 2] if add_special_tokens else body

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": self.encode(text), "attention_mask": []}


class TestOtherSources:
    def test_a_counter_is_itself(self) -> None:
        assert token_counter(CL100K) is CL100K
        assert token_counter(EstimateCounter()).count("") == 0

    def test_a_function_gives_a_number_or_tokens(self) -> None:
        assert token_counter(len).count("four") == 4
        assert token_counter(str.split).count("one two") == 2
        assert token_counter(lambda text: range(len(text))).count("abc") == 3
        assert token_counter(len).exact
        assert token_counter(len).name == "len"
        assert token_counter(partial(int, base=2)).count("101") == 5

    def test_a_number_of_numpy_is_a_number(self) -> None:
        numpy = pytest.importorskip("numpy")
        counted = token_counter(lambda text: numpy.int64(len(text))).count("abc")
        assert counted == 3
        assert type(counted) is int

    def test_a_function_never_sees_half_a_surrogate_pair(self) -> None:
        assert token_counter(lambda text: text.encode()).count("x\ud83d") == 4

    def test_a_hugging_face_tokenizer_counts_without_its_markers(self) -> None:
        counter = token_counter(HuggingFace())
        assert (counter.count("one two three"), counter.name) == (3, "bert-base")

    def test_a_real_tokenizer_of_hugging_face_counts_without_its_markers(self) -> None:
        library = pytest.importorskip("tokenizers")
        from tokenizers.models import WordLevel
        from tokenizers.pre_tokenizers import Whitespace
        from tokenizers.processors import TemplateProcessing

        made = library.Tokenizer(WordLevel({"[UNK]": 0, "[CLS]": 1}, unk_token="[UNK]"))
        made.pre_tokenizer = Whitespace()
        made.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
        assert len(made.encode("one two three")) == 4
        assert token_counter(made).count("one two three") == 3
        assert token_counter(made).count("x\ud83d") == 2

    def test_a_tiktoken_encoding_counts_special_tokens_as_text(self) -> None:
        counter = token_counter(encoding("o200k_base"))
        assert (counter.name, counter.exact) == ("o200k_base", True)
        assert counter.count("<|endoftext|>") == token_counter("o200k_base").count("<|endoftext|>")

    def test_anything_that_encodes_counts(self) -> None:
        source = SimpleNamespace(encode=lambda text: text.split())
        assert token_counter(source).count("one two") == 2

    @pytest.mark.parametrize("attribute", ["model_name", "model"])
    def test_a_chat_model_counts_by_its_name(self, attribute: str) -> None:
        assert token_counter(SimpleNamespace(**{attribute: "gpt-4o"})).name == "o200k_base"
        unknown = token_counter(SimpleNamespace(**{attribute: "claude-sonnet-5"}))
        assert "claude-sonnet-5" in unknown.name

    @pytest.mark.parametrize(
        "source", [7, 1.5, [], {}, SimpleNamespace(), b"cl100k_base", object()]
    )
    def test_what_cannot_count_is_refused_by_name(self, source: Any) -> None:
        with pytest.raises(ValueError, match="cannot count tokens") as caught:
            token_counter(source)
        assert repr(source) in str(caught.value)


class TestWithoutANetwork:
    CODE = (
        "import os, socket, sys\n"
        "def refuse(*_, **__): raise SystemExit('reached for the network')\n"
        "socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse\n"
        "{before}\n"
        "from acms_adapters.tokens import token_counter\n"
        "counter = token_counter({source})\n"
        "print(counter.name, counter.exact, counter.count('text ' * 10) >= 10, sep='|')"
    )

    def run(self, source: str, cache: Path, before: str = "") -> tuple[str, str]:
        code = self.CODE.format(source=source, before=before)
        ran = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "TIKTOKEN_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout.strip(), ran.stderr

    def test_with_an_empty_cache_the_vocabulary_of_llama_index_serves(self, tmp_path: Path) -> None:
        assert self.run("", tmp_path) == ("cl100k_base|True|True", "")
        assert self.run("'gpt-4o'", tmp_path) == ("o200k_base|True|True", "")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("source", ["", "'gpt-4o'", "'claude-sonnet-5'", "'gpt2'"])
    def test_without_any_vocabulary_the_estimate_serves_and_says_so(
        self, source: str, tmp_path: Path
    ) -> None:
        hidden = "sys.modules['llama_index'] = None"
        told, warned = self.run(source, tmp_path, before=hidden)
        assert told == "estimate|False|True"
        assert "conservative estimate" in warned
        assert list(tmp_path.iterdir()) == []

    def test_importing_and_building_reads_no_vocabulary(self) -> None:
        code = (
            "import sys, acms_adapters, acms_adapters.models\n"
            "from acms_adapters import ContextFragment\n"
            "ContextFragment(uko_node='n', content='text')\n"
            "print('tiktoken' in sys.modules)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == "False"

    def test_a_vocabulary_that_appears_later_is_used(self, fresh: Path) -> None:
        assert token_counter().name == "estimate"
        shutil.copy(bundled(), fresh)
        counter = token_counter()
        assert (counter.name, counter.exact) == ("cl100k_base", True)
        assert counter.count(TEXT) == CL100K.count(TEXT)

    def test_a_damaged_vocabulary_is_neither_used_nor_deleted(
        self, fresh: Path, network_attempts: list[str]
    ) -> None:
        damaged = fresh / bundled().name
        damaged.write_bytes(bundled().read_bytes()[:-1])
        assert token_counter().name == "estimate"
        assert damaged.exists()
        assert network_attempts == []

    def test_a_fetch_that_fails_falls_back_and_is_tried_again(
        self,
        fresh: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        online = False

        def read_file(address: str) -> bytes:
            if not online:
                raise ConnectionError("no route")
            return bundled().read_bytes()

        monkeypatch.setattr("tiktoken.load.read_file", read_file)
        assert token_counter(allow_download=True).name == "estimate"
        assert "no route" in caplog.text
        online = True
        assert token_counter(allow_download=True).name == "cl100k_base"

    def test_nothing_is_fetched_unless_asked_for(
        self, fresh: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def read_file(address: str) -> bytes:
            raise AssertionError(address)

        monkeypatch.setattr("tiktoken.load.read_file", read_file)
        for name in available_encodings():
            assert token_counter(name).name == "estimate"

    def test_the_environment_is_left_as_it_was(
        self, fresh: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copy(bundled(), fresh)
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
        monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(fresh))
        assert token_counter().name == "cl100k_base"
        assert "TIKTOKEN_CACHE_DIR" not in os.environ
        monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(fresh))
        assert token_counter().name == "cl100k_base"
        assert os.environ["TIKTOKEN_CACHE_DIR"] == str(fresh)


@pytest.mark.parametrize("name", sorted(VOCABULARIES))
def test_addresses_and_digests_are_those_of_tiktoken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, str] = {}

    class EnoughError(Exception):
        pass

    def load_tiktoken_bpe(address: str, expected_hash: str) -> dict[bytes, int]:
        asked[address] = expected_hash
        raise EnoughError

    def data_gym(**files: Any) -> dict[bytes, int]:
        asked[files["vocab_bpe_file"]] = files["vocab_bpe_hash"]
        asked[files["encoder_json_file"]] = files["encoder_json_hash"]
        raise EnoughError

    public = importlib.import_module("tiktoken_ext.openai_public")
    monkeypatch.setattr(public, "load_tiktoken_bpe", load_tiktoken_bpe)
    monkeypatch.setattr(public, "data_gym_to_mergeable_bpe_ranks", data_gym)
    with pytest.raises(EnoughError):
        public.ENCODING_CONSTRUCTORS[name]()
    assert asked == VOCABULARIES[name]


def test_every_encoding_of_tiktoken_is_known() -> None:
    public = importlib.import_module("tiktoken_ext.openai_public")
    assert set(public.ENCODING_CONSTRUCTORS) == set(VOCABULARIES)


COUNTERS: list[Callable[[], TokenCounter]] = [
    lambda: token_counter("cl100k_base"),
    lambda: token_counter("claude-sonnet-5"),
    lambda: token_counter("estimate"),
    lambda: token_counter(len),
    lambda: token_counter(HuggingFace()),
    lambda: token_counter(encoding("o200k_base")),
]


class TestCopies:
    @pytest.mark.parametrize("make", COUNTERS)
    def test_counters_survive_pickling_and_copying(self, make: Callable[[], TokenCounter]) -> None:
        counter = make()
        for again in (
            pickle.loads(pickle.dumps(counter)),
            copy.deepcopy(counter),
            copy.copy(counter),
        ):
            assert again.count(TEXT) == counter.count(TEXT)
            assert (again.name, again.exact) == (counter.name, counter.exact)

    def test_a_counter_whose_vocabulary_is_not_here_names_it(self, fresh: Path) -> None:
        pickled = pickle.dumps(CL100K)
        with pytest.raises(UnknownNameError, match="cl100k_base"):
            pickle.loads(pickled)


class TestThreads:
    def test_threads_that_load_at_once_get_one_counter(self, fresh: Path) -> None:
        shutil.copy(bundled(), fresh)
        barrier = threading.Barrier(8)

        def load() -> TokenCounter:
            barrier.wait()
            return token_counter()

        with ThreadPoolExecutor(8) as pool:
            counters = list(pool.map(lambda _: load(), range(8)))
        assert len({id(counter) for counter in counters}) == 1

    def test_threads_count_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tokens, "_CACHE_ENTRIES", 16)
        counter = EncodingCounter(encoding("cl100k_base"))
        texts = [f"{TEXT} {i}" for i in range(64)]
        expected = [CL100K.count(text) for text in texts]
        with ThreadPoolExecutor(8) as pool:
            for counted in pool.map(lambda _: [counter.count(t) for t in texts], range(8)):
                assert counted == expected


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_any_text_is_counted_by_every_counter(text: str) -> None:
    for make in COUNTERS:
        number = make().count(text)
        assert type(number) is int
        assert number >= 0
    assert isinstance(token_counter(len), CallableCounter)
