"""What was said before a question tells what the question is about."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from acms_adapters import ContextRequest, ContextStore
from acms_adapters.models import ContextBudget, PlanContext
from acms_strategies import SimpleKeywordStrategy

PAGES = {
    "solar": "The battery of a solar panel has to be replaced every ten years.",
    "phone": "The battery of a phone has to be replaced every two years.",
    "watch": "The battery of a watch has to be replaced every year, by a watchmaker.",
    "cook": "Rice has to be washed.",
}
QUESTION = "How often is the battery replaced?"


@pytest.fixture
def store() -> Iterator[ContextStore]:
    with ContextStore.in_memory(embedder=None) as made:
        made.add_documents(
            [
                SimpleNamespace(id=name, page_content=text, metadata={})
                for name, text in PAGES.items()
            ]
        )
        yield made


def found(store: ContextStore, backends: Any = None, **request: Any) -> list[str]:
    ranking = SimpleKeywordStrategy().assemble(
        ContextRequest(query=QUESTION, **request),
        backends or store.backends(),
        ContextBudget(max_tokens=1_000),
        PlanContext(),
    )
    return [fragment.uko_node for fragment in ranking]


@pytest.mark.parametrize(
    ("said", "first"), [("Your phone is charged by a cable.", "phone"), ("A solar panel.", "solar")]
)
def test_the_last_turn_decides_between_what_the_question_alone_cannot_tell_apart(
    store: ContextStore, said: str, first: str
) -> None:
    assert found(store, history=["I have a watch.", said])[0] == first


def test_a_turn_that_says_nothing_changes_nothing(store: ContextStore) -> None:
    alone = found(store)
    assert "cook" not in alone
    for history in ([], [""], ["Hello!"]):
        assert found(store, history=history) == alone


def test_a_backend_that_cannot_rate_nodes_answers_the_question_alone(store: ContextStore) -> None:
    whole = store.backends()

    class Plain:
        def search(self, query: str, **options: Any) -> Any:
            assert whole.text is not None
            return whole.text.search(query, **options)

    assert found(store, whole.with_(text=Plain()), history=["A solar panel."]) == found(store)
