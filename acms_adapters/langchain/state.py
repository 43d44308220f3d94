"""What agents keep in their state, so that it survives any checkpointer."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import OmitFromSchema, PrivateStateAttr

CONTEXT_KEY = "acms_context"
PLAN_KEY = "acms_plan"


class ACMSState(AgentState[Any]):
    """What the middleware keeps, as JSON texts.

    Attributes:
        acms_context: The context of the current turn.
        acms_plan: The plan that the current turn is.
        acms_inherited: What a parent handed down; it is empty again after the turn.
    """

    acms_context: NotRequired[Annotated[str, PrivateStateAttr]]
    acms_plan: NotRequired[Annotated[str, PrivateStateAttr]]
    # no reducer and not in the output: parallel children that get it never conflict
    acms_inherited: NotRequired[Annotated[str, OmitFromSchema(input=False, output=True)]]
