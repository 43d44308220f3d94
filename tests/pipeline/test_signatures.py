"""What type checkers and editors are told of `assemble` (ruling S2)."""

import inspect
from dataclasses import fields
from typing import Any, get_overloads, get_type_hints

import pytest

from acms_adapters import ACMSPipeline
from acms_adapters.pipeline import call, run, signatures


@pytest.mark.parametrize("method", [ACMSPipeline.assemble, ACMSPipeline.aassemble])
def test_s2_both_forms_name_every_argument_that_is_taken(method: Any) -> None:
    question, plan = (inspect.signature(form).parameters for form in get_overloads(method))
    assert tuple(plan)[1:-1] == call._POSITIONAL
    asked = get_type_hints(signatures.ForQuestion)
    inside = {"carried"}  # what `refresh` hands on
    options = {field.name for field in fields(run.Options)} - inside
    assert set(asked) == {*call._NAMED, *options}
    assert {*plan, *get_type_hints(signatures.ForPlan)} - {"self", "options"} == {
        *call._POSITIONAL,
        "plan",
        *options,
    }
    assert question["request_or_query"].kind is inspect.Parameter.POSITIONAL_ONLY
