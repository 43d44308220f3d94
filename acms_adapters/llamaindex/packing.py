"""Choosing nodes, and depths of nodes, that fit a token budget."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore

from acms_adapters.llamaindex.candidates import Candidate, Candidates
from acms_adapters.llamaindex.depths import NodeDepths
from acms_adapters.llamaindex.nodes import reworded
from acms_adapters.llamaindex.overlaps import Window, without_overlaps
from acms_adapters.models import (
    ContextBudget,
    ContextFragment,
    ContextPayload,
    Ledger,
    LedgerEntry,
    LeftOut,
)
from acms_adapters.models.base import repair_text
from acms_adapters.models.fragment import MAX_CONTENT_CHARS, MAX_DEPTH
from acms_adapters.models.layout import SEPARATOR
from acms_adapters.pipeline import FusionConfig, FusionEngine
from acms_adapters.pipeline.containment import PackedTexts
from acms_adapters.pipeline.fusion_config import FusionResult
from acms_adapters.pipeline.shortening import Excerpt, shorten

_TRIED = 8
"""Nodes of which a part is looked for when none fits whole."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Nodes that fit.

    Attributes:
        nodes: In reading order; those rendered at another depth are copies.
        payload: The same as fragments, and what was left out.
    """

    nodes: list[NodeWithScore]
    payload: ContextPayload


class _Kept(NamedTuple):
    node: NodeWithScore
    fragment: ContextFragment
    content: str


def pack_nodes(
    candidates: Candidates, budget: ContextBudget, config: FusionConfig, *, query: str = ""
) -> Packed:
    """Choose what fits; of a node and what it holds, only one is read.

    Where not even a part of a node fits by its sentences, a part of the best is kept all the same.
    """
    repeated: dict[str, LedgerEntry] = {}
    depths = _depths(candidates, budget, config, query)
    while True:
        fused = _fuse(candidates, budget, config, depths, without=repeated)
        kept = [_kept(candidates, fragment, depths) for fragment in fused.fragments]
        if found := {entry.fragment_id: entry for entry in _repeats(kept, candidates)}:
            repeated.update(found)
        elif shorter := without_overlaps(_windows(kept, candidates)):
            candidates = candidates.with_windows(shorter)
            depths = _depths(candidates, budget, config, query)
        else:
            break
    left_out = (*fused.ledger.entries, *repeated.values())
    if not kept and (part := _part(candidates, budget, left_out, query)):
        kept = [part]
        left_out = tuple(e for e in left_out if e.fragment_id != part.fragment.fragment_id)
    return _packed(kept, left_out, candidates, budget)


def _depths(
    candidates: Candidates, budget: ContextBudget, config: FusionConfig, query: str
) -> NodeDepths:
    return NodeDepths(
        candidates,
        available=budget.available_tokens,
        least=config.min_fragment_tokens,
        query=query,
    )


def _windows(kept: Sequence[_Kept], candidates: Candidates) -> list[Window]:
    """Windows that are read, those of better nodes first."""
    windows = []
    for one in sorted(kept, key=_rank):
        place = int(one.fragment.fragment_id)
        wording = candidates.all[place].wording
        if wording.window is not None and wording.window == one.content:
            resource = one.fragment.provenance.resource_uri
            windows.append(Window(place, resource, one.content, wording.content.strip()))
    return windows


def _fuse(
    candidates: Candidates,
    budget: ContextBudget,
    config: FusionConfig,
    depths: NodeDepths,
    *,
    without: Collection[str],
) -> FusionResult:
    return FusionEngine(config).fuse(
        [one.fragment for one in candidates.all if one.fragment.fragment_id not in without],
        budget,
        counter=candidates.counter,
        layout="bare",
        renderings=depths,
    )


def _kept(candidates: Candidates, fragment: ContextFragment, depths: NodeDepths) -> _Kept:
    """A node as it will be read."""
    candidate = candidates.all[int(fragment.fragment_id)]
    wording, depth = candidate.wording, fragment.detail_depth
    if wording.window is not None and depth == MAX_DEPTH:
        return _made(candidate, fragment, wording.window)
    excerpt = depths.excerpt(fragment.uko_node, depth) if depth < MAX_DEPTH else None
    if wording.window is None and excerpt is not None:
        return _made(candidate, fragment, excerpt)
    whole = NodeWithScore(node=candidate.node.node, score=candidate.node.score)
    return _Kept(whole, fragment, wording.content)


def _made(
    candidate: Candidate, fragment: ContextFragment, content: str | Excerpt, *, bare: bool = False
) -> _Kept:
    note: dict[str, Any] = {"detail_depth": fragment.detail_depth}
    if isinstance(content, Excerpt):
        note["spans"] = [list(span) for span in content.spans]
        content = content.text
    node = reworded(candidate.node.node, content, note, bare=bare)
    return _Kept(NodeWithScore(node=node, score=candidate.node.score), fragment, content)


def _repeats(kept: Sequence[_Kept], candidates: Candidates) -> Iterator[LedgerEntry]:
    """Nodes that are read anyway, in another one of the same resource (ruling F9).

    The packer sees to it for texts; where metadata stand before a content, or a window around it,
    it cannot see it. A sentence that stands in a better one's window is read there.
    """
    contents = [
        one.fragment.model_copy(update={"content": one.content[:MAX_CONTENT_CHARS]}) for one in kept
    ]
    if all(bare.content == one.fragment.content for bare, one in zip(contents, kept, strict=True)):
        return
    texts = PackedTexts(dict(enumerate(contents)))
    windowed: list[int] = []
    for place in sorted(range(len(kept)), key=lambda place: -len(contents[place].content)):
        wording = candidates.all[int(kept[place].fragment.fragment_id)].wording
        if wording.window == kept[place].content:
            windowed.append(place)
        elif (outer := texts.compare(contents[place])[0]) is None:
            texts.add(place, contents[place])
        else:
            yield _contained(kept[place], kept[outer])
    for place in sorted(windowed, key=lambda place: _rank(kept[place])):
        wording = candidates.all[int(kept[place].fragment.fragment_id)].wording
        outer, _ = texts.compare(contents[place].model_copy(update={"content": wording.content}))
        if outer is None:
            texts.add(place, contents[place])
        else:
            yield _contained(kept[place], kept[outer])


def _rank(one: _Kept) -> tuple[float, int]:
    return (-one.fragment.relevance_score, int(one.fragment.fragment_id))


def _contained(one: _Kept, outer: _Kept) -> LedgerEntry:
    return LedgerEntry.of(one.fragment, LeftOut.CONTAINED, other=outer.fragment.fragment_id)


def _part(
    candidates: Candidates,
    budget: ContextBudget,
    left_out: Sequence[LedgerEntry],
    query: str,
) -> _Kept | None:
    """As much of the best node as fits; its metadata give way before its content does."""
    beyond = [entry for entry in left_out if entry.reason is LeftOut.OVER_BUDGET]
    beyond.sort(key=lambda entry: (-entry.relevance_score, int(entry.fragment_id)))
    for entry in beyond[:_TRIED]:
        candidate = candidates.all[int(entry.fragment_id)]
        for bare in (candidate.wording.before is None, True):

            def count(content: str, one: Candidate = candidate, bare: bool = bare) -> int:
                text = content if bare else one.wording.saying(content)
                return candidates.counter.count(text + one.mark)

            excerpt = shorten(
                candidate.wording.content, budget.available_tokens, count=count, query=query
            )
            if excerpt is not None:
                fragment = candidate.fragment.model_copy(update={"detail_depth": 0})
                return _made(candidate, fragment, excerpt, bare=bare)
    return None


def _packed(
    kept: Sequence[_Kept],
    left_out: Sequence[LedgerEntry],
    candidates: Candidates,
    budget: ContextBudget,
) -> Packed:
    counter = candidates.counter
    texts = [_read(one.node.node) for one in kept]
    marked = [
        text + candidates.all[int(one.fragment.fragment_id)].mark
        for text, one in zip(texts, kept, strict=True)
    ]
    fragments = tuple(
        one.fragment
        if one.fragment.detail_depth == MAX_DEPTH and one.fragment.content == text
        else one.fragment.model_copy(
            update={"content": text[:MAX_CONTENT_CHARS], "token_count": counter.count(sign)}
        )
        for one, text, sign in zip(kept, texts, marked, strict=True)
    )
    payload = ContextPayload(
        fragments=fragments,
        budget=budget,
        layout="bare",
        rendered_tokens=counter.count(SEPARATOR.join(marked)) if marked else 0,
        ledger=Ledger(entries=tuple(left_out)),
    )
    return Packed([one.node for one in kept], payload)


def _read(node: BaseNode) -> str:
    return repair_text(node.get_content(metadata_mode=MetadataMode.LLM))
