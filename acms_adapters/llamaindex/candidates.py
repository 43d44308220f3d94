"""Nodes as fragments that can be packed."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from llama_index.core.schema import BaseNode, NodeRelationship, NodeWithScore

from acms_adapters.llamaindex.media import MediaCounter, has_media, mark, media_tokens
from acms_adapters.llamaindex.nodes import Wording, related, relevances, resources
from acms_adapters.models import ContextFragment, FragmentProvenance
from acms_adapters.models.base import repair_text
from acms_adapters.models.fragment import MAX_CONTENT_CHARS, content_hash
from acms_adapters.pipeline.reranking import Passage, heading_of, rerank
from acms_adapters.protocols import TokenCounter

CREATED = datetime.fromtimestamp(
    0, UTC
)  # nodes have no time; a fixed one keeps results reproducible


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that could be read.

    Attributes:
        node: It and its score.
        wording: How it reads.
        fragment: The same as a fragment. Its id is the node's place in the list, its URI the
            node's id; media are marks in its content.
        mark: That mark; empty without media.
        holds_others: Whether other candidates are parts of it, so that they are its lower depths.
    """

    node: NodeWithScore
    wording: Wording
    fragment: ContextFragment
    mark: str = ""
    holds_others: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """What there is to choose from.

    Attributes:
        all: In the order of the list.
        counter: Counts their contents, marks included.
    """

    all: Sequence[Candidate]
    counter: TokenCounter

    @classmethod
    def of(
        cls,
        nodes: Sequence[NodeWithScore],
        counter: TokenCounter,
        *,
        query: str = "",
        window_key: str | None,
        counts_media: bool,
    ) -> Candidates:
        """Read nodes.

        Args:
            query: The question that ranks them beside their scores; empty for the scores alone.
            window_key: Metadata key of the text around a sentence.
            counts_media: Whether images, sound and video cost anything.
        """
        plain = [scored.node for scored in nodes]
        nonce = secrets.token_hex(8)
        marks = [mark(at, nonce) if has_media(node) else "" for at, node in enumerate(plain)]
        prices = {
            sign: media_tokens(node) if counts_media else 0
            for sign, node in zip(marks, plain, strict=True)
            if sign
        }
        counter = MediaCounter(counter, prices) if prices else counter
        wordings = [Wording.of(node, window_key=window_key) for node in plain]
        ranked = rerank(query, [*map(_passage, wordings)], relevances(nodes))
        fragments = _fragments(nodes, wordings, marks, ranked, counter)
        holders = _holders(plain)
        return cls(
            [
                Candidate(node, wording, fragment, sign, node.node.node_id in holders)
                for node, wording, fragment, sign in zip(
                    nodes, wordings, fragments, marks, strict=True
                )
            ],
            counter,
        )

    def with_windows(self, windows: Mapping[int, str]) -> Candidates:
        """The same with other windows, by their places."""
        changed = [
            one if at not in windows else self._with_window(one, windows[at])
            for at, one in enumerate(self.all)
        ]
        return replace(self, all=changed)

    def _with_window(self, candidate: Candidate, window: str) -> Candidate:
        wording = replace(
            candidate.wording,
            window=window if window != candidate.wording.content.strip() else None,
        )
        text = wording.full + candidate.mark
        changes = {"content": text[:MAX_CONTENT_CHARS], "token_count": self.counter.count(text)}
        fragment = candidate.fragment.model_copy(update=changes)
        return replace(candidate, wording=wording, fragment=fragment)


def _fragments(
    nodes: Sequence[NodeWithScore],
    wordings: Sequence[Wording],
    marks: Sequence[str],
    ranked: Sequence[float],
    counter: TokenCounter,
) -> list[ContextFragment]:
    fragments = []
    origins = list(resources([scored.node for scored in nodes]))
    sources = {name: FragmentProvenance(resource_uri=name) for name in {*origins}}
    texts: dict[str, str] = {}
    columns = zip(nodes, wordings, marks, ranked, origins, strict=True)
    for at, (scored, wording, sign, relevance, resource) in enumerate(columns):
        text = wording.full + sign
        uri = repair_text(scored.node.node_id) or f"node:{at}"
        known = texts.setdefault(uri, text)
        if known != text and content_hash(known) != content_hash(text):
            uri = f"{uri}#{at}"  # one id and two texts are two things (ruling F8)
        fragments.append(
            ContextFragment(
                fragment_id=str(at),
                uko_node=uri,
                # a longer text is priced whole and passes whole; the fragment only stands for it
                content=text[:MAX_CONTENT_CHARS],
                token_count=counter.count(text),
                relevance_score=relevance,
                provenance=sources[resource],
                created_at=CREATED,
            )
        )
    return fragments


def _passage(wording: Wording) -> Passage:
    """What ranks a node; metadata that are read before its content are a part of its heading."""
    heading = heading_of(wording.content)
    return Passage(wording.full, f"{wording.before}\n{heading}" if wording.before else heading)


def _holders(nodes: Sequence[BaseNode]) -> set[str]:
    """Ids that others name as their parent or source."""
    return {
        name
        for node in nodes
        for kind in (NodeRelationship.PARENT, NodeRelationship.SOURCE)
        for name in related(node, kind)
        if name != node.node_id
    }
