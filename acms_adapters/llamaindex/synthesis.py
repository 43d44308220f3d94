"""How many tokens of nodes a response synthesizer can put into one call of its model."""

from __future__ import annotations

from typing import Any

from llama_index.core.prompts import BasePromptTemplate
from llama_index.core.prompts.prompt_utils import get_biggest_prompt
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import QueryBundle

from acms_adapters.errors import BudgetError, RequestError

_PADDING = 5
"""What the framework's prompt helper keeps free unless it is told otherwise."""


def budget_for(synthesizer: BaseSynthesizer, query: str | QueryBundle) -> int:
    """Tokens of nodes' texts that fit into one call: `max_tokens` for the postprocessor.

    ``compact``, ``compact_accumulate`` and ``tree_summarize`` then need exactly one call of the
    model. ``refine`` and ``accumulate`` call it for every node all the same, and
    ``simple_summarize`` cuts each node to its share.

    The framework has no public way to ask; this reads what its own repacking reads. Counting has
    to agree: pass the postprocessor the framework's tokenizer where that was changed.

    Raises:
        BudgetError: Prompt, answer and padding leave no room for any text.
        ValueError: It is no synthesizer, or one of another version that cannot be asked.
    """
    question = query.query_str if isinstance(query, QueryBundle) else query
    try:
        room = _room(synthesizer, question)
    except (AttributeError, TypeError) as error:
        raise RequestError(
            f"{type(synthesizer).__name__} cannot be asked for its room ({error}): pass max_tokens "
            "yourself"
        ) from error
    if room < 1:
        raise BudgetError(
            f"{type(synthesizer).__name__} has no room for text: the prompt, {room} tokens too "
            "long with the answer and the padding, fills the window of its model",
            needed=1 - room,
            available=0,
        )
    return room


def _room(synthesizer: Any, question: str) -> int:
    multimodal = bool(getattr(synthesizer, "_multimodal", False))
    helper = synthesizer._chat_prompt_helper if multimodal else synthesizer._prompt_helper
    templates = _templates(synthesizer, chat=multimodal)
    if not templates:
        raise TypeError("it has no prompts")
    prompt = get_biggest_prompt([one.partial_format(query_str=question) for one in templates])
    padding = getattr(synthesizer, "_response_padding_size", _PADDING)
    try:
        return int(
            helper._get_available_chunk_size(prompt, 1, padding=padding, llm=synthesizer._llm)
        )
    except ValueError as error:  # the prompt alone is larger than the window
        raise BudgetError(
            f"{type(synthesizer).__name__} has no room for text: {error}", available=0
        ) from error


def _templates(synthesizer: Any, *, chat: bool) -> list[BasePromptTemplate]:
    prompts = synthesizer.get_prompts()
    return [prompt for name, prompt in prompts.items() if name.startswith("chat_") == chat]
