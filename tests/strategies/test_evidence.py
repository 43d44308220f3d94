"""What the first hits say together: both arms, and what stands beside a node in its file."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acms_adapters.models import FragmentProvenance, SearchHit
from acms_adapters.models.scores import to_relevance
from acms_adapters.protocols import BackendSet, RequestMemo
from acms_strategies.evidence import COMPANY, Evidence, weigh_both, with_company


def hit(node: str, evidence: float = 0.0, *, resource: str = "", title: str = "") -> SearchHit:
    return SearchHit(
        uko_node=node,
        score=to_relevance(evidence),
        provenance=FragmentProvenance(resource_uri=resource or node),
        metadata={"title": title} if title else {},
    )


def evidence(*found: tuple[SearchHit, float]) -> Evidence:
    return Evidence(
        {one.uko_node: one for one, _ in found}, {one.uko_node: weight for one, weight in found}
    )


@given(st.lists(st.floats(-5.0, 50.0), min_size=1, max_size=8))
def test_what_stands_alone_keeps_its_evidence(weights: list[float]) -> None:
    alone = evidence(*((hit(f"n{i}"), weight) for i, weight in enumerate(weights)))
    assert with_company(alone).weights == pytest.approx(alone.weights, abs=1e-9)


@given(st.lists(st.floats(-5.0, 900.0), min_size=2, max_size=8))
def test_company_lifts_every_part_and_keeps_their_order(weights: list[float]) -> None:
    found = evidence(*((hit(f"n{i}", resource="file"), w) for i, w in enumerate(weights)))
    lifted = with_company(found).weights
    for (one, before), (other, after) in zip(
        sorted(found.weights.items(), key=lambda item: item[1]),
        sorted(lifted.items(), key=lambda item: item[1]),
        strict=True,
    ):
        assert lifted[one] >= before - 1e-9 or before > 500.0
        assert lifted[one] == pytest.approx(lifted[other])
        assert math.isfinite(after)


def test_parts_of_one_file_or_of_pages_of_one_title_are_company() -> None:
    found = with_company(
        evidence(
            (hit("a", resource="file"), 2.0),
            (hit("b", resource="file"), 2.0),
            (hit("c", title="Leeds"), 2.0),
            (hit("d", title="Leeds"), 2.0),
            (hit("e"), 2.0),
        )
    )
    lift = COMPANY * math.log(2.0) / (1.0 + COMPANY)
    assert found.weights == pytest.approx(
        {"a": 2.0 + lift, "b": 2.0 + lift, "c": 2.0 + lift, "d": 2.0 + lift, "e": 2.0}
    )


class Rating:
    """A backend that knows what it thinks of every node."""

    def __init__(self, said: dict[str, float]) -> None:
        self.said = said
        self.asked: list[str] = []

    def search(self, query: str, **options: object) -> list[SearchHit]:
        return []

    def rate(self, question: str, nodes: list[str]) -> dict[str, float]:
        self.asked = list(nodes)
        return {node: to_relevance(self.said[node]) for node in nodes if node in self.said}


def test_an_arm_is_asked_of_what_only_the_other_found_and_may_speak_against_it() -> None:
    text = Rating({"near": -1.0})
    backends = BackendSet(text=text, memo=RequestMemo())
    found = weigh_both([hit("word", 3.0)], [hit("near", 3.0)], words="what", backends=backends)
    assert text.asked == ["near"]
    assert found.weights["near"] == pytest.approx(0.65 * 3.0 - 0.35 * 1.0)
    assert found.weights["word"] == pytest.approx(0.35 * 3.0)
    assert backends.memo is not None
    assert backends.memo.ratings()["simple-keyword"] == {"near": pytest.approx(to_relevance(-1.0))}


def test_an_arm_that_found_nothing_or_fails_says_nothing() -> None:
    class Failing(Rating):
        def rate(self, question: str, nodes: list[str]) -> dict[str, float]:
            raise OSError("gone")

    for text, words in ((Rating({"near": -1.0}), []), (Failing({}), [hit("word", 3.0)])):
        found = weigh_both(words, [hit("near", 3.0)], words="what", backends=BackendSet(text=text))
        assert found.weights["near"] == pytest.approx(0.65 * 3.0)
