"""Words of the text index (rulings B2, B9)."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.backends import analysis
from acms_adapters.backends.analysis import fold, is_stop_word, query_terms, stem, tokens, words

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["getusername", "get", "user", "name"]),
        ("get_user_name", ["getusername", "get", "user", "name"]),
        ("get-user-name", ["getusername", "get", "user", "name"]),
        ("getusername", ["getusernam"]),
        ("HTTPResponse", ["httpresponse", "http", "respons"]),
        ("utf8", ["utf8", "utf", "8"]),
        ("sha256sum", ["sha256sum", "sha", "256", "sum"]),
        ("__init__", ["init"]),
        ("_", []),
        ("os.path.join", ["os", "path", "join"]),
        ("2024-01-15", ["20240115", "2024", "01", "15"]),
        ("running runs", ["run", "run"]),
        ("don't", ["don", "t"]),
        ("Straße", ["strass"]),
        ("ПриветМир", ["приветмир", "привет", "мир"]),
        ("हिन्दी", ["हिन्दी"]),
    ],
)
def test_b9_identifiers_are_split_and_joined_and_words_stemmed(
    text: str, expected: list[str]
) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "cafe\u0301"),
        ("café", "CAFE"),
        ("ﬁle", "file"),
        ("ＡＢＣ", "abc"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("soft\u00adhyphen", "softhyphen"),
        ("naïve", "naive"),
    ],
)
def test_b2_forms_of_one_text_meet(one: str, other: str) -> None:
    assert tokens(one) == tokens(other)


@given(ANY_TEXT)
def test_b2_composed_and_decomposed_text_are_one(text: str) -> None:
    assert tokens(unicodedata.normalize("NFD", text)) == tokens(unicodedata.normalize("NFC", text))


def test_marks_that_make_another_letter_stay() -> None:
    assert fold("が") == "が"
    assert tokens("한국어") == ["한", "국", "어"]


def test_scripts_without_blanks_are_single_characters_asked_for_in_pairs() -> None:
    assert tokens("低头思故乡") == ["低", "头", "思", "故", "乡"]
    assert query_terms("故乡") == (("故", "乡"),)
    assert query_terms("思故乡") == (("思", "故"), ("故", "乡"))
    assert query_terms("乡") == (("乡",),)
    assert tokens("2024年") == ["2024", "年"]


def test_symbols_stand_for_themselves_and_drawings_for_nothing() -> None:
    assert tokens("🎉🎉 👩\u200d💻 € ≤ ─── �") == ["🎉", "👩", "💻", "€", "≤"]
    assert tokens("!?… <-> \x00 \ud83d") == []


def test_stop_words_leave_a_question_unless_it_has_nothing_else() -> None:
    assert query_terms("what is the parser for") == (("parser",),)
    assert query_terms("is_valid") == (("isvalid",), ("valid",))
    assert query_terms("to be or not") == (("to",), ("be",), ("or",), ("not",))
    assert query_terms("does it sing") == (("sing",),)
    assert "the" in tokens("the parser")
    assert is_stop_word("The")
    assert not is_stop_word("Parser")


def test_a_question_asks_for_each_term_once_as_it_is_and_as_its_stem() -> None:
    assert query_terms("parse parser parse") == (("pars",), ("parse",), ("parser",))


@pytest.mark.parametrize("word", ["getUserNames", "get_user_names", "getusernames", "GetUserNames"])
@pytest.mark.parametrize("kept", ["getUserNames", "get-user-names", "getusernames", "GETUSERNAMES"])
def test_b9_a_word_is_asked_for_in_every_way_it_may_be_kept(word: str, kept: str) -> None:
    whole = {(token,) for token in ("getusernames", stem("getusernames"))}
    assert whole <= set(query_terms(word))
    assert whole & {(token,) for token in tokens(kept)}


def test_long_runs_are_data_and_give_one_short_token() -> None:
    assert [len(token) for token in tokens("a" * 100_000)] == [100]
    assert len(tokens("aB3" * 200)) == 1
    assert tokens("one-two-" * 100) == ["one", "two"] * 100
    assert tokens("x_" * 100_000) == ["x" * 100]


@given(ANY_TEXT)
def test_tokens_hold_nothing_that_an_index_could_take_for_syntax(text: str) -> None:
    for token in tokens(text):
        assert token
        assert all(c.isalnum() or ord(c) > 127 for c in token)
        token.encode("utf-8")


@given(ANY_TEXT)
def test_what_is_kept_is_found_by_the_same_text(text: str) -> None:
    kept = tokens(text)
    asked = query_terms(text)
    assert bool(kept) == bool(asked)
    pairs = set(pairwise(kept))
    assert not kept or any(t in pairs if len(t) == 2 else t[0] in kept for t in asked)


def test_words_of_titles_keep_their_place() -> None:
    text = "The Breadth-Depth navigator, 故乡"
    found = words(text)
    assert [word for word, _, _ in found] == ["the", "breadth", "depth", "navigator", "故", "乡"]
    assert [text[start:end].casefold() for _, start, end in found] == [w for w, _, _ in found]


def test_threads_get_the_stems_that_one_thread_gets() -> None:
    given_words = [f"{a}{b}" for a in ("nation", "relat", "happi", "gener") for b in _ENDINGS]
    alone = [analysis._stemmer.stemWord(word) for word in given_words]
    stem.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: list(map(stem, given_words)), range(8)))
    assert found == [alone] * 8


_ENDINGS = ("al", "ally", "ing", "ed", "ness", "ization", "ative", "ically", "ions", "ous", "ously")
