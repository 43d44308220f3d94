"""Words as a carefully set up BM25 would have them: stemmed, stop words out, identifiers split."""

from __future__ import annotations

import re

import snowballstemmer
from bm25s.stopwords import STOPWORDS_EN

_RUN = re.compile(r"[A-Za-z0-9_]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_stemmer = snowballstemmer.stemmer("english")
_stems: dict[str, str] = {}


def tokens(text: str) -> list[str]:
    """Tokens in order and with repeats; an identifier gives its parts."""
    parts = (part.lower() for run in _RUN.findall(text) for part in _PART.findall(run))
    return [_stem(part) for part in parts if part not in STOPWORDS_EN]


def _stem(word: str) -> str:
    if word not in _stems:
        _stems[word] = _stemmer.stemWord(word)
    return _stems[word]
