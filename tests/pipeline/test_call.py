"""Reading the arguments of `assemble` (ruling S2)."""

from __future__ import annotations

from typing import Any

import pytest

from acms_adapters import ACMSPipeline, ContextFragment, RequestError
from acms_adapters.pipeline.call import read_call

FRAGMENT = ContextFragment(uko_node="n", content="text")


def test_s2_a_string_alone_asks_and_before_fragments_names_a_plan() -> None:
    """S2."""
    assert read_call(("why?",), {}).request.query == "why?"
    call = read_call(("plan-1", [FRAGMENT], 100), {})
    assert call.request.query is None
    assert call.plan_context.plan_id == "plan-1"
    assert call.candidates == (FRAGMENT,)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("budgt", "did you mean 'budget'"),
        ("focus_nodes", r"field of the request: ContextRequest\(focus_nodes=...\)"),
        ("focus_node", "did you mean 'focus_nodes'"),
        ("xyzzy", "known: plan_id, fragments, budget"),
    ],
)
def test_s2_an_argument_that_is_none_is_refused_and_says_where_it_belongs(
    name: str, hint: str
) -> None:
    """S2."""
    with pytest.raises(TypeError, match=hint):
        read_call(("why?",), {name: ["n"]})


@pytest.mark.parametrize(
    "asked", [("why?",), ({"query": "why?"},), (None, [FRAGMENT], 9, None, "why?")]
)
def test_s2_two_requests_are_refused_however_they_were_given(asked: tuple[Any, ...]) -> None:
    """S2."""
    with pytest.raises(TypeError, match="give one of them"):
        read_call(asked, {"request_or_query": "how?"})
    with pytest.raises(TypeError, match="give one of them"):
        read_call((), {"request": "why?", "request_or_query": "how?"})


def test_s2_a_plan_id_that_is_no_text_is_refused() -> None:
    """S2."""
    with pytest.raises(RequestError, match="plan_id must be a string, not 7"):
        read_call((7, [FRAGMENT], 100), {})


@pytest.mark.parametrize("asked", [5, None, [], ["why?"]])
def test_s2_what_is_no_question_is_no_plan_id_either(asked: Any) -> None:
    """S2."""
    if asked is None:
        assert not read_call((asked,), {}).asks
        return
    with pytest.raises(RequestError, match="a request is a question"):
        read_call((asked,), {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_fragments", 0),
        ("max_fragments", True),
        ("max_fragments", 1.5),
        ("layout", "raw"),
        ("on_failure", "ignore"),
        ("order", "backwards"),
        ("previous", 3),
        ("carried", 3),
    ],
)
def test_an_option_out_of_its_range_is_refused_before_anything_is_asked(
    name: str, value: Any
) -> None:
    with pytest.raises(RequestError, match=f"{name} must be .* not {value!r}"):
        ACMSPipeline().assemble("why?", fragments=[FRAGMENT], **{name: value})
