"""Strategies of both protocol forms can be used as one (ruling S1)."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any
from unittest.mock import MagicMock

import pytest

from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextRequest,
    PlanContext,
    Rendering,
    SearchHit,
    StrategyCapabilities,
    StrategyOptions,
)
from acms_adapters.pipeline.spec_adapter import SpecStrategyAdapter, missing_backends
from acms_adapters.protocols import BackendSet


class Form:
    """A strategy whose two methods have the given signatures."""

    def __init__(self, can_handle: Any, assemble: Any) -> None:
        self.name = "formed"
        self.capabilities = StrategyCapabilities()
        self.can_handle = can_handle
        self.assemble = assemble


def fragment(node: str, **fields: Any) -> ContextFragment:
    return ContextFragment(uko_node=node, content=node, **{"token_count": 10, **fields})


NO_PLAN = PlanContext()


def test_the_options_of_a_bridged_strategy_stay_visible() -> None:
    strategy = Form(lambda request: 1, lambda fragments, budget: [])
    assert SpecStrategyAdapter(strategy).options is None
    strategy.options = StrategyOptions(timeout_seconds=5)  # type: ignore[attr-defined]
    assert SpecStrategyAdapter(strategy).options.timeout_seconds == 5


def test_s1_a_native_strategy_is_used_as_it_is(stub: Any) -> None:
    strategy = stub("native", uses_text=True)
    assert SpecStrategyAdapter.bridge(strategy) is strategy
    assert missing_backends(strategy, BackendSet()) == ("text",)


def test_s1_an_adapter_may_hold_a_native_strategy_too(stub: Any) -> None:
    adapter = SpecStrategyAdapter(stub("native", 0.7, uses_graph=True))
    assert adapter.can_handle(ContextRequest(), BackendSet()) == 0.7
    assert adapter.missing(BackendSet()) == ("graph",)
    found = adapter.assemble(ContextRequest(), BackendSet(), ContextBudget(max_tokens=20), NO_PLAN)
    assert [f.content for f in found] == ["native"]
    assert SpecStrategyAdapter.bridge(adapter) is adapter.strategy


def wrapped(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


@pytest.mark.parametrize(
    ("can_handle", "assemble", "form"),
    [
        (lambda request, backends: 1, lambda request, backends, budget, plan_context: [], "native"),
        (lambda r, b: 1, lambda r, b, t, p: [], "native"),
        (lambda r, backends=None: 1, lambda r, b, t, p=None: [], "native"),
        (lambda *args: 1, lambda request, backends, *rest: [], "native"),
        (lambda r, b: 1, lambda *args, **kwargs: [], "native"),
        (lambda request: 1, lambda fragments, budget: [], "short"),
        (lambda asked: 1, lambda pool, tokens: [], "short"),
        (lambda request: 1, lambda fragments, budget, depth=3: [], "short"),
        (lambda request, **options: 1, lambda fragments, budget, *, strict=True: [], "short"),
        (lambda *args: 1, lambda fragments, budget: [], "short"),
        (wrapped(lambda request: 1), wrapped(lambda fragments, budget: []), "short"),
    ],
)
def test_s1_the_form_is_told_by_names_then_by_number(
    can_handle: Any, assemble: Any, form: str
) -> None:
    """S1.form."""
    strategy = Form(can_handle, assemble)
    bridged = SpecStrategyAdapter.bridge(strategy)
    assert (bridged is strategy) == (form == "native")


@pytest.mark.parametrize(
    ("can_handle", "assemble"),
    [
        (lambda *args: 1, lambda *args: []),
        (lambda request: 1, lambda a, b, c: []),
        (lambda request: 1, lambda request, backends, budget, plan_context: []),
        (lambda request, backends: 1, lambda fragments, budget: []),
        (lambda request: 1, lambda request, fragments, budget, backends: []),
        (lambda request: 1, lambda *, fragments, budget: []),
        (lambda: 1, lambda fragments, budget: []),
    ],
)
def test_s1_a_doubtful_form_is_a_type_error_that_says_what_is_expected(
    can_handle: Any, assemble: Any
) -> None:
    """S1.doubt."""
    with pytest.raises(TypeError, match=r"cannot tell the form of 'formed'.*expected name") as told:
        SpecStrategyAdapter.bridge(Form(can_handle, assemble))
    assert "assemble(fragments, budget)" in str(told.value)


@pytest.mark.parametrize(
    ("thing", "told"),
    [
        (SpecStrategyAdapter, "is a class; give an instance"),
        (object(), "has no name, capabilities, can_handle, assemble; expected"),
        (MagicMock(), "must be a non-empty string"),
    ],
)
def test_s1_what_is_no_strategy_is_a_type_error(thing: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        SpecStrategyAdapter.bridge(thing)


def test_s1_capabilities_of_another_kind_are_a_type_error() -> None:
    strategy = Form(lambda request: 1, lambda fragments, budget: [])
    strategy.capabilities = {"uses_text": True}  # type: ignore[assignment]
    with pytest.raises(TypeError, match="must be StrategyCapabilities, not"):
        SpecStrategyAdapter.bridge(strategy)


class Text:
    def __init__(self, *hits: SearchHit, error: Exception | None = None) -> None:
        self.hits = hits
        self.error = error
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def search(self, query: str, **options: Any) -> Sequence[SearchHit]:
        self.asked.append((query, options))
        if self.error:
            raise self.error
        return self.hits


class Vector(Text):
    def search_text(self, query: str, **options: Any) -> Sequence[SearchHit]:
        return self.search(query, **options)


class Embedded(Text):
    def similarity_search(self, embedding: Any, **options: Any) -> Sequence[SearchHit]:
        return self.search(str(embedding), **options)


class Embedder:
    name = "letters"
    dimensions = 1
    similarity_threshold = 0.5

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text))]


class Renderings:
    def at(self, node: str, depth: int) -> Rendering | None:
        return Rendering(uko_node=node, detail_depth=2, content="short") if node == "b" else None

    def depths(self, node: str) -> list[int]:
        return [2]


def given_to_short_form(request: ContextRequest, backends: BackendSet) -> list[ContextFragment]:
    given: list[ContextFragment] = []
    strategy = Form(lambda request: 1, lambda fragments, budget: given.extend(fragments) or [])
    SpecStrategyAdapter.bridge(strategy).assemble(
        request, backends, ContextBudget(max_tokens=9), NO_PLAN
    )
    return given


def test_s1_candidates_come_before_any_search() -> None:
    """S1.candidates."""
    text = Text(SearchHit(uko_node="a", content="a"))
    pool = (fragment("mine"),)
    given = given_to_short_form(ContextRequest(query="q"), BackendSet(text=text, candidates=pool))
    assert given == list(pool)
    assert text.asked == []


def test_s1_without_candidates_it_gets_text_and_vector_hits_best_first_and_once() -> None:
    """S1.candidates."""
    text = Text(
        SearchHit(uko_node="a", content="A", score=0.4, metadata={"x": 1}, tier="hot"),
        SearchHit(uko_node="b", content="B", score=0.3, token_count=7),
    )
    vector = Vector(SearchHit(uko_node="a", content="A", score=0.9))
    request = ContextRequest(keywords=["two", "words"], scope=["p"], resource_types=["test"])
    given = given_to_short_form(request, BackendSet(text=text, vector=vector))
    assert [(f.uko_node, f.relevance_score) for f in given] == [("a", 0.9), ("b", 0.3)]
    assert given[1].token_count == 7
    ((query, options),) = text.asked
    assert query == "two words"
    assert options["scope"] == ("p",)
    assert options["resource_types"] == ("test",)


def test_s1_a_vector_store_that_does_not_embed_gets_the_embedded_question() -> None:
    vector = Embedded(SearchHit(uko_node="a", content="A", score=0.9))
    given = given_to_short_form(
        ContextRequest(query="four"), BackendSet(vector=vector, embedder=Embedder())
    )
    assert [f.uko_node for f in given] == ["a"]
    assert vector.asked[0][0] == "[4.0]"
    assert vector.asked[0][1]["min_similarity"] == 0.5


def test_a_hit_without_text_takes_it_from_the_renderings_or_is_skipped() -> None:
    text = Text(SearchHit(uko_node="a"), SearchHit(uko_node="b", detail_depth=9))
    given = given_to_short_form(
        ContextRequest(query="q"), BackendSet(text=text, renderings=Renderings())
    )
    assert [(f.content, f.detail_depth) for f in given] == [("short", 2)]


def test_a_hit_that_can_be_no_fragment_is_skipped() -> None:
    text = Text(SearchHit(uko_node="", content="x"), SearchHit(uko_node="b", content="fine"))
    given = given_to_short_form(ContextRequest(query="q"), BackendSet(text=text))
    assert [f.content for f in given] == ["fine"]


def test_m7_foreign_scores_are_mapped_into_range_keeping_their_order() -> None:
    text = Text(
        SearchHit(uko_node="a", content="a", score=12.0),
        SearchHit(uko_node="b", content="b", score=3.0),
        SearchHit(uko_node="c", content="c", score=float("nan")),
    )
    given = given_to_short_form(ContextRequest(query="q"), BackendSet(text=text))
    assert [f.uko_node for f in given] == ["a", "b", "c"]
    assert 1.0 >= given[0].relevance_score > given[1].relevance_score > 0.0
    assert given[2].relevance_score == 0.0


def test_one_failing_backend_does_not_take_the_other_ones_hits() -> None:
    vector = Vector(SearchHit(uko_node="a", content="A", score=0.9))
    backends = BackendSet(text=Text(error=OSError("gone")), vector=vector)
    given = given_to_short_form(ContextRequest(query="q"), backends)
    assert [f.uko_node for f in given] == ["a"]


@pytest.mark.parametrize(
    "nonsense", [None, "text", [None], [7], [SearchHit(uko_node="a", score=None)]]
)
def test_one_backend_that_answers_nonsense_does_not_take_the_other_ones_hits(
    nonsense: Any,
) -> None:
    text = Text()
    text.hits = nonsense
    vector = Vector(SearchHit(uko_node="a", content="A", score=0.9))
    given = given_to_short_form(ContextRequest(query="q"), BackendSet(text=text, vector=vector))
    assert [f.uko_node for f in given] == ["a"]


def test_an_answer_without_end_is_read_as_far_as_was_asked_for() -> None:
    text = Text()
    text.hits = itertools.repeat(SearchHit(uko_node="a", content="A"))
    given = given_to_short_form(ContextRequest(query="q"), BackendSet(text=text))
    assert [f.uko_node for f in given] == ["a"]


def test_when_every_backend_fails_the_failure_is_told() -> None:
    backends = BackendSet(text=Text(error=OSError("gone")))
    with pytest.raises(OSError, match="gone"):
        given_to_short_form(ContextRequest(query="q"), backends)


def test_a_request_without_words_gives_nothing_to_rank() -> None:
    assert given_to_short_form(ContextRequest(focus_nodes=["a"]), BackendSet(text=Text())) == []
