"""What an agent or a memory is to read in one turn."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from acms_adapters.llamaindex.events import tell
from acms_adapters.models import ContextPayload, ContextRequest
from acms_adapters.pipeline import ACMSPipeline
from acms_adapters.pipeline.inherited import Inherited, inherited_alone
from acms_adapters.tokens import token_counter


async def turn_context(
    pipeline: ACMSPipeline | None,
    question: str,
    inherited: Inherited | None,
    *,
    fields: Mapping[str, Any],
    tokens: int,
) -> ContextPayload | None:
    """The context of a turn; None where nothing can be asked and nothing was handed down.

    Args:
        pipeline: Finds and decides; None reads only what was handed down.
        question: What the user wrote; without words nothing is searched for.
        inherited: What a parent handed down.
        fields: Fields of `ContextRequest`, the tokenizer among them; they win over the others.
        tokens: Most tokens of the text.
    """
    if pipeline is None or not question.strip():
        if inherited is None:
            return None
        counter = token_counter(fields["tokenizer"])
        asked = ContextRequest(**fields)
        payload = await asyncio.to_thread(inherited_alone, inherited, tokens, counter, asked)
    else:
        above = inherited.fields(tokens) if inherited is not None else {}
        payload = await pipeline.aassemble(
            ContextRequest(**{"query": question, **above, **fields}),
            budget=tokens,
            order="relevance",
            on_failure="degrade",
        )
    tell(payload)
    return payload
