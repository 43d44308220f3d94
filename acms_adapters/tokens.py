"""Counting tokens: tiktoken with a vocabulary that is already here, and a stated estimate.

Vocabularies are looked for in tiktoken's own cache, then in the installed llama-index-core, which
carries ``cl100k_base`` and ``o200k_base``. Nothing is downloaded unless asked for.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import math
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import contextmanager
from functools import lru_cache, partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acms_adapters.errors import UnknownNameError
from acms_adapters.models.base import repair_text
from acms_adapters.models.estimate import estimate_tokens
from acms_adapters.models.vocabularies import VOCABULARIES
from acms_adapters.protocols import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tiktoken

logger = logging.getLogger("acms_adapters")

DEFAULT_ENCODING = "cl100k_base"
UNKNOWN_MODEL_FACTOR = 1.2
"""An unknown model is charged a fifth more than the fallback encoding says (ruling A6)."""

_CACHE_ENTRIES = 8192
_SHARED = 64  # counters
_CACHE_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")

_lock = threading.Lock()
_warned: set[str] = set()


class EncodingCounter:
    """Counts by a tiktoken encoding, special tokens as plain text.

    Args:
        encoding: The encoding.
        factor: Charged on top, for models whose own tokenizer is not known.
        name: What it says it counts by.
    """

    def __init__(
        self, encoding: tiktoken.Encoding, *, factor: float = 1.0, name: str | None = None
    ) -> None:
        self._encoding = encoding
        self._factor = factor
        self.name = name or encoding.name
        self.exact = factor == 1.0
        # by digest, so that counting long texts does not keep them in memory
        self._cache: OrderedDict[bytes, int] = OrderedDict()
        self._cache_lock = threading.Lock()

    def count(self, text: str) -> int:
        """Number of tokens of `text`."""
        text = repair_text(text)
        key = hashlib.blake2b(text.encode(), digest_size=16).digest()
        with self._cache_lock:
            known = self._cache.get(key)
            if known is not None:
                self._cache.move_to_end(key)
                return known
        number = len(self._encoding.encode_ordinary(text))
        if self._factor != 1.0:
            number = math.ceil(number * self._factor)
        with self._cache_lock:
            self._cache[key] = number
            if len(self._cache) > _CACHE_ENTRIES:
                self._cache.popitem(last=False)
        return number

    def __getstate__(self) -> dict[str, Any]:
        return {"encoding": self._encoding.name, "factor": self._factor, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        encoding = _load_encoding(state["encoding"], allow_download=False)
        if encoding is None:
            raise UnknownNameError("encoding", state["encoding"], available_encodings())
        self.__init__(encoding, factor=state["factor"], name=state["name"])  # type: ignore[misc]


class EstimateCounter:
    """Counts without a vocabulary, rather too many than too few."""

    name = "estimate"
    exact = False

    def count(self, text: str) -> int:
        """Estimated number of tokens of `text`."""
        return estimate_tokens(text)


class CallableCounter:
    """Counts by a function of the caller that gives a number of tokens or the tokens."""

    def __init__(self, function: Callable[[str], Any], *, name: str | None = None) -> None:
        self._function = function
        self.name: str = name or str(getattr(function, "__name__", type(function).__name__))
        self.exact = True

    def count(self, text: str) -> int:
        """Number of tokens of `text`."""
        counted = self._function(repair_text(text))
        return int(counted) if isinstance(counted, Integral) else len(counted)


def token_counter(source: Any = None, *, allow_download: bool = False) -> TokenCounter:
    """Find out how to count.

    Args:
        source: A `TokenCounter`; the name of an encoding or of a model; a chat model with
            `model_name` or `model`; a Hugging Face tokenizer or anything with `encode`; a function
            from text to a number or to tokens. None means ``cl100k_base``.
        allow_download: Let tiktoken fetch a vocabulary that is not here.

    Returns:
        A counter. `exact` is False when the model is unknown (the fallback encoding x 1.2, ruling
        A6) or when no vocabulary is here (an estimate); both are logged once as a warning.

    Raises:
        ValueError: `source` is nothing that can count, or an empty name.
    """
    if source is None:
        return _named(DEFAULT_ENCODING, allow_download=allow_download)
    if isinstance(source, str):
        return _named(source, allow_download=allow_download)
    if isinstance(source, TokenCounter) and not isinstance(source, type):
        return source
    if (counts := _own_method(source)) is not None:
        return counts
    for attribute in ("model_name", "model"):
        if isinstance(name := getattr(source, attribute, None), str) and name:
            return _named(name, allow_download=allow_download)
    if callable(source):
        return CallableCounter(source)
    raise ValueError(
        f"cannot count tokens with {source!r}: pass an encoding or model name, a chat model, a "
        "tokenizer with encode(), or a function from text to a number"
    )


def available_encodings() -> tuple[str, ...]:
    """Names of the tiktoken encodings, whether or not their vocabulary is here."""
    import tiktoken

    return tuple(tiktoken.list_encoding_names())


def _own_method(source: Any) -> TokenCounter | None:
    if isinstance(source, type | str):
        return None
    name = getattr(source, "name", None) or getattr(source, "name_or_path", None)
    if callable(encode := getattr(source, "encode_ordinary", None)):
        return CallableCounter(encode, name=name or type(source).__name__)
    if callable(encode := getattr(source, "encode", None)):
        try:  # a Hugging Face tokenizer adds its markers unless it is told not to
            encode("x", add_special_tokens=False)
        except TypeError:
            return CallableCounter(encode, name=name or type(source).__name__)
        plain = partial(encode, add_special_tokens=False)
        return CallableCounter(plain, name=name or type(source).__name__)
    return None


def _named(name: str, *, allow_download: bool) -> TokenCounter:
    if not name.strip():
        raise ValueError(f"a tokenizer's name must not be empty, got {name!r}")
    if name == EstimateCounter.name:
        return EstimateCounter()
    encoding_name = _encoding_of(name)
    known = encoding_name is not None
    encoding = _load_encoding(encoding_name or DEFAULT_ENCODING, allow_download=allow_download)
    if encoding is None:
        _warn_once(
            f"no vocabulary for {name!r} is here: token counts are a conservative estimate. "
            "Install 'acms-adapters[llama-index]' for cl100k_base and o200k_base, or pass "
            "allow_download=True"
        )
        return EstimateCounter()
    if known:
        return _shared(encoding, 1.0, encoding.name)
    _warn_once(
        f"unknown model {name!r}: counting with {DEFAULT_ENCODING} x {UNKNOWN_MODEL_FACTOR}, "
        "which is inexact; pass the model's own tokenizer for exact counts"
    )
    label = f"{DEFAULT_ENCODING} x {UNKNOWN_MODEL_FACTOR} for {name}"
    return _shared(encoding, UNKNOWN_MODEL_FACTOR, label)


@lru_cache(maxsize=_SHARED)
def _shared(encoding: tiktoken.Encoding, factor: float, name: str) -> EncodingCounter:
    # one counter for each, so that its cache serves every call and every pipeline of the process
    return EncodingCounter(encoding, factor=factor, name=name)


def _encoding_of(name: str) -> str | None:
    import tiktoken

    if name in tiktoken.list_encoding_names():
        return name
    try:
        return tiktoken.encoding_name_for_model(name)
    except KeyError:
        return None


def _load_encoding(name: str, *, allow_download: bool) -> tiktoken.Encoding | None:
    import tiktoken
    from tiktoken import registry

    if name in registry.ENCODINGS:
        return tiktoken.get_encoding(name)
    for folder in _vocabulary_folders(name):
        try:
            with _cache_folder(folder):
                return tiktoken.get_encoding(name)
        except Exception as error:  # whatever is wrong with one copy, the next may serve
            logger.debug("vocabulary %s not usable in %s: %r", name, folder, error)
    if allow_download:
        try:
            return tiktoken.get_encoding(name)
        except Exception as error:  # the next call tries again
            logger.warning("vocabulary %s cannot be fetched: %r", name, error)
    return None


def _vocabulary_folders(name: str) -> list[Path]:
    """Folders that hold the whole vocabulary; in any other, tiktoken would try to fetch it."""
    own = next((os.environ[v] for v in _CACHE_VARIABLES if os.environ.get(v)), None)
    folders = [Path(own) if own else Path(tempfile.gettempdir()) / "data-gym-cache"]
    if importlib.util.find_spec("llama_index"):
        core = importlib.util.find_spec("llama_index.core")  # found, not executed
        if core and core.origin:
            folders.append(Path(core.origin).parent / "_static" / "tiktoken_cache")
    files = VOCABULARIES.get(name, {})
    return [f for f in folders if files and all(_is_whole(f, *item) for item in files.items())]


def _is_whole(folder: Path, address: str, digest: str) -> bool:
    # tiktoken deletes a damaged file and fetches it again, which nobody asked for
    file = folder / hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == digest


@contextmanager
def _cache_folder(folder: Path) -> Iterator[None]:
    # tiktoken reads its cache folder from the environment only
    with _lock:
        before = os.environ.get(_CACHE_VARIABLES[0])
        os.environ[_CACHE_VARIABLES[0]] = str(folder)
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(_CACHE_VARIABLES[0], None)
            else:
                os.environ[_CACHE_VARIABLES[0]] = before


def _warn_once(message: str) -> None:
    with _lock:
        if message in _warned:
            return
        _warned.add(message)
    logger.warning(message)
