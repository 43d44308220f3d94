"""What a parent handed down, as a child takes it out of a framework's state."""

from __future__ import annotations

from acms_adapters import (
    ACMSPipeline,
    ContextFragment,
    ContextPayload,
    ContextRequest,
    SkeletonMetadata,
)
from acms_adapters.pipeline.inherited import Inherited, inherited_alone, load_json
from acms_adapters.tokens import token_counter

TEXTS = {f"doc:{n}": f"Passage {n} " + "says something of its own. " * 6 for n in range(6)}


def handed_down() -> Inherited:
    fragments = tuple(
        ContextFragment(uko_node=node, content=text, relevance_score=0.9)
        for node, text in TEXTS.items()
    )
    size = sum(fragment.token_count for fragment in fragments)
    receipt = SkeletonMetadata(ratio=0.5, original_tokens=2 * size, compressed_tokens=size)
    inherited = Inherited(payload=ContextPayload(fragments=fragments, skeleton_metadata=receipt))
    loaded = load_json(Inherited, inherited.dump())
    assert loaded is not None
    return loaded


def test_what_a_child_has_no_room_for_is_in_the_ledger_of_its_context() -> None:
    """K4, F7: the child's share is 15 % of its tokens, and the rest is accounted for."""
    context = inherited_alone(handed_down(), 600, token_counter(), ContextRequest())
    read = {fragment.uko_node for fragment in context.fragments}
    told = {entry.uko_node for entry in context.ledger.entries}
    assert read
    assert told
    assert read | told == set(TEXTS)


def test_a_child_that_searches_too_tells_what_it_had_no_room_for() -> None:
    """K4, F7: not only where the child reads nothing of its own."""
    request = ContextRequest(query="nothing of the kind", **handed_down().fields(600))
    context = ACMSPipeline().assemble(request, budget=600, on_failure="degrade")
    read = {fragment.uko_node for fragment in context.skeleton_fragments}
    told = {entry.uko_node for entry in context.ledger.entries}
    assert read
    assert read | told == set(TEXTS)


def test_a_child_takes_no_more_than_its_share() -> None:
    """K4: 15 % of the child's available tokens, as they are read."""
    context = inherited_alone(handed_down(), 600, token_counter(), ContextRequest())
    assert context.rendered_tokens <= 90
    assert context.total_tokens <= 90


def test_what_fits_into_the_share_is_taken_whole() -> None:
    """K4: it was compressed already, so nothing is taken off a second time."""
    context = inherited_alone(handed_down(), 20_000, token_counter(), ContextRequest())
    assert {fragment.uko_node for fragment in context.fragments} == set(TEXTS)
    assert context.ledger.entries == ()
