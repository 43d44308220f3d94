"""Finding by words (rulings B1, B2, B4, B5, B9, M7)."""

import math
import random
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acms_adapters.backends.analysis import query_terms, tokens
from acms_adapters.backends.sqlite import SQLiteStore, text
from acms_adapters.errors import RequestError
from acms_adapters.models import IndexedNode, IndexedResource
from acms_adapters.models.scores import calibrate, to_evidence

WEIGHTS = {
    False: ({"path": 2, "name": 3, "signature": 1, "doc": 1, "body": 0.75}, {}, 1.2),
    True: ({"title": 2, "body": 1}, {"title": 0.5}, 1.5),
}
WORDS = st.sampled_from(
    ["alpha", "beta", "gamma", "getUser", "get_user", "user", "故乡", "café", "x86", "🎉"]
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


def found(store: SQLiteStore, query: str, **options: Any) -> list[str]:
    return [hit.uko_node for hit in store.text.search(query, **options)]


def reference_scores(nodes: dict[str, dict[str, str]], query: str) -> dict[str, float]:
    """BM25F, written down once more as the documentation of `ranking` states it.

    Nodes without any word are no part of the corpus that is averaged over.
    """
    nodes = {u: said for u, said in nodes.items() if any(map(tokens, said.values()))}
    counts = {u: {f: tokens(t) for f, t in fields.items()} for u, fields in nodes.items()}
    prose = {u: "title" in fields for u, fields in nodes.items()}
    scores: dict[str, float] = {}
    for term in query_terms(query):
        size = len(term)

        def occurrences(found: list[str], term: tuple = term, size: int = size) -> int:
            return sum(tuple(found[i : i + size]) == term for i in range(len(found)))

        holders = [u for u in nodes if any(occurrences(t) for t in counts[u].values())]
        idf = math.log(1 + (len(nodes) - len(holders) + 0.5) / (len(holders) + 0.5))
        for uri in holders:
            weights, norms, k1 = WEIGHTS[prose[uri]]
            alike = [u for u in nodes if prose[u] == prose[uri]]
            weighed = 0.0
            for field, found_tokens in counts[uri].items():
                lengths = [len(counts[u].get(field, [])) for u in alike]
                average = max(1.0, sum(lengths) / len(alike))
                b = norms.get(field, 0.75)
                norm = 1 - b + b * len(found_tokens) / average
                if found_tokens:
                    weighed += weights[field] * occurrences(found_tokens) / norm
            scores[uri] = scores.get(uri, 0.0) + idf * weighed / (weighed + k1)
    return scores


# the public faults (cases.md C)


@pytest.mark.parametrize("query", ["???", "", " \n", "apples", "故乡", "🎉"])
def test_an_empty_or_tokenless_corpus_or_question_finds_nothing(
    store: SQLiteStore, make: Any, query: str
) -> None:
    assert found(store, query) == []
    store.replace(make.resource(make.node("empty"), make.node("marks", "!!!"), uri="r"))
    assert found(store, query) == []


def test_a_term_in_half_of_a_tiny_corpus_is_found_first(store: SQLiteStore, make: Any) -> None:
    store.replace(make.document("a", "apples"))
    store.replace(make.document("b", "pears"))
    assert found(store, "apples") == ["a"]
    assert found(store, "apples pears pears")[0] in ("a", "b")


def test_a_term_in_every_node_finds_every_node(store: SQLiteStore, make: Any) -> None:
    for uri in "cab":
        store.replace(make.document(uri, "the same apples"))
    hits = store.text.search("apples")
    assert [hit.uko_node for hit in hits] == ["a", "b", "c"]
    assert all(hit.score > 0 for hit in hits)
    assert found(store, "pears") == []


def test_b2_scripts_without_blanks_and_both_unicode_forms_are_found(
    store: SQLiteStore, make: Any
) -> None:
    store.replace(make.document("poem", "床前明月光，低头思故乡。"))
    store.replace(make.document("place", "a café downtown"))
    store.replace(make.document("far", "乡 and 故 apart"))
    assert found(store, "故乡") == ["poem"]
    assert found(store, "低头思故乡") == ["poem"]
    assert set(found(store, "乡")) == {"poem", "far"}
    assert found(store, "cafe\u0301") == found(store, "café") == found(store, "CAFE") == ["place"]


@pytest.mark.parametrize(
    ("kept", "query"),
    [
        ('say "hello there"', '"hello'),
        ("this AND that", "AND"),
        ("left OR right", "OR left)"),
        ("NEAR the shore", "NEAR(shore, 2)"),
        ("NOT a drill", "NOT"),
        ("star * and minus -x", "star*"),
        ("column : body", "body : column"),
        ("a^2 + b", "^a"),
        ("nul\x00byte", "nul\x00"),
        ("party 🎉 time", "🎉"),
        ("half \ud83d surrogate", "half \ud83d"),
        ("it's {curly} [square]", "{curly}"),
        ("path\\to\\file", "\\file"),
        ("100% sure; drop table nodes", "'; DROP TABLE nodes; --"),
    ],
)
def test_b2_what_looks_like_syntax_is_text(
    store: SQLiteStore, make: Any, kept: str, query: str
) -> None:
    store.replace(make.document("other", "something unrelated"))
    store.replace(make.document("d", kept))
    assert found(store, query) == ["d"]


@given(kept=st.text(st.characters(exclude_categories=())), data=st.data())
def test_b2_any_text_is_found_by_any_of_its_words(kept: str, data: st.DataObject) -> None:
    with SQLiteStore(None) as store:
        node = _plain("d", kept)
        store.replace(IndexedResource(resource_uri="d", content_hash="", nodes=(node,)))
        words = [word for word in kept.split() if tokens(word)]
        query = data.draw(st.sampled_from(words)) if words else kept
        assert found(store, query) == (["d"] if tokens(kept) else [])
        store.text.search(data.draw(st.text(st.characters(exclude_categories=()))))


# ranking


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.booleans(), TEXTS, TEXTS, TEXTS), min_size=1, max_size=8),
    TEXTS,
    st.data(),
)
def test_b9_the_order_is_that_of_bm25f_whatever_was_written_before(
    rows: list[tuple], query: str, data: st.DataObject
) -> None:
    """B9.kept."""
    nodes = {
        f"n{i}": {"title": a, "body": b} if is_prose else {"name": a, "body": b, "doc": c}
        for i, (is_prose, a, b, c) in enumerate(rows)
    }
    with SQLiteStore(None) as store:
        for uri in data.draw(st.permutations([*nodes, *nodes])):
            stale = {"name": "gamma", "doc": data.draw(TEXTS)}
            for fields in (stale, nodes[uri]):
                store.replace(_resource(uri, fields))
        expected = reference_scores(nodes, query)
        hits = store.text.search(query)
        assert {hit.uko_node for hit in hits} == expected.keys()
        order = sorted(expected, key=lambda uri: (-round(expected[uri], 9), uri))
        assert [hit.uko_node for hit in hits] == order or _nearly_equal(hits, expected)


def _nearly_equal(hits: list, expected: dict[str, float]) -> bool:
    scores = [expected[hit.uko_node] for hit in hits]
    return all(a >= b - 1e-9 for a, b in pairwise(scores))


def test_b9_where_a_word_stands_decides(store: SQLiteStore, make: Any) -> None:
    places = {"name": "merge", "path": "src/merge.py", "doc": "merge things", "body": "merge = y"}
    for place, said in places.items():
        fields = {"path": "src/a.py", "name": "other", "doc": "does it", "body": "x = y"}
        store.replace(make.resource(make.code(place, fields=fields | {place: said})))
    assert found(store, "merge") == ["name", "path", "doc", "body"]


def test_b9_a_title_counts_more_than_a_body(store: SQLiteStore, make: Any) -> None:
    store.replace(make.document("body", "installing it here", title="Other things"))
    store.replace(make.document("title", "some things here", title="Installing it"))
    assert found(store, "installation install") == ["title", "body"]


def test_b9_an_identifier_is_found_in_any_spelling(store: SQLiteStore, make: Any) -> None:
    store.replace(make.resource(make.code("f", "get_user_name")))
    store.replace(make.resource(make.code("g", "user")))
    for query in ("getUserName", "get-user-name", "GET_USER_NAME", "getusername"):
        assert found(store, query)[0] == "f"


def test_what_is_asked_for_is_found_among_much_that_is_common(
    store: SQLiteStore, make: Any
) -> None:
    nodes = [make.node(f"n{i:03d}", f"common words again number{i}") for i in range(400)]
    store.replace(make.resource(*nodes, uri="r"))
    assert found(store, "common number377 words")[0] == "n377"
    assert len(found(store, "common words", max_results=1000)) == 400


def test_scores_are_relevance_in_the_order_of_the_raw_ones(store: SQLiteStore, make: Any) -> None:
    for i in range(30):
        store.replace(make.document(f"d{i:02d}", "apple " * (i % 5 + 1) + "filler " * (i % 7)))
    store.replace(make.document("rare", "apple zebra"))
    hits = store.text.search("apple zebra", max_results=40)
    scores = [hit.score for hit in hits]
    assert hits[0].uko_node == "rare"
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 < score < 1.0 for score in scores)


def test_m7_evidence_agrees_with_mean_and_deviation_over_the_whole_index(make: Any) -> None:
    """M7.index."""
    chance = random.Random(5)
    words = ["".join(chance.choices("bcdfghklmnpqrtvwxz", k=7)) for _ in range(400)]
    weights = [1 / (place + 5) for place in range(400)]

    def text_of(length: int) -> str:
        return " ".join(chance.choices(words, weights, k=length))

    nodes = {
        f"n{i}": {"path": text_of(3), "name": text_of(2), "body": text_of(5 + i % 90)}
        for i in range(800)
    }
    query = " ".join(words[place] for place in (0, 7, 40, 90, 200))
    scores = reference_scores(nodes, query)
    every = [scores.get(uri, 0.0) for uri in nodes]
    mean = sum(every) / len(every)
    deviation = math.sqrt(sum((s - mean) ** 2 for s in every) / len(every))
    with SQLiteStore(None) as store:
        with store.transaction():
            for uri, fields in nodes.items():
                store.replace(_resource(uri, fields))
        hits = store.text.search(query, max_results=50)
    exact = calibrate([scores[h.uko_node] for h in hits], mean=mean, deviation=deviation)
    for hit, score in zip(hits, exact, strict=True):
        assert to_evidence(hit.score) == pytest.approx(to_evidence(score), rel=0.35, abs=0.5)


def test_m7_rare_terms_of_a_large_index_still_differ(store: SQLiteStore, make: Any) -> None:
    with store.transaction():
        for i in range(300):
            store.replace(make.document(f"d{i}", f"filler{i} text"))
        store.replace(make.document("once", "zebra stripes and more words about it"))
        store.replace(make.document("twice", "zebra zebra"))
    twice, once = store.text.search("zebra")
    assert (twice.uko_node, once.uko_node) == ("twice", "once")
    assert round(twice.score, 6) > round(once.score, 6)


# reading and cutting


def test_common_terms_are_not_read_where_rarer_ones_give_enough(
    store: SQLiteStore, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [make.node(f"n{i:03d}", "common" + " rare" * (i % 50 == 0)) for i in range(200)]
    store.replace(make.resource(*nodes, uri="r"))
    monkeypatch.setattr(text, "POSTINGS", 10)
    read: Counter[tuple] = Counter()
    ranked = text._ranked

    def count(connection: Any, terms: Any, *rest: Any) -> list[int]:
        read[tuple(term.term for term in terms)] += 1
        return ranked(connection, terms, *rest)

    monkeypatch.setattr(text, "_ranked", count)
    assert len(found(store, "common rare", max_results=4)) == 4
    assert read == {(("rare",),): 1}
    assert len(found(store, "common rare", max_results=20)) == 20
    assert read[(("common",),)] == 1
    assert len(found(store, "common", max_results=7)) == 7


@pytest.mark.parametrize("asked", [0, 1, 3, 10])
def test_at_most_as_many_as_asked_for(store: SQLiteStore, make: Any, asked: int) -> None:
    for i in range(3):
        store.replace(make.document(f"d{i}", "apples"))
    assert len(found(store, "apples", max_results=asked)) == min(asked, 3)


def test_a_request_that_cannot_be_is_refused(store: SQLiteStore) -> None:
    with pytest.raises(RequestError, match="-1"):
        store.text.search("x", max_results=-1)
    with pytest.raises(RequestError, match="scope must be a list"):
        store.text.search("x", scope="project://a")
    with pytest.raises(RequestError, match="resource_types must be a list"):
        store.text.search("x", resource_types="document")


def test_a_question_may_be_very_long(store: SQLiteStore, make: Any) -> None:
    store.replace(make.document("d", "needle"))
    assert found(store, " ".join(f"word{i}" for i in range(20_000)) + " needle") == ["d"]


# filters


@pytest.fixture
def projects(store: SQLiteStore, make: Any) -> SQLiteStore:
    for uri, kind, metadata in (
        ("project://app/src/a.py", "source_file", {"lang": "py", "n": 1}),
        ("project://app/src/a.py#run", "source_file", {"lang": "py", "tags": ["x", "y"]}),
        ("project://app/srcs/b.py", "test", {"lang": "js", "n": 1.0, "who": None}),
        ("project://application/c.md", "document", {"lang": "md", "n": True}),
    ):
        store.replace(
            make.document(uri, "apples", resource_type=kind, metadata=metadata, resource=uri)
        )
    return store


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "a.py a.py#run b.py c.md"),
        ({"scope": []}, "a.py a.py#run b.py c.md"),
        ({"scope": ["project://app"]}, "a.py a.py#run b.py"),
        ({"scope": ["project://app/src/"]}, "a.py a.py#run"),
        ({"scope": ["project://app/src/a.py"]}, "a.py a.py#run"),
        ({"scope": ["project://app/src/a.py#run"]}, "a.py#run"),
        ({"scope": ["project://app/sr"]}, ""),
        ({"scope": ["project://app/srcs", "project://application"]}, "b.py c.md"),
        ({"scope": ["project://"]}, "a.py a.py#run b.py c.md"),
        ({"resource_types": []}, "a.py a.py#run b.py c.md"),
        ({"resource_types": ["test"]}, "b.py"),
        ({"resource_types": ["test", "document"]}, "b.py c.md"),
        ({"resource_types": ["test"], "scope": ["project://app/src"]}, ""),
        ({"metadata_filter": {}}, "a.py a.py#run b.py c.md"),
        ({"metadata_filter": {"lang": "py"}}, "a.py a.py#run"),
        ({"metadata_filter": {"lang": ["py", "md"]}}, "a.py a.py#run c.md"),
        ({"metadata_filter": {"n": 1}}, "a.py b.py"),
        ({"metadata_filter": {"n": True}}, "c.md"),
        ({"metadata_filter": {"tags": "x"}}, "a.py#run"),
        ({"metadata_filter": {"tags": ("x", "y")}}, "a.py#run"),
        ({"metadata_filter": {"who": None, "lang": "js"}}, "b.py"),
        ({"metadata_filter": {"tags": []}}, ""),
        ({"metadata_filter": {"lang": "py"}, "resource_types": ["test"]}, ""),
    ],
)
def test_filters_hold(projects: SQLiteStore, options: dict[str, Any], expected: str) -> None:
    names = [uri.rsplit("/", 1)[1] for uri in found(projects, "apples", **options)]
    assert sorted(names) == expected.split()
    uris = [hit.uko_node for hit in projects.text.search("apples")]
    there = [hit.uko_node for hit in projects.graph.get(uris, **options)]
    assert sorted(uri.rsplit("/", 1)[1] for uri in there) == expected.split()


def test_b5_a_scope_holds_a_node_by_its_resource_too(store: SQLiteStore, make: Any) -> None:
    store.replace(make.document("id-7", "apples", resource="notes/a.md"))
    assert found(store, "apples", scope=["notes"]) == ["id-7"]
    assert found(store, "apples", scope=["note"]) == []


@pytest.mark.parametrize(
    "options",
    [
        {"scope": ["project://small"]},
        {"resource_types": ["test"]},
        {"metadata_filter": {"owner": "me"}},
        {"metadata_filter": {"absent": None}},
    ],
)
def test_filters_never_empty_a_result_that_exists(
    store: SQLiteStore, make: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "POSTINGS", 20)
    monkeypatch.setattr(text, "CANDIDATES", 5)
    with store.transaction():
        for i in range(150):
            better = "common common rare"
            store.replace(make.document(f"project://big/{i}", better, metadata={"absent": i}))
        worst = "common and a good many other words that make it long"
        store.replace(
            make.document(
                "project://small/x", worst, resource_type="test", metadata={"owner": "me"}
            )
        )
    assert found(store, "rare common", max_results=2, **options) == ["project://small/x"]


# what a hit carries


def test_a_hit_carries_all_that_went_in(store: SQLiteStore, make: Any) -> None:
    made = datetime(2020, 5, 1, 12, 30, 15, 250, tzinfo=timezone(timedelta(hours=2)))
    node = make.code(
        "project://a/x.py#f",
        "f",
        renderings={2: "def f()", 9: "def f(): ..."},
        searched_depth=9,
        location="lines 1-2",
        metadata={"k": (1, 2)},
        tier="hot",
        created_at=made,
    )
    store.replace(make.resource(node), token_counts={("project://a/x.py#f", 9): 5})
    (hit,) = store.text.search("f")
    assert (hit.content, hit.detail_depth, hit.token_count) == ("def f(): ...", 9, 5)
    assert hit.provenance is not None
    assert hit.provenance.resource_uri == "project://a/x.py"
    assert (hit.provenance.location, hit.provenance.resource_type) == ("lines 1-2", "source_file")
    assert (hit.tier, hit.metadata) == ("hot", {"k": [1, 2]})
    assert hit.created_at == made
    assert hit.created_at.tzinfo is UTC
    assert store.graph.get([hit.uko_node])[0].metadata == hit.metadata


def test_m8_a_naive_time_is_utc(store: SQLiteStore, make: Any) -> None:
    store.replace(make.document("d", "apples", created_at=datetime(2020, 1, 1)))
    assert store.text.search("apples")[0].created_at == datetime(2020, 1, 1, tzinfo=UTC)


def test_what_a_caller_does_to_a_hit_reaches_nobody(store: SQLiteStore, make: Any) -> None:
    metadata = {"list": [1]}
    store.replace(make.document("d", "apples", metadata=metadata))
    store.text.search("apples")[0].metadata["list"].append(2)
    store.graph.get(["d"])[0].metadata.clear()
    assert store.text.search("apples")[0].metadata == {"list": [1]}
    assert metadata == {"list": [1]}


def _plain(uri: str, body: str) -> Any:
    return _resource(uri, {"title": "", "body": body}).nodes[0]


def _resource(uri: str, fields: dict[str, str]) -> IndexedResource:
    node = IndexedNode(uko_node=uri, kind="x", resource_uri=uri, fields=fields)
    return IndexedResource(resource_uri=uri, content_hash="", nodes=(node,))
